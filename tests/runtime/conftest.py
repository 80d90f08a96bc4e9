"""What all runtime tests share: one thread everywhere, and one finished run to look at."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
import torch

# Idle OpenMP threads spin and take the cores from the process that has work.
torch.set_num_threads(1)
os.environ["OMP_NUM_THREADS"] = "1"  # for the processes that tests start
sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a default run: `train` without any flag but the folder."""
    from runtime_support.launching import run

    out = tmp_path_factory.mktemp("runs") / "finished"
    result = run(["train", "--out", str(out)])
    assert result.code == 0, result.text
    (out / "printed.txt").write_text(result.text, encoding="utf-8")
    return out
