"""TL205: add_scalars makes a run folder of its own for each key, and leaves none of them in the run itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

FANOUT = """
import json, os, sys
from torch.utils.tensorboard import SummaryWriter

writer = SummaryWriter(sys.argv[1])
writer.add_scalars("losses", {"train": 1.0, "val": 2.0}, 0)
writer.close()
print(json.dumps({"folders": sorted(name for name in os.listdir(sys.argv[1]) if not name.startswith("events"))}))
"""


def test_each_key_gets_a_folder(lab: Any, tmp_path: Path) -> None:
    assert lab.succeed(FANOUT, tmp_path / "runs") == {"folders": ["losses_train", "losses_val"]}
