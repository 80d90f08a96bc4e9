"""Checkpoints on disk: atomic, pruned, found again; and every hostile file answered in one line."""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from runtime_support.forging import save_code
from runtime_support.launching import run

from torchlint.runtime.checkpoint import FORMAT, KIND, IncompleteCheckpoint, State, load, newest, numbered, save
from torchlint.runtime.config import TrainConfig
from torchlint.runtime.errors import UserError
from torchlint.runtime.files import give_second_name, write_atomically


def state(step: int, **changes: Any) -> State:
    """A complete state without much in it."""
    whole: Any = {
        "kind": KIND,
        "format": FORMAT,
        "torch": "2",
        "config": dataclasses.asdict(TrainConfig()),
        "picture": [1, 8],
        "classes": 10,
        "model": {"weight": torch.full((3,), float(step))},
        "optimizer": {},
        "scheduler": {},
        "scaler": {},
        "progress": {"step": step, "epoch": 0},
        "ranks": [],
    }
    return {**whole, **changes}  # type: ignore[typeddict-item]


def test_newest_k_and_last_and_best_are_kept(tmp_path: Path) -> None:
    for step in range(1, 7):
        save(tmp_path, state(step), keep=2, best=step == 3)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "best.pt",
        "last.pt",
        "step-000000005.pt",
        "step-000000006.pt",
    ]
    assert load(tmp_path / "best.pt")["progress"]["step"] == 3
    assert load(tmp_path / "last.pt")["progress"]["step"] == 6


def test_newest_complete_one_is_found(tmp_path: Path) -> None:
    assert newest(tmp_path) is None
    for step in (9, 10, 11):
        save(tmp_path, state(step), keep=3, best=False)
    whole = (tmp_path / "step-000000011.pt").read_bytes()
    (tmp_path / "step-000000011.pt").write_bytes(whole[:-200])
    (tmp_path / "step-000000010.pt").write_bytes(b"")
    found = newest(tmp_path)
    assert found is not None
    assert found[0] == tmp_path / "step-000000009.pt"
    assert len(found[1]) == 2


def test_last_alone_is_enough(tmp_path: Path) -> None:
    save(tmp_path, state(4), keep=1, best=False)
    numbered(tmp_path)[0].unlink()
    found = newest(tmp_path)
    assert found is not None
    assert found[0].name == "last.pt"


def test_nothing_complete_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "step-000000001.pt").write_bytes(b"PK")
    with pytest.raises(UserError, match="nothing to resume from"):
        newest(tmp_path)


def test_newer_format_is_not_passed_over(tmp_path: Path) -> None:
    save(tmp_path, state(1), keep=3, best=False)
    save(tmp_path, state(2, format=FORMAT + 1), keep=3, best=False)
    with pytest.raises(UserError, match=f"has format {FORMAT + 1} and this version reads up to {FORMAT}"):
        newest(tmp_path)


def test_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    target = tmp_path / "file"
    target.write_bytes(b"old")

    def fail(file: Any) -> None:
        file.write(b"half")
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        write_atomically(target, fail)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert target.read_bytes() == b"old"


def test_full_disk_is_one_line(tmp_path: Path) -> None:
    """A limit on the size of files stands for the full disk; the checkpoint that was there stays."""
    out = tmp_path / "run"
    flags = ["train", "--epochs", "2", "--batch-size", "719", "--out", str(out)]
    assert run([*flags, "--epochs", "1"]).code == 0
    before = (out / "checkpoints" / "last.pt").read_bytes()
    result = run(flags, plant=("limit_file_size", (100_000,)))
    assert result.code == 2
    assert "step-000000004.pt: could not be written ([Errno 27] File too large" in result.text
    assert "Traceback" not in result.text
    assert (out / "checkpoints" / "last.pt").read_bytes() == before
    assert not list((out / "checkpoints").glob(".*"))


def test_second_name_without_hard_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_links(*names: Any) -> None:
        raise OSError("not supported")

    monkeypatch.setattr(os, "link", no_links)
    (tmp_path / "first").write_bytes(b"content")
    give_second_name(tmp_path / "first", tmp_path / "second")
    assert (tmp_path / "second").read_bytes() == b"content"
    assert len(list(tmp_path.iterdir())) == 2


def test_second_name_twice(tmp_path: Path) -> None:
    (tmp_path / "first").write_bytes(b"content")
    for _ in range(2):
        give_second_name(tmp_path / "first", tmp_path / "second")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["first", "second"]


