from __future__ import annotations

import ast
from collections.abc import Callable

import pytest

from torchlint.findings import Fix, Safety, text
from torchlint.fixers.apply import is_well_formed
from torchlint.fixers.layout import Edits
from torchlint.semantics.program import parse
from torchlint.semantics.tree import Tree, build_tree
from torchlint.source import Source, apply_edits, read_source

Verb = Callable[[Source, Tree], Edits | None]
Rewrite = Callable[[str, Verb], str | None]


def _rewrite(code: str, verb: Verb) -> str | None:
    """The code after a verb, None when it refuses; what comes out must parse."""
    source = read_source("module.py", code.encode("utf-8"))
    edits = verb(source, build_tree(parse(source)))
    if edits is None:
        return None
    assert is_well_formed(Fix(text("x"), Safety.SAFE, edits), len(source.text))
    new = apply_edits(source.text, edits)
    ast.parse(new)
    return new


@pytest.fixture(scope="session")
def rewrite() -> Rewrite:
    return _rewrite


@pytest.fixture(scope="session")
def call() -> Callable[[Tree, str], ast.Call]:
    """The first call whose callee ends in a name."""

    def find(tree: Tree, name: str) -> ast.Call:
        return next(each for each in tree.calls if ast.unparse(each.func).rpartition(".")[2] == name)

    return find


@pytest.fixture(scope="session")
def statement() -> Callable[[Tree, str], ast.stmt]:
    """The statement that reads as given when normalised."""

    def find(tree: Tree, code: str) -> ast.stmt:
        return next(each for each in tree.blocks if ast.unparse(each).splitlines()[0] == code)

    return find
