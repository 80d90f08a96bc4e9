"""The unmodified trainer on an accelerator made of Python: the CPU's numbers, and every forgotten transfer found."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from runtime_support.launching import run

FLAGS = ["--epochs", "2", "--batch-size", "128"]
ON_FAKE = ("use_fake_accelerator", ())


@pytest.fixture(scope="module")
def on_fake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("fake") / "run"
    result = run(["train", *FLAGS, "--device", "auto", "--out", str(out)], plant=ON_FAKE)
    assert result.code == 0, result.text
    assert "device fakegpu:0" in result.text
    return out


def test_trains_to_the_loss_of_the_cpu(on_fake: Path, tmp_path: Path) -> None:
    assert run(["train", *FLAGS, "--device", "cpu", "--out", str(tmp_path / "cpu")]).code == 0
    rows = [
        [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
        for out in (on_fake, tmp_path / "cpu")
    ]
    for mine, theirs in zip(*rows, strict=True):
        for phase in ("train", "val"):
            assert mine[phase]["loss"] == pytest.approx(theirs[phase]["loss"], rel=1e-6)
            assert mine[phase]["accuracy"] == theirs[phase]["accuracy"]


def test_goes_on_there_after_a_stop(on_fake: Path, tmp_path: Path) -> None:
    """The optimizer's state comes back to the device of its parameters, the generators stay on the CPU."""
    out = tmp_path / "stopped"
    assert run(["train", *FLAGS, "--epochs", "1", "--schedule", "constant", "--out", str(out)], plant=ON_FAKE).code == 0
    again = run(["train", *FLAGS, "--schedule", "constant", "--out", str(out)], plant=ON_FAKE)
    assert again.code == 0, again.text
    assert "device fakegpu:0" in again.text


def test_its_checkpoint_evaluates_on_the_cpu(on_fake: Path) -> None:
    """Without `map_location` the file cannot even be read here; the trainer's commands read it."""
    best = on_fake / "checkpoints" / "best.pt"
    with pytest.raises(RuntimeError, match="fakegpu:0"):
        torch.load(best, map_location=None, weights_only=True)
    result = run(["evaluate", str(best), "--device", "cpu"])
    assert result.code == 0, result.text
    assert "device cpu" in result.text


def test_forgotten_transfer_is_caught(tmp_path: Path) -> None:
    result = run(["train", *FLAGS, "--out", str(tmp_path / "run")], plant=("forget_labels", ()))
    assert result.code != 0
    assert "Expected all tensors to be on the same device" in result.text
    assert "fakegpu:0" in result.text
    assert "cpu" in result.text


def test_second_index_and_a_missing_one(tmp_path: Path) -> None:
    result = run(["train", *FLAGS, "--device", "fakegpu:2", "--out", str(tmp_path / "run")], plant=ON_FAKE)
    assert result.code == 2
    assert "number 2 is needed and this machine has 2" in result.text
