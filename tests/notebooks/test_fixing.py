"""A notebook is checked and fixed like a module: findings count in their cell, a fix changes the string it edits."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from torchlint.findings import Edit, Finding, Fix, Safety, Severity, text
from torchlint.fixing import fix_source
from torchlint.inspection import inspect
from torchlint.notebook import read_notebook, write_back
from torchlint.rules.rule import Rule
from torchlint.selection import available_rules
from torchlint.semantics.program import Program

FIXTURES = Path(__file__).parents[2] / "fixtures" / "notebooks"
RULES = [rule() for rule in available_rules() if rule.code == "TL501"]
MAPPED = b', map_location=\\"cpu\\")'


@pytest.mark.parametrize(
    ("name", "place", "before", "after"),
    [
        ("colab", (3, 1, 15), b"shells.pt')", b"shells.pt'" + MAPPED),
        ("jupyter", (5, 2, 17), b"shells.pt')", b"shells.pt', map_location=device)"),
        ("kaggle", (2, 1, 15), b"shells.pt')", b"shells.pt'" + MAPPED),
        ("vscode", (2, 3, 7), b"shells.pt')", b"shells.pt'" + MAPPED),
    ],
)
def test_fixtures(name: str, place: tuple[int, int, int], before: bytes, after: bytes) -> None:
    raw = (FIXTURES / f"{name}.ipynb").read_bytes()
    source = read_notebook(f"{name}.ipynb", raw)
    [finding] = inspect(source, RULES).findings
    assert (finding.cell, finding.span.row, finding.span.column) == place
    fixed = fix_source(source, RULES)
    assert fixed.remaining == ()
    assert raw.count(before) == 1
    assert write_back(source, fixed.edits) == raw.replace(before, after)


def cells(*sources: str) -> bytes:
    content = [{"cell_type": "code", "metadata": {}, "source": source} for source in sources]
    return json.dumps({"cells": content, "nbformat": 4}).encode()


def test_names_flow_from_cell_to_cell() -> None:
    source = read_notebook(
        "a.ipynb", cells("%pip install torch\nfrom torch import load as read", "x = 1", "read('a.pt')")
    )
    [finding] = inspect(source, RULES).findings
    assert (finding.cell, finding.span.row) == (3, 1)


def test_comments_in_cells_silence() -> None:
    source = read_notebook("a.ipynb", cells("import torch", "\ntorch.load('a.pt')  # noqa: TL501"))
    result = inspect(source, RULES)
    assert (result.findings, result.silenced) == ((), 1)


def test_magics_and_broken_cells_do_not_stop_the_rest() -> None:
    source = read_notebook(
        "a.ipynb",
        cells(
            "import torch",
            "print 2",
            "!ls\nif x:\n    %cd a\n%time w = torch.load('a.pt')\n%%oops",
            "%%bash\ntorch.load()",
        ),
    )
    [finding] = inspect(source, RULES).findings
    assert (finding.cell, finding.span.row, finding.span.column) == (3, 4, 17)
    fixed = fix_source(source, RULES)
    assert fixed.problems == ()
    assert b"%time w = torch.load('a.pt', map_location=\\\"cpu\\\")" in write_back(source, fixed.edits)


class Greedy(Rule):
    """Wants to put an import in front of everything."""

    code = "TL999"
    name = "greedy"
    severity = Severity.WARNING
    screen = re.compile(b"torch")

    def check(self, program: Program) -> Iterator[Finding]:
        """One finding for the first call."""
        call = program.tree.calls[0]
        fix = Fix(text("Import os"), Safety.SAFE, (Edit(0, 0, "import os\n"),))
        yield self.finding(program, call, text("no"), text("do"), fix)


def test_a_fix_that_would_move_a_cell_magic_is_withheld() -> None:
    source = read_notebook("a.ipynb", cells("%%time\ntorch.load('a.pt')"))
    [finding] = inspect(source, [Greedy()]).findings
    assert finding.fix is not None
    assert (finding.fix.safety, finding.fix.edits) == (Safety.MANUAL, ())
    assert "magic" in str(finding.fix.reason)
    assert fix_source(source, [Greedy()]).edits == ()
