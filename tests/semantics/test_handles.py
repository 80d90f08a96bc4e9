"""What a dataset keeps open, and what its constructor lets go again."""

from __future__ import annotations

import ast

import pytest

from torchlint.semantics.handles import Kept, is_let_go, kept
from torchlint.semantics.program import Program, parse
from torchlint.source import read_source

HEAD = "import gzip, h5py, lmdb, sqlite3, threading, zipfile\n"


def program(text: str) -> Program:
    source = read_source("data.py", (HEAD + text).encode())
    return Program(source, parse(source))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("open(p)", Kept.FILE),
        ("gzip.open(p)", Kept.FILE),
        ("h5py.File(p)['rows']", Kept.DATABASE),
        ("h5py.File(p)['rows'][:]", None),
        ("h5py.File(p)['rows'][()]", None),
        ("[zipfile.ZipFile(each) for each in p]", Kept.FILE),
        ("sqlite3.connect(p)", Kept.DATABASE),
        ("sqlite3.connect(p).cursor()", Kept.DATABASE),
        ("lmdb.open(p)", Kept.DATABASE),
        ("lmdb.open(p, lock=True)", Kept.DATABASE),
        ("lmdb.open(p, readonly=True, lock=False)", Kept.OWN),
        ("lmdb.open(p, readonly=True, lock=locks)", Kept.DATABASE),
        ("lmdb.open(p, lock=False).begin()", Kept.OWN),
        ("threading.Lock()", Kept.OWN),
        ("open(p).read()", None),
        ("load(p)", None),
    ],
)
def test_kept(text: str, found: Kept | None) -> None:
    of = program(f"kept = {text}")
    statement = of.module.body[-1]
    assert isinstance(statement, ast.Assign)
    assert kept(of, statement.value) is found


@pytest.mark.parametrize(
    ("then", "gone"),
    [
        ("self.file.close()", True),
        ("del self.file", True),
        ("self.file = None", True),
        ("self.rows = self.file.read()", False),
        ("self.other.close()", False),
        ("other.file.close()", False),
    ],
)
def test_let_go(then: str, gone: bool) -> None:
    of = program(f"def __init__(self, p):\n    self.file = open(p)\n    {then}\n")
    function = of.tree.functions[0]
    assert is_let_go(function, "self", "file") is gone


def test_none_before_it_is_opened_lets_nothing_go() -> None:
    of = program("def __init__(self, p):\n    self.file = None\n    self.file = open(p)\n")
    assert not is_let_go(of.tree.functions[0], "self", "file")
