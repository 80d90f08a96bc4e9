"""The code cells of a notebook are one program; what is no Python notebook gets an error that says what it is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from torchlint.findings import Edit
from torchlint.notebook import locate, read_notebook
from torchlint.source import Cell, SourceError

FIXTURES = Path(__file__).parents[2] / "fixtures" / "notebooks"


def notebook(*cells: tuple[str, str | list[str]], **metadata: Any) -> bytes:
    """A minimal notebook of (cell type, source) pairs."""
    content = [{"cell_type": kind, "metadata": {}, "source": source} for kind, source in cells]
    return json.dumps({"cells": content, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}).encode()


def code(*sources: str | list[str], **metadata: Any) -> bytes:
    return notebook(*(("code", source) for source in sources), **metadata)


def test_code_cells_are_joined_and_counted_over_all_cells() -> None:
    raw = notebook(("markdown", "# Title"), ("code", ["import torch\n", "x = 1"]), ("raw", "raw"), ("code", "y = x"))
    source = read_notebook("a.ipynb", raw)
    assert source.text == "import torch\nx = 1\ny = x"
    assert source.cells == (Cell(2, 1, 2), Cell(4, 3, 3))
    assert source.notes == ()


def test_a_trailing_line_end_is_a_row_of_its_cell() -> None:
    source = read_notebook("a.ipynb", code("x = 1\n", "y = 2"))
    assert source.text == "x = 1\n\ny = 2"
    assert source.cells == (Cell(1, 1, 2), Cell(2, 3, 3))


def test_offsets_lead_to_the_cell() -> None:
    source = read_notebook("a.ipynb", code("é = 1\r\n%cd x", "", "y = 2"))
    assert [locate(source, offset) for offset in (0, 12, 13, 14)] == [
        (source.cells[0], 0), (source.cells[0], 12), (source.cells[1], 0), (source.cells[2], 0)
    ]  # fmt: skip


def test_a_cell_that_does_not_parse_is_blank_and_noted() -> None:
    source = read_notebook("a.ipynb", code("x = 1", "y = (\nz", "print 'two'", "w = x"))
    assert source.text == "x = 1\n     \n \n           \nw = x"
    assert [note.split(":")[0] for note in source.notes] == [
        "cell 2 is skipped, it is not valid Python",
        "cell 3 is skipped, it is not valid Python",
    ]
    assert "line 1: '(' was never closed" in source.notes[0]


def test_cells_that_only_parse_together_are_skipped() -> None:
    source = read_notebook("a.ipynb", code("if x:", "    y()", "z()"))
    assert source.text.split() == ["z()"]
    assert len(source.notes) == 2


@pytest.mark.parametrize("cell", ["x = 1 + \\", "\ufeffx = 1", "x = '\0'", "x = '\ud800'", "(" * 5000 + ")" * 5000])
def test_odd_cells_do_not_disturb_the_others(cell: str) -> None:
    source = read_notebook("a.ipynb", code("a = 1", cell, "b = 2"))
    assert source.text.replace(" ", "") == "a=1\n\nb=2"
    assert len(source.notes) == 1


@pytest.mark.parametrize(
    "metadata",
    [
        {"kernelspec": {"language": "R", "name": "ir"}},
        {"language_info": {"name": "julia"}, "kernelspec": {"language": "julia", "name": "julia-1.10"}},
        {"kernelspec": {"language": "sos", "name": "sos"}},
    ],
)
def test_other_languages_are_skipped_with_a_note(metadata: dict[str, Any]) -> None:
    source = read_notebook("a.ipynb", code("x <- 1", **metadata))
    assert (source.text, source.cells) == ("", ())
    assert len(source.notes) == 1
    assert "not Python" in source.notes[0]


@pytest.mark.parametrize(
    "metadata", [{}, {"language_info": {"name": "python"}}, {"kernelspec": {"language": "ipython"}}]
)
def test_python_is_the_default(metadata: dict[str, Any]) -> None:
    assert read_notebook("a.ipynb", code("x", **metadata)).text == "x"


def test_a_cell_marked_as_another_language_is_blank() -> None:
    cells = [
        {"cell_type": "code", "metadata": {"vscode": {"languageId": "shellscript"}}, "source": "ls"},
        {"cell_type": "code", "metadata": {}, "source": "x"},
    ]
    source = read_notebook("a.ipynb", json.dumps({"cells": cells, "nbformat": 4}).encode())
    assert source.text == "  \nx"
    assert source.notes == ()


ERRORS = [
    pytest.param(b"", "is empty", id="empty"),
    pytest.param(b'{"cells": [', "is not valid JSON", id="cut short"),
    pytest.param(b'{\n<<<<<<< HEAD\n "a": 1}', "merge conflict", id="merge conflict"),
    pytest.param(b"[1, 2]", "top level is not an object", id="a list"),
    pytest.param(b'{"a": 1}', "no list of cells", id="other JSON"),
    pytest.param(b'{"worksheets": [{"cells": []}], "nbformat": 3}', "notebook format 3", id="nbformat 3"),
    pytest.param(b'{"cells": [], "nbformat": 5}', "notebook format 5", id="future format"),
    pytest.param(
        b'{"cells": [{"cell_type": "code", "source": 3}], "nbformat": 4}', "source of cell 1", id="bad source"
    ),
    pytest.param('{"cells": [], "x": "\xe9"}'.encode("latin-1"), "is not UTF-8", id="latin-1"),
    pytest.param(b"[" * 100_000, "nested too deeply", id="deep"),
]


@pytest.mark.parametrize(("raw", "words"), ERRORS)
def test_what_is_no_notebook_gets_a_clear_error(raw: bytes, words: str) -> None:
    with pytest.raises(SourceError, match=words):
        read_notebook("a.ipynb", raw)


def test_a_json_error_names_its_row() -> None:
    with pytest.raises(SourceError) as caught:
        read_notebook("a.ipynb", b'{\n "cells": [\n  oops\n ]\n}')
    assert (caught.value.row, caught.value.column) == (3, 3)


def test_edits_stay_off_magics_and_inside_a_cell() -> None:
    source = read_notebook("a.ipynb", code("%%time\nx = 1\n!ls\ny = 2", "%%bash\nls", "z = 3"))
    text = source.text
    x, y, z, shell = text.index("x = 1"), text.index("y = 2"), text.index("z = 3"), text.index("0##")
    assert source.accepts([Edit(x, x + 1, "w"), Edit(y, y, "import os\n"), Edit(z, z, "import os\n")])
    assert not source.accepts([Edit(0, 0, "import os\n")]), "nothing goes in front of a cell magic"
    assert not source.accepts([Edit(3, 3, " ")])
    assert source.accepts([Edit(shell, shell, "import os\n")])
    assert not source.accepts([Edit(shell, shell + 1, "")])
    assert not source.accepts([Edit(y, z, "")])
    bash = z - 3
    assert not source.accepts([Edit(bash, bash, "x")])


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*.ipynb")), ids=lambda path: path.stem)
def test_fixtures_are_read_as_expected(path: Path) -> None:
    """Next to each notebook stands the program it is read as, or the error."""
    expected = path.with_suffix(".txt").read_text(encoding="utf-8")
    if expected.startswith("error: "):
        with pytest.raises(SourceError) as caught:
            read_notebook(path.name, path.read_bytes())
        assert f"error: {caught.value.message}\n" == expected
        return
    source = read_notebook(path.name, path.read_bytes())
    rows = [f"{cell.number}: {source.line(row)}".rstrip() for cell in source.cells for row in _rows(cell)]
    assert "\n".join([*rows, *(f"note: {note}" for note in source.notes)]) + "\n" == expected


def _rows(cell: Cell) -> range:
    return range(cell.first_row, cell.last_row + 1)


def test_numbers_of_any_length_in_outputs_do_no_harm() -> None:
    raw = code("x = 1").replace(b'"metadata": {}', b'"metadata": {"n": ' + b"9" * 5000 + b"}")
    assert b"9999" in raw
    assert read_notebook("a.ipynb", raw).text == "x = 1"
