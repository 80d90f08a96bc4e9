"""A fix changes only the source strings it edits: every other byte of the notebook stays what it was."""

from __future__ import annotations

import codecs
import json
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from torchlint.findings import Edit
from torchlint.notebook import read_notebook, write_back
from torchlint.source import apply_edits

PLAIN = {"\n": "\\n", '"': '\\"', "\\": "\\\\", "\r": "\\r", "\t": "\\t"}


@dataclass
class Layout:
    """How a tool writes JSON: line ends and indent, the space behind a colon, and its taste in escapes."""

    newline: str
    indent: str | None
    colon: str
    comma: str
    ascii: bool
    upper: bool
    slashes: bool
    bom: bool
    final: str

    def string(self, text: str) -> str:
        return '"' + "".join(self.character(character) for character in text) + '"'

    def character(self, character: str) -> str:
        if character in PLAIN:
            return PLAIN[character]
        if character == "/" and self.slashes:
            return "\\/"
        if character < " " or (self.ascii and character > "\x7f"):
            spelled = json.dumps(character)[1:-1]
            return spelled.replace("\\u", "\0").upper().replace("\0", "\\u") if self.upper else spelled
        return character

    def sequence(self, items: list[str], depth: int, brackets: str = "[]") -> str:
        if not items:
            return brackets
        if self.indent is None:
            return brackets[0] + (self.comma + " " * bool(self.colon.strip(":"))).join(items) + brackets[1]
        gap = self.newline + self.indent * (depth + 1)
        return brackets[0] + gap + (self.comma + gap).join(items) + self.newline + self.indent * depth + brackets[1]

    def mapping(self, members: dict[str, str], depth: int) -> str:
        return self.sequence([self.string(key) + self.colon + value for key, value in members.items()], depth, "{}")


layouts = st.builds(
    Layout,
    newline=st.sampled_from(["\n", "\r\n"]),
    indent=st.sampled_from([None, "", " ", "  ", "    ", "\t"]),
    colon=st.sampled_from([":", ": ", " : "]),
    comma=st.sampled_from([",", " ,"]),
    ascii=st.booleans(),
    upper=st.booleans(),
    slashes=st.booleans(),
    bom=st.booleans(),
    final=st.sampled_from(["", "\n", "\r\n", "\n\n"]),
)
# Comments parse whatever they hold, so every edit of a comment can be written.
lines = st.text(alphabet='ab1/"\\é\u2019\U0001f600\t{}[],:', max_size=8).map(lambda text: "#" + text)
sources = st.lists(lines, max_size=4).map("\n".join)
output = '{"data": {"text/plain": ["source", "\\u00e9 \\"source\\": [1.0e+2, 1E5]"]}, "score": 1.50e-3, "x": [{}, []]}'


@st.composite
def notebooks(draw: st.DrawFn) -> tuple[Layout, list[str], list[str], list[str]]:
    """A layout, the source of each code cell, its JSON spelling, and the JSON around those spellings."""
    layout = draw(layouts)
    texts = draw(st.lists(sources, min_size=1, max_size=4))
    spellings: list[str] = []
    cells: list[str] = []
    for text in texts:
        if draw(st.booleans()):
            spelling = layout.string(text)
        else:
            items = [layout.string(line) for line in text.splitlines(keepends=True)]
            spelling = layout.sequence(items, 3)
        spellings.append(spelling)
        members = {"cell_type": '"code"', "outputs": f"[{output}]", "source": "\0", "source_hidden": "true"}
        order = draw(st.permutations(list(members)))
        cells.append(layout.mapping({key: members[key] for key in order}, 2))
    whole = {"metadata": '{"source": "no cell", "é": 1.0}', "cells": layout.sequence(cells, 1), "nbformat": "4"}
    order = draw(st.permutations(list(whole)))
    around = layout.mapping({key: whole[key] for key in order}, 0).split("\0")
    around[-1] += layout.final
    return layout, texts, spellings, around