def hostile(kind: str, path: Path, proof: Path) -> None:
    """Write a file that must be refused."""
    torch.save(state(1), path)
    if kind == "truncated":
        path.write_bytes(path.read_bytes()[: path.stat().st_size * 9 // 10])
    elif kind == "empty":
        path.write_bytes(b"")
    elif kind == "noise":
        path.write_bytes(bytes(range(256)) * 20)
    elif kind == "text":
        path.write_text("not a checkpoint\n")
    elif kind == "newer":
        torch.save(state(1, format=FORMAT + 1), path)
    elif kind == "another model":
        torch.save(state(1, model=torch.nn.Linear(3, 3).state_dict()), path)
    elif kind == "state dict":
        torch.save(torch.nn.Linear(3, 3).state_dict(), path)
    elif kind == "whole model":
        torch.save(torch.nn.Linear(3, 3), path)
    elif kind == "namespace":
        torch.save(state(1, config=argparse.Namespace(model="small")), path)
    elif kind == "numpy":
        torch.save(state(1, classes=np.int64(10)), path)
    elif kind == "lacking":
        torch.save({"kind": KIND, "format": FORMAT}, path)
    elif kind == "torchscript":
        torch.jit.save(torch.jit.script(torch.nn.Linear(3, 3)), path)  # type: ignore[no-untyped-call]
    else:
        save_code(path, proof, form=kind.removeprefix("code "))


HOSTILE = {
    "truncated": "is incomplete, empty or not a checkpoint",
    "empty": "is incomplete, empty or not a checkpoint",
    "noise": "not a checkpoint",
    "text": "not a checkpoint",
    "newer": f"has format {FORMAT + 1} and this version reads up to {FORMAT}; update torchlint",
    "another model": "holds the weights of another model",
    "state dict": "is not a checkpoint of this trainer",
    "whole model": "refused, because loading torch.nn.modules.linear.Linear could run code",
    "namespace": "refused, because loading argparse.Namespace could run code",
    "numpy": "refused, because loading numpy",
    "lacking": "lacks torch, config, picture",
    "torchscript": "is a TorchScript archive",
    "code zip": "refused, because loading posix.mkdir could run code",
    "code old": "refused, because loading posix.mkdir could run code",
    "code pickle": "not a checkpoint",
}


@pytest.mark.filterwarnings("ignore:`torch.jit")
@pytest.mark.parametrize("kind", HOSTILE)
@pytest.mark.parametrize("command", ["evaluate", "export", "train"])
def test_hostile_file(tmp_path: Path, kind: str, command: str) -> None:
    """One clear line and exit 2 from every command that reads checkpoints; no file changed, no code run."""
    proof = tmp_path / "code was run"
    folder = tmp_path / "run"
    (folder / "checkpoints").mkdir(parents=True)
    path = folder / "checkpoints" / "step-000000001.pt"
    hostile(kind, path, proof)
    before = {file: hashlib.sha256(file.read_bytes()).digest() for file in folder.rglob("*.*") if file.is_file()}
    result = run(["train", "--epochs", "1", "--out", str(folder)] if command == "train" else [command, str(path)])
    (folder / ".lock").unlink(missing_ok=True)
    assert result.code == 2, result.text
    assert result.text.count("\n") == 1, result.text
    assert result.text.startswith(f"torchlint: error: {path}: ")
    assert HOSTILE[kind] in result.text
    assert not proof.exists()
    after = {file: hashlib.sha256(file.read_bytes()).digest() for file in folder.rglob("*.*") if file.is_file()}
    assert after == before


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"\x80\x02}q\x00."])
def test_tiny_files(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "tiny.pt").write_bytes(content)
    with pytest.raises(UserError):
        load(tmp_path / "tiny.pt")


def test_cut_anywhere(tmp_path: Path) -> None:
    """Wherever a checkpoint is cut, it is incomplete and nothing else."""
    torch.save(state(1), tmp_path / "whole.pt")
    whole = (tmp_path / "whole.pt").read_bytes()
    for length in range(0, len(whole), 97):
        (tmp_path / "cut.pt").write_bytes(whole[:length])
        with pytest.raises(IncompleteCheckpoint):
            load(tmp_path / "cut.pt")


def test_missing_file_and_folder(tmp_path: Path) -> None:
    for path, reason in ((tmp_path / "none.pt", "No such file"), (tmp_path, "Is a directory")):
        with pytest.raises(UserError, match=f"cannot be read \\({reason}"):
            load(path)
