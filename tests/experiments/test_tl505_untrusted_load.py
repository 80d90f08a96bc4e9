"""TL505: a checkpoint may run code as it is opened.

The default before PyTorch 2.6 is brought back with the variable that PyTorch reads for that.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

SCRIPT = "tl505_untrusted_load.py"

WRITE = """
import json, pathlib, sys
import torch

class Payload:
    def __reduce__(self):
        return (pathlib.Path.touch, (pathlib.Path(sys.argv[2]),))

torch.save({"weight": torch.ones(1, 1), "bias": torch.zeros(1), "evil": Payload()}, sys.argv[1])
torch.save({"weight": torch.ones(1, 1), "bias": torch.zeros(1)}, sys.argv[1] + ".plain")
print(json.dumps({}))
"""


def test_the_code_runs_before_and_not_after(lab: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, mark = tmp_path / "model.pt", tmp_path / "mark"
    text = lab.before(SCRIPT)
    fixed = lab.fix(text, "TL505", unsafe=True)
    lab.succeed(WRITE, path, mark)
    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "1")
    lab.run(text, path)
    assert mark.exists(), "opening the file ran its code"
    mark.unlink()
    monkeypatch.delenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD")
    run = lab.run(fixed, path)
    assert not mark.exists()
    assert "Weights only load failed" in run.errors


def test_plain_weights_load_alike(lab: Any, tmp_path: Path) -> None:
    path = tmp_path / "model.pt"
    lab.succeed(WRITE, path, tmp_path / "mark")
    text = lab.before(SCRIPT)
    assert lab.succeed(text, f"{path}.plain") == lab.succeed(lab.fix(text, "TL505", unsafe=True), f"{path}.plain")
