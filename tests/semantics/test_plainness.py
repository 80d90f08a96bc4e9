"""What a value in a checkpoint is."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from torchlint.semantics.kinds import Kind
from torchlint.semantics.plainness import kind_of
from torchlint.semantics.program import Program, parse
from torchlint.semantics.project import Project
from torchlint.semantics.requirements import torch_ceiling, torch_floor
from torchlint.semantics.saves import contents, saves
from torchlint.source import read_source

HEAD = """
import argparse, collections, copy, datetime, enum, pathlib
import numpy as np
import torch
from dataclasses import dataclass

@dataclass
class Config:
    lr: float = 0.1

class Phase(enum.Enum):
    TRAIN = 1
"""


def program(text: str) -> Program:
    source = read_source("save.py", (HEAD + text).encode())
    return Program(source, parse(source))


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("1", Kind.PLAIN), ("f'{x}'", Kind.PLAIN), ("model.state_dict()", Kind.PLAIN), ("loss.item()", Kind.PLAIN),
        ("float(x)", Kind.PLAIN), ("[1, 'a']", Kind.PLAIN), ("-1", Kind.PLAIN), ("torch.zeros(2)", Kind.PLAIN),
        ("copy.deepcopy(model.state_dict())", Kind.PLAIN),
        ("argparse.ArgumentParser().parse_args()", Kind.NAMESPACE), ("argparse.Namespace()", Kind.NAMESPACE),
        ("Config()", Kind.DATACLASS), ("Phase.TRAIN", Kind.ENUM), ("pathlib.Path('a')", Kind.PATH),
        ("pathlib.Path('a') / 'b'", Kind.PATH), ("pathlib.Path('a').parent", Kind.PATH),
         ("np.mean(x)", Kind.SCALAR), ("np.mean(x) + 1", Kind.SCALAR),
        ("np.array(x)", Kind.ARRAY), ("collections.defaultdict(int)", Kind.MAPPING),
        ("collections.deque()", Kind.QUEUE),
        ("datetime.datetime.now()", Kind.DATE),
        ("x", Kind.UNKNOWN), ("np.mean(x, axis=0)", Kind.UNKNOWN), ("np.mean(x) if y else 1", Kind.UNKNOWN),
        ("unknown()", Kind.UNKNOWN), ("args.lr", Kind.UNKNOWN), ("self.parse_args()", Kind.UNKNOWN),
    ],
)  # fmt: skip
def test_values(value: str, kind: Kind) -> None:
    of = program(value)
    last = of.module.body[-1]
    assert isinstance(last, ast.Expr)
    assert kind_of(of, last.value) is kind


def saved(text: str) -> dict[str, str]:
    of = program(text)
    return {entry.key: of.code(entry.value) for save in saves(of) for entry in contents(of, save.payload)}


def test_contents_are_opened() -> None:
    assert saved("torch.save({'a': 1, 'b': {'c': x}}, p)") == {"a": "1", "c": "x"}
    assert saved("s = {'a': 1}\ns['b'] = y()\ntorch.save(s, p)") == {"a": "1", "b": "y()"}
    assert saved("s = m.state_dict()\ntorch.save(s, p)") == {"": "m.state_dict()"}
    assert saved("def f(s):\n    torch.save(s, p)\n") == {"": "s"}


def test_functions_that_save_what_they_are_given() -> None:
    assert saved("def save_checkpoint(s, p):\n    torch.save(s, p)\nsave_checkpoint({'a': 1}, p)")["a"] == "1"
    assert saved("save_checkpoint({'a': 1}, p)") == {}


@pytest.mark.parametrize(
    ("name", "text", "floor"),
    [
        ("pyproject.toml", 'dependencies = ["torch>=2.6"]', (2, 6)),
        ("requirements.txt", "numpy\ntorch==1.13.1\n", (1, 13)),
        ("requirements.txt", "torchvision>=0.20\npytorch-lightning>=2.6\ntorch\n", None),
    ],
)
def test_the_oldest_torch_a_project_allows(tmp_path: Path, name: str, text: str, floor: tuple[int, int] | None) -> None:
    (tmp_path / name).write_text(text)
    source = read_source(str(tmp_path / "a.py"), b"")
    assert torch_floor(Program(source, parse(source), Project(str(tmp_path)))) == floor


@pytest.mark.parametrize(
    ("line", "newest"),
    [
        ("torch==1.4.0", (1, 4)),
        ("torch>=1.8,<2.9", (2, 8)),
        ("torch<=2.3", (2, 3)),
        ("torch<2.9.1", (2, 9)),
        ("torch>=2.0", None),
        ("torch~=2.1", None),
        ("torchvision==0.5", None),
    ],
)
def test_newest_pytorch_a_project_allows(tmp_path: Path, line: str, newest: tuple[int, int] | None) -> None:
    (tmp_path / "requirements.txt").write_text(f"numpy==1.18.2\n{line}\n")
    source = read_source(str(tmp_path / "a.py"), b"")
    assert torch_ceiling(Program(source, parse(source), Project(str(tmp_path)))) == newest
