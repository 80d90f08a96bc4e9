"""Settings: flags from fields, TOML below them, every bad value one clear line."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from torchlint.runtime.config import Parser, TrainConfig, add_flags, flag, from_arguments, to_toml
from torchlint.runtime.errors import UserError


def parsed(*argv: str, toml: str | None = None) -> TrainConfig:
    parser = Parser(prog="torchlint train", allow_abbrev=False)
    add_flags(parser, TrainConfig)
    return from_arguments(TrainConfig, vars(parser.parse_args(list(argv))), toml)


def test_every_field_is_a_flag() -> None:
    given: dict[str, Any] = {
        "model": "plain", "data": "fake", "image_size": 16, "out": "x y", "fresh": True, "epochs": 3, "batch_size": 8,
        "accumulate": 2, "lr": 0.5, "weight_decay": 0.0, "schedule": "linear", "warmup": 0.25, "clip": 1.5,
        "amp": "bf16", "compile": True, "device": "cuda:1", "workers": 0, "threads": 2, "seed": 7,
        "deterministic": True, "early_stop": 4, "save_every": 5, "keep": 6,
    }  # fmt: skip
    assert given.keys() == {field.name for field in dataclasses.fields(TrainConfig)}
    argv = [
        word for name, value in given.items() for word in ([flag(name)] if value is True else [flag(name), str(value)])
    ]
    assert parsed(*argv) == TrainConfig(**given)


def test_auto_and_negated_flags() -> None:
    config = parsed("--workers", "auto", "--image-size", "auto", "--no-fresh")
    assert (config.workers, config.image_size, config.fresh) == (None, None, False)


def test_flags_win_over_the_file(tmp_path: Path) -> None:
    file = tmp_path / "run.toml"
    file.write_text('epochs = 5\nlr = 1\nworkers = "auto"\nseed = 3\ncompile = true\n')
    config = parsed("--epochs", "2", toml=str(file))
    assert (config.epochs, config.lr, config.workers, config.seed, config.compile) == (2, 1.0, None, 3, True)


def test_toml_round_trip(tmp_path: Path) -> None:
    config = TrainConfig(out='a "b" \\ ü\t\n', lr=1e-05, clip=1.0, workers=None, threads=3, fresh=True)
    (tmp_path / "run.toml").write_text(to_toml(config), encoding="utf-8")
    assert parsed(toml=str(tmp_path / "run.toml")) == config


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--epochs", "0"], "--epochs 0: must be at least 1"),
        (["--epochs", "two"], "--epochs two: must be a whole number"),
        (["--epochs", "1.5"], "--epochs 1.5: must be a whole number"),
        (["--lr", "-1"], "--lr -1.0: must be a positive number"),
        (["--lr", "nan"], "--lr nan: must be a positive number"),
        (["--lr", "inf"], "--lr inf: must be a positive number"),
        (["--warmup", "1"], "--warmup 1.0: is a share"),
        (["--batch-size", "10", "--accumulate", "3"], "--accumulate 3: must divide --batch-size 10"),
        (["--schedule", "cyclic"], "--schedule cyclic: must be one of constant, linear, cosine"),
        (["--amp", "fp8"], "--amp fp8: must be one of none, bf16, fp16"),
        (["--workers", "many"], "--workers many: must be a whole number or auto"),
        (["--workers", "-1"], "--workers -1: must be auto, 0 or more"),
        (["--seed", str(2**32)], "must be below 2**32"),
        (["--clip", "-0.5"], "--clip -0.5: must not be negative"),
        (["--out", ""], "must name a folder"),
        (["--epoch", "3"], "unrecognized arguments: --epoch 3"),
        (["--epochs"], "argument --epochs: expected one argument"),
    ],
)
def test_bad_flags(argv: list[str], message: str) -> None:
    with pytest.raises(UserError) as caught:
        parsed(*argv)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("epoch = 3", "unknown setting 'epoch'; did you mean epochs?"),
        ("zzz = 3", "unknown setting 'zzz'; it may hold: model, data"),
        ("epochs = true", "epochs True: must be a whole number"),
        ("epochs = 1.5", "epochs 1.5: must be a whole number"),
        ('lr = "fast"', "lr fast: must be a number"),
        ("model = 3", "model 3: must be text"),
        ("fresh = 1", "fresh 1: must be true or false"),
        ("epochs = ", "is not valid TOML"),
        ("[model]\nname = 1", "model {'name': 1}: must be text"),
    ],
)
def test_bad_file(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "run.toml"
    file.write_text(text)
    with pytest.raises(UserError) as caught:
        parsed(toml=str(file))
    assert message in str(caught.value)
    assert str(file) in str(caught.value)


def test_missing_and_binary_file(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be read"):
        parsed(toml=str(tmp_path / "none.toml"))
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(UserError, match="not valid TOML"):
        parsed(toml=str(tmp_path / "binary.toml"))
