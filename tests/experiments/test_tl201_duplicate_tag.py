"""TL201: two series under one tag are one series in TensorBoard, and its default view shows only one of them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

SCRIPT = "tl201_duplicate_tag.py"
PATIENCE = 120  # seconds; only a failure waits so long


@pytest.fixture(scope="module")
def runs(lab: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the run of the script before the fix and after it, which must train alike."""
    folder = tmp_path_factory.mktemp("board") / "runs"
    text = lab.before(SCRIPT)
    before = lab.succeed(text, folder / "before")
    after = lab.succeed(lab.fix(text, "TL201", unsafe=False), folder / "after")
    assert before == after, "a safe fix leaves the training as it is"
    return folder


def test_event_files_hold_one_series_before_and_two_after(runs: Path) -> None:
    before, after = scalars(runs / "before"), scalars(runs / "after")
    assert {tag: len(steps) for tag, steps in before.items()} == {"loss": 10}
    assert before["loss"] == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4], "every step holds two values"
    assert after == {"train/loss": [0, 1, 2, 3, 4], "val/loss": [0, 1, 2, 3, 4]}


def test_the_default_view_loses_the_training_curve_before_and_shows_both_after(runs: Path) -> None:
    truth = {tag: values(runs / "after", tag) for tag in ("train/loss", "val/loss")}
    with tensorboard(runs) as server:
        for tag, wanted in truth.items():
            eventually(lambda tag=tag: server.scalars("after", tag), pytest.approx(wanted))
        # Of ten points five are left, all of validation.
        eventually(lambda: server.scalars("before", "loss"), pytest.approx(truth["val/loss"]))


FAMILIES = """
import json, sys, torch
from torch.utils.tensorboard import SummaryWriter

writer = SummaryWriter(sys.argv[1])
for step in range(3):
    writer.add_scalar(sys.argv[2], step, step)
    writer.add_histogram(sys.argv[3], torch.arange(4.0), step)
writer.add_scalar("last", 1, 0)
writer.close()
print(json.dumps({}))
"""


def test_a_scalar_and_a_histogram_under_one_tag_vanish_from_the_default_view(lab: Any, tmp_path: Path) -> None:
    lab.succeed(FAMILIES, tmp_path / "runs" / "shared", "w", "w")
    lab.succeed(FAMILIES, tmp_path / "runs" / "apart", "w", "w/histogram")
    with tensorboard(tmp_path / "runs") as server:
        eventually(lambda: server.scalars("apart", "w"), [0, 1, 2])
        eventually(lambda: server.scalars("shared", "last"), [1])
        assert "w" not in server.tags("scalars").get("shared", {})
        assert "w" not in server.tags("histograms").get("shared", {})


def scalars(folder: Path) -> dict[str, list[int]]:
    """The steps of every scalar tag, in the order they were written."""
    events = load(folder)
    return {tag: [event.step for event in events.Scalars(tag)] for tag in events.Tags()["scalars"]}


def values(folder: Path, tag: str) -> list[float]:
    return [event.value for event in load(folder).Scalars(tag)]


def load(folder: Path) -> EventAccumulator:
    events = EventAccumulator(str(folder), size_guidance={"scalars": 0})
    events.Reload()
    return events


class Server:
    """TensorBoard's own answers over HTTP."""

    def __init__(self, address: str) -> None:
        self._address = address

    def tags(self, plugin: str) -> dict[str, Any]:
        """Tags by run."""
        return dict(self._get(f"data/plugin/{plugin}/tags"))

    def scalars(self, run: str, tag: str) -> list[float]:
        """The values shown for a tag, in order."""
        query = urllib.parse.urlencode({"run": run, "tag": tag})
        found = self._get(f"data/plugin/scalars/scalars?{query}")
        return [value for _, _, value in found] if isinstance(found, list) else []

    def _get(self, path: str) -> Any:
        try:
            with urllib.request.urlopen(f"{self._address}{path}", timeout=60) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            return {"error": error.code}  # a run or tag it has not read yet


@contextmanager
def tensorboard(folder: Path) -> Iterator[Server]:
    """TensorBoard as people start it, on a free port of this machine."""
    command = [sys.executable, "-m", "tensorboard.main", "--logdir", str(folder), "--host", "127.0.0.1", "--port", "0"]
    log = folder.parent / "tensorboard.log"
    with log.open("wb") as stream:
        process = subprocess.Popen(command, stdout=stream, stderr=stream, env=os.environ | {"NO_PROXY": "127.0.0.1"})
    try:
        yield Server(_address(log, process))
    finally:
        process.terminate()
        process.wait(timeout=60)


def _address(log: Path, process: subprocess.Popen[bytes]) -> str:
    def found() -> str:
        assert process.poll() is None, log.read_text("utf-8", "replace")
        match = re.search(r"http://[\w.]+:\d+/", log.read_text("utf-8", "replace"))
        return match.group() if match else ""

    return wait_for(found)


def eventually(ask: Callable[[], Any], wanted: Any) -> None:
    """The server reads in the background: ask until the answer is the wanted one, or fail with the last answer."""
    deadline = time.monotonic() + PATIENCE
    while (answer := ask()) != wanted:
        assert time.monotonic() < deadline, f"TensorBoard still shows {answer}, not {wanted}"
        time.sleep(0.1)


def wait_for(ask: Callable[[], str]) -> str:
    """The first answer that is not empty."""
    deadline = time.monotonic() + PATIENCE
    while not (answer := ask()):
        assert time.monotonic() < deadline, "TensorBoard does not answer"
        time.sleep(0.1)
    return answer
