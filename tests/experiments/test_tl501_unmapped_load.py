"""TL501: a checkpoint that was saved on a GPU does not load on a machine without one, unless it is mapped."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import pytest

SCRIPT = "tl501_unmapped_load.py"

SAVE = """
import json, sys, torch

torch.manual_seed(1)
model = torch.nn.Linear(4, 2)
torch.save(model.state_dict(), sys.argv[1])
print(json.dumps({"weights": model.weight.tolist(), "device": "cpu"}))
"""


@pytest.fixture(scope="module")
def saved(lab: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A checkpoint saved on the CPU, and what its weights are."""
    path = tmp_path_factory.mktemp("saved") / "cpu.pt"
    return path, lab.succeed(SAVE, path)


def test_a_gpu_checkpoint_fails_before_and_loads_after(lab: Any, saved: tuple[Path, dict[str, Any]]) -> None:
    path, truth = saved
    forged = retagged(path, "cuda:0")
    text = lab.before(SCRIPT)
    run = lab.run(text, forged)
    assert run.status != 0
    assert "Attempting to deserialize object on a CUDA device" in run.errors
    assert lab.succeed(lab.fix(text, "TL501", unsafe=False), forged) == truth


def test_a_cpu_checkpoint_loads_alike_before_and_after(lab: Any, saved: tuple[Path, dict[str, Any]]) -> None:
    path, truth = saved
    text = lab.before(SCRIPT)
    assert lab.succeed(text, path) == truth
    assert lab.succeed(lab.fix(text, "TL501", unsafe=False), path) == truth


def retagged(path: Path, location: str) -> Path:
    """A copy of a checkpoint whose tensors claim to live elsewhere: the location is one string in the pickle."""
    forged = path.with_name("forged.pt")
    old, new = (b"X" + len(word).to_bytes(4, "little") + word.encode() for word in ("cpu", location))
    with zipfile.ZipFile(path) as before, zipfile.ZipFile(forged, "w", zipfile.ZIP_STORED) as after:
        for entry in before.infolist():
            data = before.read(entry.filename)
            if entry.filename.endswith("/data.pkl"):
                assert old in data, "the file format has changed"
                data = data.replace(old, new)
            after.writestr(entry.filename, data)
    return forged
