"""Whether two runs are the same to the last bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from torchlint.runtime.checkpoint import load

NOT_THE_RUN = {"out", "fresh", "save_every", "workers"}  # settings in which the runs that are compared may differ


def assert_same_run(one: Path, other: Path) -> None:
    """Fail unless weights, optimizer, generators, metrics and TensorBoard points of two run folders are equal."""
    for name in ("last.pt", "best.pt"):
        assert_same(content(one, name), content(other, name), name)
    assert (one / "metrics.jsonl").read_text() == (other / "metrics.jsonl").read_text()
    mine, theirs = points(one), points(other)
    assert mine.keys() == theirs.keys()
    for tag, series in mine.items():
        assert series == theirs[tag], tag
        steps = [step for step, _ in series]
        assert steps == sorted(set(steps)), f"{tag} has doubled or unordered steps: {steps}"


def content(run: Path, name: str) -> dict[str, Any]:
    """A checkpoint without the settings that do not change the run."""
    state: dict[str, Any] = dict(load(run / "checkpoints" / name))
    state["config"] = {key: value for key, value in state["config"].items() if key not in NOT_THE_RUN}
    return state


def assert_same(one: Any, other: Any, where: str) -> None:
    """Fail at the first difference in two nested structures; tensors are compared bit for bit."""
    assert type(one) is type(other), where
    if isinstance(one, torch.Tensor):
        assert torch.equal(one, other), where
    elif isinstance(one, dict):
        assert one.keys() == other.keys(), where
        for key in one:
            assert_same(one[key], other[key], f"{where}.{key}")
    elif isinstance(one, (list, tuple)):
        assert len(one) == len(other), where
        for number, pair in enumerate(zip(one, other, strict=True)):
            assert_same(*pair, f"{where}[{number}]")
    else:
        assert one == other, where


def points(run: Path) -> dict[str, list[tuple[int, float]]]:
    """The scalar points of a run by tag, as TensorBoard reads them; the accuracy among the hyperparameters apart."""
    events = EventAccumulator(str(run / "tensorboard"), size_guidance={"scalars": 0, "images": 0, "tensors": 0})
    events.Reload()
    return {tag: [(event.step, event.value) for event in events.Scalars(tag)] for tag in events.Tags()["scalars"]}
