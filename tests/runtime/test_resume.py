"""Killed at any moment, a run goes on as if nothing had happened: weights, metrics and curves equal to the last bit."""

from __future__ import annotations

import random
import signal
from pathlib import Path

import pytest
from runtime_support.comparing import assert_same_run
from runtime_support.launching import Plant, run, start_ranks

FLAGS = ["--epochs", "3", "--batch-size", "128", "--save-every", "2"]
STEPS = 33
KILLED = -signal.SIGKILL


def command(out: Path, workers: int = 0) -> list[str]:
    return ["train", *FLAGS, "--workers", str(workers), "--out", str(out)]


@pytest.fixture(scope="session")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run that all others must equal; it saves only at the ends of epochs, with no worker."""
    out = tmp_path_factory.mktemp("uninterrupted") / "run"
    result = run([*command(out), "--save-every", "0"])
    assert result.code == 0, result.text
    return out


def complete(out: Path, workers: int, plants: list[Plant]) -> int:
    """Start the command once with each plant, then without until it ends; returns how often it was killed."""
    kills = 0
    for plant in plants:
        result = run(command(out, workers), plant=plant)
        assert result.code in (0, KILLED), result.text
        kills += result.code == KILLED
    result = run(command(out, workers))
    assert result.code == 0, result.text
    return kills


@pytest.mark.parametrize(("workers", "seed"), [(0, 1), (2, 3)])
def test_killed_at_random_moments(uninterrupted: Path, tmp_path: Path, workers: int, seed: int) -> None:
    moments = random.Random(seed)
    plants = [("kill_after", (moments.uniform(0.1, 1.5),)) for _ in range(4)]
    complete(tmp_path / "run", workers, plants)
    assert_same_run(tmp_path / "run", uninterrupted)


@pytest.mark.parametrize(
    ("point", "workers"),
    [
        ("half written", 0),
        ("half written", 2),
        ("before fsync", 0),
        ("before replace", 0),
        ("after replace", 0),
        ("before link", 0),
        ("after link", 0),
    ],
)
def test_killed_in_mid_save(uninterrupted: Path, tmp_path: Path, point: str, workers: int) -> None:
    """Each point of a save, twice: early, and again at a random later one, so that old checkpoints are there too."""
    later = random.Random(f"{point} {workers}").randint(3, 12)
    kills = complete(tmp_path / "run", workers, [("kill_at", (point, 2)), ("kill_at", (point, later))])
    assert kills == 2
    assert not list((tmp_path / "run" / "checkpoints").glob(".*"))  # what the kills left behind is gone
    assert_same_run(tmp_path / "run", uninterrupted)


@pytest.mark.parametrize(("number", "code", "workers"), [(signal.SIGTERM, 143, 0), (signal.SIGINT, 130, 2)])
def test_signal_saves_and_exits_with_its_code(
    uninterrupted: Path, tmp_path: Path, number: int, code: int, workers: int
) -> None:
    out = tmp_path / "run"
    result = run([*command(out, workers), "--save-every", "0"], plant=("raise_signal_at_step", (number, 14)))
    assert result.code == code
    assert "the state is saved in" in result.text
    assert "Traceback" not in result.text
    assert (out / "checkpoints" / "step-000000014.pt").is_file()  # the step was finished, then saved
    assert run(command(out)).code == 0
    assert_same_run(out, uninterrupted)


def test_signal_in_validation(uninterrupted: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    plant = ("raise_signal_in_validation", (signal.SIGTERM,))
    assert run([*command(out), "--save-every", "0"], plant=plant).code == 143
    assert run(command(out)).code == 0
    assert_same_run(out, uninterrupted)


def test_damaged_newest_checkpoint_falls_back(uninterrupted: Path, tmp_path: Path) -> None:
    """A file that the disk damaged is not the end of the run: the one before it is taken, and this is said."""
    out = tmp_path / "run"
    assert run(command(out), plant=("raise_signal_at_step", (signal.SIGTERM, 15))).code == 143
    newest = out / "checkpoints" / "step-000000015.pt"
    newest.write_bytes(newest.read_bytes()[:5000])
    result = run(command(out))
    assert result.code == 0, result.text
    assert f"note: {newest}: is incomplete" in result.text
    assert "going on after epoch 1, step 14" in result.text
    assert_same_run(out, uninterrupted)


def test_more_epochs_later(tmp_path: Path) -> None:
    """With a constant learning rate, two epochs and one more are three epochs."""
    flags = ["train", "--batch-size", "128", "--schedule", "constant", "--warmup", "0", "--epochs"]
    assert run([*flags, "3", "--out", str(tmp_path / "three")]).code == 0
    assert run([*flags, "2", "--out", str(tmp_path / "more")]).code == 0
    result = run([*flags, "3", "--out", str(tmp_path / "more")])
    assert "note: --epochs is now 3, it was 2" in result.text
    rows = [(tmp_path / name / "metrics.jsonl").read_text() for name in ("three", "more")]
    assert rows[0] == rows[1]


def test_killed_ranks_go_on(tmp_path: Path) -> None:
    """Two gloo ranks with batch norm and dropout: each has generators of its own, and all of them come back."""
    moments = random.Random(9)
    assert all(rank.result().code == 0 for rank in start_ranks(command(tmp_path / "whole"), 2))
    out = tmp_path / "killed"
    for victim in (0, 1, 0):
        ranks = start_ranks(command(out), 2, {victim: ("kill_after", (moments.uniform(0.2, 1.5),))})
        ranks[victim].result()
        other = ranks[1 - victim]
        other.process.join(timeout=0.2)
        other.process.kill()  # as torchrun ends the ranks that wait for a dead one
        other.process.join()
    codes = [rank.result() for rank in start_ranks(command(out), 2)]
    assert all(result.code == 0 for result in codes), codes
    assert_same_run(out, tmp_path / "whole")


def test_other_number_of_processes_goes_on_and_says_so(tmp_path: Path) -> None:
    out = tmp_path / "run"
    stopped = start_ranks(command(out), 2, {1: ("raise_signal_at_step", (signal.SIGTERM, 15))})
    assert [rank.result().code for rank in stopped] == [143, 143]  # one rank got the signal, both stop at its step
    result = run(command(out))
    assert result.code == 0, result.text
    assert "not bit for bit" in result.text
    assert f"step-{STEPS:09d}.pt" in {path.name for path in (out / "checkpoints").iterdir()}
