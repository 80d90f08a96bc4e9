"""Notebooks on the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import Run

Check = Callable[..., Run]
CELLS = [
    {"cell_type": "markdown", "metadata": {}, "source": ["# Loading\n"]},
    {
        "cell_type": "code",
        "metadata": {},
        "outputs": [],
        "execution_count": 1,
        "source": "%matplotlib inline\nimport torch",
    },
    {
        "cell_type": "code",
        "metadata": {},
        "outputs": [],
        "execution_count": 2,
        "source": ["x = 1\n", 'state = torch.load("m", weights_only=True)'],
    },
    {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": 3, "source": ["x = (\n"]},
]


@pytest.fixture
def notebook(folder: Path) -> Path:
    path = folder / "a.ipynb"
    path.write_text(json.dumps({"cells": CELLS, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1) + "\n")
    return path


def sources(path: Path) -> list[str]:
    return ["".join(cell["source"]) for cell in json.loads(path.read_text())["cells"]]


def test_findings_name_the_cell(torchlint: Check, notebook: Path) -> None:
    result = torchlint("--output-format", "concise")
    assert result.code == 1
    assert result.out.startswith("a.ipynb:cell 3:2:15: TL501 ")
    assert result.err.startswith("note: a.ipynb: cell 4 is skipped, it is not valid Python")
    assert "note:" not in torchlint("-q").err


def test_the_excerpt_is_from_the_cell(torchlint: Check, notebook: Path) -> None:
    assert '2 | state = torch.load("m", weights_only=True)\n  |               ^^^^' in torchlint().out


def test_json_counts_in_the_cell(torchlint: Check, notebook: Path) -> None:
    (item,) = json.loads(torchlint("--output-format", "json").out)
    assert (item["cell"], item["location"]) == (3, {"column": 15, "row": 2})


def test_fix_changes_the_source_string_alone(torchlint: Check, notebook: Path) -> None:
    before = notebook.read_text()
    assert torchlint("fix", "--unsafe-fixes").code == 0
    after = notebook.read_text()
    assert len(before.splitlines()) == len(after.splitlines())
    assert sources(notebook)[2] == 'x = 1\nstate = torch.load("m", weights_only=True, map_location="cpu")'


def test_diff_is_of_the_file(torchlint: Check, notebook: Path) -> None:
    before = notebook.read_bytes()
    out = torchlint("fix", "--diff", "--unsafe-fixes").out
    assert out.startswith("--- a.ipynb\n+++ a.ipynb\n")
    assert notebook.read_bytes() == before


def test_add_noqa(torchlint: Check, notebook: Path) -> None:
    assert torchlint("--add-noqa", "-q").code == 0
    assert sources(notebook)[2] == 'x = 1\nstate = torch.load("m", weights_only=True)  # noqa: TL501'
    assert torchlint().code == 0


def test_an_unused_suppression_goes(torchlint: Check, notebook: Path) -> None:
    notebook.write_text(notebook.read_text().replace('"x = 1\\n"', '"x = 1  # noqa: TL501\\n"'))
    result = torchlint("--select", "TL001,TL501", "--output-format", "concise", "-q")
    assert result.out.startswith("a.ipynb:cell 3:1:8: TL001 [*]")
    assert torchlint("fix", "--select", "TL001,TL501", "--unsafe-fixes").code == 0
    assert sources(notebook)[2].startswith("x = 1\n")


def test_standard_input_may_be_a_notebook(torchlint: Check, notebook: Path) -> None:
    result = torchlint("-", "--stdin-filename", "b.ipynb", "--output-format", "concise", stdin=notebook.read_bytes())
    assert result.out.startswith("b.ipynb:cell 3:2:15: TL501 ")


@pytest.mark.parametrize("name", ["full", "concise", "json", "jsonl", "sarif", "github", "gitlab", "junit", "rdjson"])
def test_all_formats(torchlint: Check, notebook: Path, name: str) -> None:
    result = torchlint("--output-format", name)
    assert result.code == 1
    assert "TL501" in result.out


def test_a_baseline(torchlint: Check, notebook: Path) -> None:
    torchlint("--write-baseline", "known.json")
    assert torchlint("--baseline", "known.json").code == 0