def encode(layout: Layout, spellings: list[str], around: list[str]) -> bytes:
    parts = [around[0]]
    for spelling, rest in zip(spellings, around[1:], strict=True):
        parts += [spelling, rest]
    return (codecs.BOM_UTF8 if layout.bom else b"") + "".join(parts).encode()


def value(spelling: str) -> str:
    loaded = json.loads(spelling)
    return loaded if isinstance(loaded, str) else "".join(loaded)


def split(layout: Layout, raw: bytes, around: list[str]) -> list[str]:
    """The spellings of the sources in ``raw``; fails when anything around them has changed."""
    assert raw.startswith(codecs.BOM_UTF8) == layout.bom
    text = raw.removeprefix(codecs.BOM_UTF8).decode()
    assert text.startswith(around[0])
    text = text[len(around[0]) :]
    spellings: list[str] = []
    decoder = json.JSONDecoder()
    for rest in around[1:]:
        _, end = decoder.raw_decode(text)
        spellings.append(text[:end])
        assert text[end : end + len(rest)] == rest
        text = text[end + len(rest) :]
    assert text == ""
    return spellings


@settings(max_examples=300, deadline=None)
@given(notebooks(), st.data())
def test_only_the_edited_strings_change(
    case: tuple[Layout, list[str], list[str], list[str]], data: st.DataObject
) -> None:
    layout, texts, spellings, around = case
    raw = encode(layout, spellings, around)
    source = read_notebook("a.ipynb", raw)
    assert source.text == "\n".join(texts)
    assert write_back(source, []) == raw
    edits: list[Edit] = []
    expected: list[str] = []
    at = 0
    for text in texts:
        own: list[Edit] = []
        for _ in range(data.draw(st.integers(0, 2))):
            first = max([0, *(edit.end + 1 for edit in own)])
            if first > len(text):
                break
            start = data.draw(st.integers(first, len(text)))
            end = data.draw(st.integers(start, len(text)))
            new = data.draw(st.sampled_from(["", "x", "import os\n", "\n# é", "a\nb\n", '"\\']))
            own.append(Edit(start, end, new))
        expected.append(apply_edits(text, tuple(own)))
        edits.extend(Edit(at + edit.start, at + edit.end, edit.text) for edit in own)
        at += len(text) + 1
    written = split(layout, write_back(source, edits), around)
    assert [value(spelling) for spelling in written] == expected
    for before, after, old, new in zip(spellings, written, texts, expected, strict=True):
        if old == new:
            assert value(after) == value(before)
        elif before.startswith("["):
            assert after.startswith("["), "a list stays a list"
    untouched = [edit for edit in edits if edit.start == edit.end and edit.text == ""]
    if untouched == edits:
        assert written == spellings


@settings(max_examples=300, deadline=None)
@given(notebooks(), st.data())
def test_an_insertion_keeps_the_spelling_on_both_sides(
    case: tuple[Layout, list[str], list[str], list[str]], data: st.DataObject
) -> None:
    layout, texts, spellings, around = case
    source = read_notebook("a.ipynb", encode(layout, spellings, around))
    cell = data.draw(st.integers(0, len(texts) - 1))
    offset = data.draw(st.integers(0, len(texts[cell])))
    start = sum(len(text) + 1 for text in texts[:cell])
    written = split(layout, write_back(source, [Edit(start + offset, start + offset, "new = 1\n")]), around)
    assert written[:cell] + written[cell + 1 :] == spellings[:cell] + spellings[cell + 1 :]
    head = "".join(layout.character(character) for character in texts[cell][:offset].rpartition("\n")[2])
    tail = "".join(layout.character(character) for character in texts[cell][offset:].partition("\n")[0])
    assert head + "new = 1\\n" in written[cell]
    assert tail in written[cell].partition("new = 1\\n")[2]
    if written[cell].startswith("[") and texts[cell]:
        lines = (texts[cell][:offset] + "new = 1\n" + texts[cell][offset:]).splitlines(keepends=True)
        assert json.loads(written[cell]) == lines, "each line is an item"
        if len(texts[cell].splitlines()) > 1:
            assert written[cell] == layout.sequence([layout.string(line) for line in lines], 3)


