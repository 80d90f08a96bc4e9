"""Options that change how a run computes, each run for real."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from runtime_support.launching import Plant, run

from torchlint.runtime.checkpoint import load

SHORT = ["--epochs", "2", "--batch-size", "128"]


def trained(out: Path, *flags: str, plant: Plant | None = None) -> list[dict[str, Any]]:
    """The rows of a short run."""
    result = run(["train", *SHORT, "--out", str(out), *flags], plant=plant)
    assert result.code == 0, result.text
    return [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]


def weights(out: Path) -> dict[str, Any]:
    return load(out / "checkpoints" / "last.pt")["model"]


def test_same_seed_same_run_and_another_seed_another(tmp_path: Path) -> None:
    rows = trained(tmp_path / "a", "--seed", "5")
    assert rows == trained(tmp_path / "b", "--seed", "5", "--deterministic")
    assert rows != trained(tmp_path / "c", "--seed", "6")


def test_workers_do_not_change_the_run(tmp_path: Path) -> None:
    """Augmentation is seeded by the sample, not by the process that prepares it."""
    assert trained(tmp_path / "none", "--workers", "0") == trained(tmp_path / "two", "--workers", "2")


def test_accumulated_parts_equal_one_batch(tmp_path: Path) -> None:
    """The model without batch norm and dropout, in double precision: parts of a batch must add up to it."""
    double = ("use_float64", ())
    whole = trained(tmp_path / "whole", "--model", "plain", plant=double)
    parts = trained(tmp_path / "parts", "--model", "plain", "--accumulate", "4", plant=double)
    assert [row["step"] for row in parts] == [row["step"] for row in whole] == [11, 22]
    assert parts[-1]["train"]["loss"] == pytest.approx(whole[-1]["train"]["loss"], rel=1e-9)
    for name, tensor in weights(tmp_path / "whole").items():
        torch.testing.assert_close(weights(tmp_path / "parts")[name], tensor, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("precision", ["bf16", "fp16"])
def test_mixed_precision_learns(tmp_path: Path, precision: str) -> None:
    rows = trained(tmp_path / precision, "--amp", precision, "--clip", "5")
    assert rows[-1]["val"]["accuracy"] > 0.7
    state = load(tmp_path / precision / "checkpoints" / "last.pt")
    assert bool(state["scaler"]) == (precision == "fp16")
    assert all(tensor.dtype != torch.float16 for tensor in state["model"].values())


def test_clipping_changes_the_run(tmp_path: Path) -> None:
    assert trained(tmp_path / "free") != trained(tmp_path / "clipped", "--clip", "0.05")


@pytest.mark.parametrize("schedule", ["constant", "linear"])
def test_schedules_train(tmp_path: Path, schedule: str) -> None:
    assert trained(tmp_path / schedule, "--schedule", schedule)[-1]["val"]["accuracy"] > 0.7


def test_early_stop(tmp_path: Path) -> None:
    """With a learning rate that moves nothing, no epoch is better than the first (batch norm would still move)."""
    flags = ["--model", "plain", "--epochs", "9", "--batch-size", "719", "--lr", "1e-12", "--early-stop", "2"]
    result = run(["train", *flags, "--out", str(tmp_path / "early")])
    assert result.code == 0
    assert "Done after 3 epochs (stopped early)" in result.text
    again = run(["train", *flags, "--out", str(tmp_path / "early")])
    assert "Nothing left to do after 3 epochs" in again.text


def test_compiled_model_has_plain_keys(tmp_path: Path) -> None:
    """`--compile` compiles in place; a backend that needs no C++ compiler stands for the default one."""
    flags = ["--compile", "--epochs", "1"]
    assert trained(tmp_path / "compiled", *flags, plant=("compile_eagerly", ()))[-1]["step"] == 11
    assert all(not key.startswith("_orig_mod.") for key in weights(tmp_path / "compiled"))
    plain = trained(tmp_path / "plain", "--epochs", "1")
    assert (tmp_path / "compiled" / "metrics.jsonl").read_text() == json.dumps(plain[0]) + "\n"


def test_torchvision_model_on_digits(tmp_path: Path) -> None:
    out = tmp_path / "vision"
    flags = ["--model", "squeezenet1_1", "--batch-size", "719", "--epochs", "1", "--image-size", "32"]
    result = run(["train", *flags, "--out", str(out)])
    assert result.code == 0, result.text
    assert load(out / "checkpoints" / "last.pt")["picture"] == [3, 32]


def test_loss_that_is_lost_leaves_the_weights_alone(tmp_path: Path) -> None:
    out = tmp_path / "lost"
    result = run(["train", "--model", "plain", "--lr", "1e30", "--warmup", "0", "--out", str(out)])
    assert result.code == 2
    assert "the gradient is not finite at step" in result.text
    assert "Traceback" not in result.text
    assert not list((out / "checkpoints").glob("*.pt"))
