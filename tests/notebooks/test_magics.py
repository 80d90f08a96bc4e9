"""What in a cell is not Python gets a stand-in of the same shape; everything else is untouched."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchlint.magics import mask

READ = [
    pytest.param("!ls", "0##", id="too short for pass"),
    pytest.param("%cd data\nx = 1", "pass####\nx = 1", id="line magic"),
    pytest.param("if a:\n    !pip install x\ny", "if a:\n    pass##########\ny", id="only statement of a block"),
    pytest.param("files = !ls *.pt\ny", "files = ________\ny", id="assignment from the shell"),
    pytest.param("x=%who_ls", "x=_______", id="assignment from a magic"),
    pytest.param("torch.load?", "0##########", id="help behind"),
    pytest.param("torch.load??  ", "0#############", id="source behind"),
    pytest.param("?torch.load", "pass#######", id="help in front"),
    pytest.param("!wget \\\n  url\nx", "pass###\n     \nx", id="continued shell line"),
    pytest.param("x = %sql select \\\n  1\ny", "x = _____________\n   \ny", id="continued assignment"),
    pytest.param("!!ls\r\nx", "pass\r\nx", id="CRLF"),
    pytest.param("%%time\nx = 1", "      \nx = 1", id="timed cell"),
    pytest.param("\n\n%%capture out\n!ls\nx = 1", "\n\n             \n0##\nx = 1", id="cell magic behind blank lines"),
    pytest.param("%time x = load('a')\ny", "pass; x = load('a')\ny", id="timed statement"),
    pytest.param("%timeit -n 2 -r 3 f(x)", "pass;             f(x)", id="timed statement with options"),
    pytest.param("%time", "pass#", id="nothing timed"),
]  # fmt: skip

UNCHANGED = [
    pytest.param("x = (a\n% b)", id="modulo in brackets"),
    pytest.param("s = '''\n%not a magic\n!nor this?\n'''", id="text in a string"),
    pytest.param("x %= 3\ny = a != b", id="operators"),
    pytest.param("print('why?')  # really?\nplt.show();", id="question marks in text, semicolon"),
    pytest.param("d = {'a': 1,\n'b': f'{x!r}'}", id="conversion in an f-string"),
    pytest.param("await session.run()", id="top-level await"),
]


@pytest.mark.parametrize(("cell", "expected"), READ)
def test_magics_are_replaced_in_place(cell: str, expected: str) -> None:
    assert mask(cell).text == expected
    ast.parse(mask(cell).text)


@pytest.mark.parametrize("cell", UNCHANGED)
def test_python_is_left_alone(cell: str) -> None:
    masked = mask(cell)
    assert masked.text == cell
    assert masked.locked == ()
    ast.parse(masked.text)


@pytest.mark.parametrize("magic", ["%%bash", "%%writefile train.py", "%%html", "%%javascript", "%%cython -a", "%%"])
def test_cells_in_another_language_are_blank(magic: str) -> None:
    masked = mask(f"{magic}\nimport torch\n")
    assert masked.foreign
    assert masked.text.strip() == ""
    assert masked.text.count("\n") == 2


def test_a_placeholder_is_no_help_syntax() -> None:
    assert mask("net = Linear(???)").text == "net = Linear(???)"


@given(st.text(alphabet="%!?;,/ax=( )'\"#\\\n\r\t{}é"))
def test_shape_is_kept_and_only_locked_stretches_change(cell: str) -> None:
    masked = mask(cell)
    assert len(masked.text) == len(cell)
    for offset, (before, after) in enumerate(zip(cell, masked.text, strict=True)):
        if before in "\r\n":
            assert after == before
        if after != before:
            assert any(start <= offset < end for start, end in masked.locked)
