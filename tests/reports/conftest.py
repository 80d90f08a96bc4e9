"""Findings of every sort, with the sources they stand in."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from torchlint.findings import Edit, Finding, Fix, Problem, Safety, Severity, Span, Text, text
from torchlint.notebook import CodeCell, join_cells
from torchlint.reports.view import Report, View
from torchlint.selection import available_rules
from torchlint.source import Source, read_source

CODE = 'import torch\n\nstate = torch.load(\n\t"größe.pt",\n)\n图 = torch.load("x")\n'
NOTEBOOK = [CodeCell(1, "import torch"), CodeCell(3, "x = 1\ntorch.load('a')")]


def finding(path: str, span: Span, fix: Fix | None = None, *, cell: int | None = None, code: str = "TL501") -> Finding:
    first = span.row + (1 if cell else 0)
    message = text("`{name}` is wrong, <so> it & fails", name="torch.load")
    return Finding(
        path, span, code, "unmapped-load", message, Text("write it right"), Severity.ERROR, first, first, fix, cell
    )


@pytest.fixture
def sources() -> dict[str, Source]:
    code = read_source("sub/a.py", CODE.encode())
    notebook = join_cells("b.ipynb", b"{}", NOTEBOOK)
    return {"sub/a.py": code, "b.ipynb": notebook}


@pytest.fixture
def findings(sources: dict[str, Source]) -> list[Finding]:
    code = sources["sub/a.py"]
    start = code.text.index("torch.load(")
    last = code.text.index('"x")') + 3
    safe = Fix(Text("Add it"), Safety.SAFE, (Edit(start + 11, start + 11, "ü, "), Edit(0, 0, "import os\n")))
    unsafe = Fix(Text("Add it"), Safety.UNSAFE, (Edit(last, last, ", 1"),), Text("the order may change"))
    manual = Fix(Text("Think"), Safety.MANUAL, (), Text("callers are unknown"))
    inner = sources["b.ipynb"].text.index("'a'")
    in_cell = Fix(Text("Add it"), Safety.SAFE, (Edit(inner, inner + 3, "'b'"),))
    return [
        finding("b.ipynb", Span(2, 7, 2, 11), in_cell, cell=3),
        finding("sub/a.py", Span(3, 15, 3, 19), safe),
        finding("sub/a.py", Span(6, 11, 6, 15), unsafe),
        finding("sub/a.py", Span(6, 11, 6, 15), manual, code="TL001"),
        finding("vanished.py", Span(9, 1, 9, 5)),
    ]


@pytest.fixture
def problems() -> list[Problem]:
    return [Problem("broken.py", "syntax error: <&>", 12, 3), Problem("gone.py", "does not exist")]


@pytest.fixture
def view(sources: dict[str, Source]) -> View:
    return View(sources.get, rules={rule.code: rule for rule in available_rules()})


@pytest.fixture
def report(findings: list[Finding], problems: list[Problem], view: View) -> Report:
    return Report(findings, problems, view)


@pytest.fixture
def empty(view: View) -> Report:
    return Report([], [], view)


@pytest.fixture
def translate() -> Callable[[Text], str]:
    return lambda message: f"<<{message.template}>>"
