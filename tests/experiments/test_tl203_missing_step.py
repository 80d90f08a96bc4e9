"""TL203: points without a step all stand at step 0."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

STEPS = """
import json, sys
from torch.utils.tensorboard import SummaryWriter

writer = SummaryWriter(sys.argv[1])
for epoch in range(3):
    for batch in range(2):
        writer.add_scalar("none", 1.0)
        writer.add_scalar("restarts", 1.0, batch)
        writer.add_scalar("counts", 1.0, 2 * epoch + batch)
writer.close()
print(json.dumps({}))
"""


def test_points_without_a_step_of_their_own_fall_on_each_other(lab: Any, tmp_path: Path) -> None:
    lab.succeed(STEPS, tmp_path / "runs")
    events = EventAccumulator(str(tmp_path / "runs"), size_guidance={"scalars": 0})
    events.Reload()
    steps = {tag: [event.step for event in events.Scalars(tag)] for tag in ("none", "restarts", "counts")}
    assert steps == {"none": [0] * 6, "restarts": [0, 1] * 3, "counts": [0, 1, 2, 3, 4, 5]}