def test_new_lines_are_items_in_the_layout_of_the_file() -> None:
    head, tail = b'{"cells": [{"cell_type": "code", "source": [\n', b'\n   ]}], "nbformat": 4}'
    source = read_notebook("a.ipynb", head + b'    "a = 1\\n",\n    "b = 2"' + tail)
    written = write_back(source, [Edit(6, 6, "import os\n"), Edit(11, 11, "\nc = 3")])
    lines = [b'    "a = 1\\n"', b'    "import os\\n"', b'    "b = 2\\n"', b'    "c = 3"']
    assert written == head + b",\n".join(lines) + tail


def test_a_list_keeps_its_own_layout() -> None:
    compact, wide = b'["a\\n","b"]', b'[\n "c\\n" ,\n "d"]'
    raw = b'{"cells": [{"cell_type": "code", "source": %b}, {"cell_type": "code", "source": %b}], "nbformat": 4}'
    source = read_notebook("a.ipynb", raw % (compact, wide))
    written = write_back(source, [Edit(3, 3, "\nx"), Edit(7, 7, "\ny")])
    assert written == raw % (b'["a\\n","b\\n","x"]', b'[\n "c\\n" ,\n "d\\n" ,\n "y"]')


def test_a_deleted_line_takes_its_item_with_it() -> None:
    raw = b'{"cells": [{"cell_type": "code", "source": ["a\\n", "b\\n", "c"]}], "nbformat": 4}'
    source = read_notebook("a.ipynb", raw)
    assert b'["b\\n", "c"]' in write_back(source, [Edit(0, 2, "")])
    assert b'["a\\n", "c"]' in write_back(source, [Edit(2, 4, "")])
    assert b'["a\\n", "bc"]' in write_back(source, [Edit(3, 4, "")])
    assert b"[]" in write_back(source, [Edit(0, 5, "")])


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param('"# \\u00e9x"', '"# \\u00e9\\u00fcx"', id="escaped"),
        pytest.param('"# \\u00E9x"', '"# \\u00E9\\u00FCx"', id="upper case"),
        pytest.param('"# \\u00C9x"', '"# \\u00C9\\u00FCx"', id="upper case digits"),
        pytest.param('"# éx"', '"# éüx"', id="literal"),
        pytest.param('"# \\/x"', '"# \\/üx"', id="nothing to go by"),
        pytest.param('"# \\\\u00e9x"', '"# \\\\u00e9üx"', id="an escaped backslash"),
    ],
)
def test_new_text_is_escaped_as_the_file_does(before: str, after: str) -> None:
    raw = f'{{"cells": [{{"cell_type": "code", "source": {before}}}], "nbformat": 4}}'.encode()
    source = read_notebook("a.ipynb", raw)
    offset = source.text.index("x")
    assert write_back(source, [Edit(offset, offset, "ü")]) == raw.replace(before.encode(), after.encode())


def test_of_a_repeated_key_the_last_one_is_edited() -> None:
    raw = b'{"cells": [{"source": "old", "cell_type": "code", "source": "x = 1"}], "nbformat": 4}'
    source = read_notebook("a.ipynb", raw)
    assert write_back(source, [Edit(4, 5, "2")]) == raw.replace(b"x = 1", b"x = 2")


def test_an_edit_of_a_magic_is_refused() -> None:
    source = read_notebook("a.ipynb", b'{"cells": [{"cell_type": "code", "source": "%%time\\nx = 1"}], "nbformat": 4}')
    with pytest.raises(ValueError, match="magic"):
        write_back(source, [Edit(0, 0, "import os\n")])
