"""The default run: real digits, at least 98 %, and everything it leaves behind."""

from __future__ import annotations

import json
from pathlib import Path

import torch
from PIL import Image
from runtime_support.comparing import points
from runtime_support.launching import run
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from torchlint.runtime.checkpoint import load

STEPS = 22  # 1,438 training pictures in batches of 64, the incomplete one dropped


def test_default_run_reaches_98_percent(finished: Path) -> None:
    rows = [json.loads(line) for line in (finished / "metrics.jsonl").read_text().splitlines()]
    assert [row["epoch"] for row in rows] == list(range(1, 11))
    assert [row["step"] for row in rows] == [STEPS * epoch for epoch in range(1, 11)]
    assert max(row["val"]["accuracy"] for row in rows) >= 0.98
    assert rows[0]["train"]["loss"] > 3 * rows[-1]["train"]["loss"]


def test_last_line_says_where_everything_is(finished: Path) -> None:
    printed = (finished / "printed.txt").read_text().splitlines()
    assert len(printed) == 12  # what is trained, ten epochs, the last line
    assert str(finished) in printed[-1]
    for word in ("checkpoints/best.pt", "metrics.jsonl", "curves.png", "tensorboard --logdir"):
        assert word in printed[-1]


def test_run_folder_holds_everything(finished: Path) -> None:
    names = {path.relative_to(finished).as_posix() for path in finished.rglob("*.*") if "tfevents" not in path.name}
    # Tests of the export share this run; what they put beside its checkpoints is no part of training.
    assert {name for name in names if not name.startswith("export/")} == {
        ".lock",
        "printed.txt",
        "config.toml",
        "metrics.jsonl",
        "curves.png",
        "checkpoints/best.pt",
        "checkpoints/last.pt",
        *(f"checkpoints/step-{STEPS * epoch:09d}.pt" for epoch in (8, 9, 10)),
    }
    with Image.open(finished / "curves.png") as curves:
        assert curves.format == "PNG"
        assert len(curves.convert("RGB").getcolors(maxcolors=1 << 20) or []) > 10  # lines were drawn


def test_tensorboard_has_one_series_a_tag(finished: Path) -> None:
    found = points(finished)
    per_step, per_epoch = list(range(1, 10 * STEPS + 1)), [STEPS * epoch for epoch in range(1, 11)]
    assert {tag: [step for step, _ in series] for tag, series in found.items()} == {
        "train/batch_loss": per_step,
        "train/lr": per_step,
        "train/loss": per_epoch,
        "train/accuracy": per_epoch,
        "val/loss": per_epoch,
        "val/accuracy": per_epoch,
        "hparam/best_accuracy": [10 * STEPS],
    }
    events = EventAccumulator(str(finished / "tensorboard"), size_guidance={"images": 0}).Reload()
    assert events.Tags()["images"] == ["val/pictures"]


def test_epoch_loss_is_the_mean_of_the_step_losses(finished: Path) -> None:
    """Batches of one epoch all have the same size here, so both means must agree."""
    found = points(finished)
    losses = [value for _, value in found["train/batch_loss"]]
    for number, (_, epoch_loss) in enumerate(found["train/loss"]):
        part = losses[number * STEPS : (number + 1) * STEPS]
        assert abs(sum(part) / STEPS - epoch_loss) < 1e-5


def test_evaluate_gives_the_best_accuracy_again(finished: Path) -> None:
    best = finished / "checkpoints" / "best.pt"
    result = run(["evaluate", str(best)])
    rows = [json.loads(line) for line in (finished / "metrics.jsonl").read_text().splitlines()]
    measured = rows[load(best)["progress"]["best_epoch"] - 1]["val"]
    assert result.code == 0
    assert f"val loss {measured['loss']:.4f} accuracy {measured['accuracy']:.2%} over 359 samples" in result.text


def test_best_checkpoint_is_the_best_epoch(finished: Path) -> None:
    progress = load(finished / "checkpoints" / "best.pt")["progress"]
    rows = [json.loads(line) for line in (finished / "metrics.jsonl").read_text().splitlines()]
    assert progress["epoch"] == progress["best_epoch"]
    assert progress["best_accuracy"] == max(row["val"]["accuracy"] for row in rows)


def test_validation_does_not_change_the_model(finished: Path) -> None:
    """In train mode, validation would move the batch-norm statistics; steps counted by them show that it did not."""
    state = load(finished / "checkpoints" / "last.pt")
    assert int(state["model"]["features.1.num_batches_tracked"]) == 10 * STEPS


def test_finished_run_has_nothing_left_to_do(finished: Path, tmp_path: Path) -> None:
    before = torch.load(finished / "checkpoints" / "last.pt", map_location="cpu", weights_only=True)["model"]
    rows = (finished / "metrics.jsonl").read_text()
    result = run(["train", "--out", str(finished)])
    assert result.code == 0
    assert "Nothing left to do after 10 epochs" in result.text
    after = torch.load(finished / "checkpoints" / "last.pt", map_location="cpu", weights_only=True)["model"]
    assert all(torch.equal(before[key], after[key]) for key in before)
    assert (finished / "metrics.jsonl").read_text() == rows
    assert len(points(finished)["val/loss"]) == 10


def test_settings_file_is_read_back(finished: Path, tmp_path: Path) -> None:
    out = tmp_path / "again"
    result = run(["train", "--config", str(finished / "config.toml"), "--out", str(out), "--epochs", "1"])
    assert result.code == 0, result.text
    assert (out / "config.toml").read_text() != (finished / "config.toml").read_text()
    assert 'model = "small"' in (out / "config.toml").read_text()
    assert "epochs = 1\n" in (out / "config.toml").read_text()
