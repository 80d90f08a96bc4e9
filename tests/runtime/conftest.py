"""What all runtime tests share: one thread everywhere, and one finished run to look at."""

from __future__ import annotations

import os
import sys
from pathlib import Path

# Idle OpenMP threads spin and take the cores from the process that has work; set before torch is imported.
os.environ["OMP_NUM_THREADS"] = "1"
sys.path.insert(0, str(Path(__file__).parent))

import pytest  # noqa: E402
import torch  # noqa: E402

torch.set_num_threads(1)


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a default run: `train` without any flag but the folder."""
    from runtime_support.launching import run

    out = tmp_path_factory.mktemp("runs") / "finished"
    result = run(["train", "--out", str(out)])
    assert result.code == 0, result.text
    (out / "printed.txt").write_text(result.text, encoding="utf-8")
    return out
