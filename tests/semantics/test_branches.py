"""Which places of a function exclude each other."""

from __future__ import annotations

import ast

import pytest

from torchlint.semantics.branches import exclusive, runs_once
from torchlint.semantics.program import Program, parse
from torchlint.source import read_source


def places(body: str) -> tuple[Program, ast.Call, ast.Call]:
    """A function with ``body``, and its calls of ``a`` and ``b``."""
    text = "def f(x, y, m, items, model):\n" + "".join(f"    {line}\n" for line in body.splitlines())
    source = read_source("branches.py", text.encode())
    program = Program(source, parse(source))
    named = {c.func.id: c for c in program.tree.calls if isinstance(c.func, ast.Name)}
    return program, named["a"], named["b"]


EXCLUSIVE = {
    "if and else": "if x:\n    a()\nelse:\n    b()",
    "elif": "if x:\n    a()\nelif y:\n    pass\nelse:\n    b()",
    "conditional expression": "a() if x else b()",
    "match": "match x:\n    case 1:\n        a()\n    case _:\n        b()",
    "return": "if x:\n    a()\n    return\nb()",
    "raise": "if x:\n    a()\n    raise ValueError\nb()",
    "continue": "for i in items:\n    if x:\n        a()\n        continue\n    b()",
    "exit": "import sys\nif x:\n    a()\n    sys.exit()\nb()",
    "handler": "try:\n    a()\nexcept ValueError:\n    b()",
    "negation": "if x:\n    a()\nif not x:\n    b()",
    "two constants": "if m == 'train':\n    a()\nif m == 'val':\n    b()",
    "equal and unequal": "if m == 1:\n    a()\nif m != 1:\n    b()",
    "none": "if x is None:\n    a()\nif x is not None:\n    b()",
}


@pytest.mark.parametrize("body", EXCLUSIVE.values(), ids=EXCLUSIVE.keys())
def test_exclusive(body: str) -> None:
    program, first, second = places(body)
    assert exclusive(program, first, second)
    assert exclusive(program, second, first)


TOGETHER = {
    "in a row": "a()\nb()",
    "one guarded": "if x:\n    a()\nb()",
    "other tests": "if x:\n    a()\nif y:\n    b()",
    "the flag changes": "if x:\n    a()\nx = not x\nif not x:\n    b()",
    "one constant": "if m == 'val':\n    a()\nif m == 'val':\n    b()",
    "break of an inner loop": "for i in items:\n    if x:\n        a()\n        break\nb()",
    "return before": "if x:\n    return\na()\nb()",
    "finally": "try:\n    a()\nfinally:\n    b()",
    "a loop over both cases": "for p in ('train', 'val'):\n    if p == 'train':\n        a()\n    else:\n        b()",
    "test and body": "if a():\n    b()",
}


@pytest.mark.parametrize("body", TOGETHER.values(), ids=TOGETHER.keys())
def test_not_exclusive(body: str) -> None:
    program, first, second = places(body)
    assert not exclusive(program, first, second)


@pytest.mark.parametrize(
    ("body", "once"),
    [
        ("for i in items:\n    a()\n    break\nb()", True),
        ("for i in items:\n    if i:\n        a()\n        break\nb()", True),
        ("for i in items:\n    for j in i:\n        a()\n        break\nb()", False),
        ("for i in items:\n    a()\nb()", False),
    ],
)
def test_runs_once(body: str, once: bool) -> None:
    program, first, _ = places(body)
    loop = next(n for n in program.tree.nodes if isinstance(n, ast.For))
    assert runs_once(program, first, loop) is once
