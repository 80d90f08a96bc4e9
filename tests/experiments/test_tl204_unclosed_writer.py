"""TL204: what a writer has not flushed is lost when the process ends hard; closed, all is there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

SHORT = """
import json, os, sys
from torch.utils.tensorboard import SummaryWriter

print(json.dumps({}), flush=True)
writer = SummaryWriter(sys.argv[1])
# Points wait for the thread that writes them; here it gets no turn before the end, as may happen in any short run.
sys.setswitchinterval(1000)
for step in range(5):
    writer.add_scalar("loss", 1.0, step)
if sys.argv[2] == "closed":
    writer.close()
os._exit(0)
"""


def points(folder: Path) -> int:
    events = EventAccumulator(str(folder), size_guidance={"scalars": 0})
    events.Reload()
    return len(events.Scalars("loss")) if "loss" in events.Tags()["scalars"] else 0


def test_only_a_closed_writer_has_written_everything(lab: Any, tmp_path: Path) -> None:
    lab.succeed(SHORT, tmp_path / "open", "open")
    lab.succeed(SHORT, tmp_path / "closed", "closed")
    assert points(tmp_path / "open") < 5
    assert points(tmp_path / "closed") == 5
