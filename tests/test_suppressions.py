"""Comments that silence findings, and those that silence nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from torchlint.findings import Finding, Safety, Severity, Text
from torchlint.inspection import Inspected, inspect
from torchlint.rules.rule import Rule
from torchlint.semantics.program import Program
from torchlint.source import Cell, Source, apply_edits, read_source
from torchlint.unused_suppression import UnusedSuppression


class Bad(Rule):
    """Every call of ``bad`` is a finding."""

    code = "TL501"  # a code that exists, so that comments may name it
    name = "unmapped-load"
    severity = Severity.ERROR
    screen = re.compile(rb"bad")

    def check(self, program: Program) -> Iterator[Finding]:
        for call in program.tree.calls:
            if program.code(call.func) == "bad":
                yield self.finding(program, call, Text("bad"), Text("good"))


def look(text: str, *rules: type[Rule]) -> Inspected:
    return inspect(read_source("a.py", text.encode()), [rule() for rule in rules or (Bad, UnusedSuppression)])


def rows(text: str) -> list[tuple[str, int]]:
    return [(finding.code, finding.span.row) for finding in look(text).findings]


@pytest.mark.parametrize(
    "comment",
    [
        "# noqa",
        "#noqa",
        "# NOQA",
        "# noqa: TL501",
        "# noqa:TL501",
        "# noqa : TL501",
        "# noqa: tl501",
        "# noqa: E501, TL501",
        "# noqa: E501,TL501",
        "# noqa: E501 TL501",
        "# noqa:E501 TL501",
        "# noqa: TL501 the checkpoint is ours",
        "# noqa: TL501: the checkpoint is ours",
        "# type: ignore  # noqa: TL501",
        "# pragma: no cover # noqa",
        "# torchlint: ignore",
        "# torchlint:ignore",
        "# torchlint: ignore[TL501]",
        "# torchlint: ignore[E501, TL501]",
        "# torchlint: ignore[unmapped-load]",
        "# torchlint: ignore [TL501]",
        "# noqa: E501  # torchlint: ignore[TL501]",
    ],
)
def test_comments_that_silence(comment: str) -> None:
    result = look(f"bad()  {comment}\n", Bad)
    assert (result.findings, result.silenced) == ((), 1)


@pytest.mark.parametrize(
    "comment",
    [
        "# noqa: E501",
        "# noqa: TL101",
        "# noqa: TL5011",
        "# noqa: ATL501",
        "# noqa: see below",
        "# noqa-not",
        "# noqast",
        "# ruff: noqa",
        "# flake8: noqa: TL501",
        "# torchlint: ignore[TL101]",
        "# torchlint: ignore[]",
        "# torchlint: ignored",
        "# another-torchlint-word",
        "# nothing",
    ],
)
def test_comments_that_do_not(comment: str) -> None:
    assert len(look(f"bad()  {comment}\n", Bad).findings) == 1


@pytest.mark.parametrize(
    "text",
    [
        'bad("# noqa")\n',
        'bad("""\n# noqa\n""")\n',
        '"""Use # torchlint: ignore-file to silence."""\nbad()\n',
        "bad(f'# noqa: TL501 {1}')\n",
        'x = "# torchlint: ignore-file"; bad()\n',
    ],
)
def test_strings_silence_nothing(text: str) -> None:
    assert [code for code, _ in rows(text)] == ["TL501"]


def test_any_row_of_the_statement_counts() -> None:
    statement = ["bad(", "    1,", "    2,", ")"]
    for row in range(len(statement)):
        lines = list(statement)
        lines[row] += "  # noqa: TL501"
        assert rows("\n".join(lines) + "\n") == []


def test_rows_beside_the_statement_do_not_count() -> None:
    assert rows("# noqa\nbad()\n# noqa\n") == [("TL501", 2)]


def test_only_the_header_of_a_compound_statement_counts() -> None:
    assert rows("if bad():  # noqa\n    pass\n") == []
    assert rows("if bad():\n    pass  # noqa\n") == [("TL501", 1)]


@pytest.mark.parametrize("form", ["# torchlint: ignore-file", "# torchlint: ignore-file[TL501]"])
def test_the_whole_file(form: str) -> None:
    assert rows(f"bad()\n{form}\nbad()\n") == []
    assert rows(f"bad()\nx = '{form}'\n") == [("TL501", 1)]


def test_line_ends_of_all_kinds() -> None:
    for end in ("\n", "\r\n", "\r"):
        assert rows(f"x = 1{end}bad()  # noqa{end}bad(){end}") == [("TL501", 3)]


def test_form_feed_and_unicode_line_separators_end_no_row() -> None:
    assert rows("x = '\u2028'\n\x0c\nbad()  # noqa: TL501\nbad()\n") == [("TL501", 4)]


def test_in_a_notebook_rows_count_in_the_joined_text() -> None:
    text = "bad()\n\nbad()  # noqa\nbad()"
    source = Source("a.ipynb", text.encode(), text, cells=(Cell(1, 1, 1), Cell(3, 3, 4)))
    result = inspect(source, [Bad()])
    assert [(finding.cell, finding.span.row) for finding in result.findings] == [(1, 1), (3, 2)]


# -- unused --


def fixed(text: str) -> str:
    result = look(text)
    edits = [
        edit for finding in result.findings if finding.code == "TL001" and finding.fix for edit in finding.fix.edits
    ]
    return apply_edits(text, tuple(edits))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x = 1  # noqa: TL501\n", "x = 1\n"),
        ("x = 1  # noqa: TL501, E501\n", "x = 1  # noqa: E501\n"),
        ("x = 1  # noqa: E501, TL501\n", "x = 1  # noqa: E501\n"),
        ("x = 1  # noqa: E501 TL501 W291\n", "x = 1  # noqa: E501, W291\n"),
        ("x = 1  # noqa: TL501 because\n", "x = 1  # because\n"),
        ("x = 1  # type: ignore # noqa: TL501\n", "x = 1  # type: ignore\n"),
        ("x = 1  # noqa: TL501 # type: ignore\n", "x = 1  # type: ignore\n"),
        ("x = 1  # torchlint: ignore\n", "x = 1\n"),
        ("x = 1  # torchlint: ignore[TL501]\n", "x = 1\n"),
        ("x = 1  # torchlint: ignore[TL999]\n", "x = 1\n"),
        ("x = 1  # torchlint: ignore[]\n", "x = 1\n"),
        ("# torchlint: ignore-file[TL501]\nx = 1\n", "x = 1\n"),
        ("    # torchlint: ignore-file\nx = 1\n", "x = 1\n"),
        ("bad()  # torchlint: ignore[TL501, unused-name]\n", "bad()  # torchlint: ignore[TL501]\n"),
        ("x = 1\r\n# noqa: TL501\r\ny = 2\r\n", "x = 1\r\ny = 2\r\n"),
        ("x = 1\n# noqa: TL501", "x = 1\n"),
    ],
)
def test_the_unused_part_goes(before: str, after: str) -> None:
    assert fixed(before) == after
    assert fixed(after) == after


@pytest.mark.parametrize(
    "text",
    [
        "x = 1  # noqa\n",
        "x = 1  # noqa: E501\n",
        "x = 1  # noqa: TL999\n",  # perhaps another tool's
        "x = 1  # noqa: TL201\n",  # a rule that did not run here
        "bad()  # noqa: TL501\n",
        "bad()  # torchlint: ignore\n",
        "x = 1  # ruff: noqa: TL501\n",
        "x = '# noqa: TL501'\n",
        "x = 1  # noqa: TL501, TL001\n",
        "x = 1  # torchlint: ignore[TL501] # noqa\n",
    ],
)
def test_what_is_left_alone(text: str) -> None:
    assert [finding for finding in look(text).findings if finding.code == "TL001"] == []


def test_an_unused_blanket_comment_does_not_silence_its_own_finding() -> None:
    assert rows("x = 1  # torchlint: ignore\n") == [("TL001", 1)]
    assert rows("# torchlint: ignore-file\n") == [("TL001", 1)]


def test_nothing_is_unused_where_a_rule_failed() -> None:
    class Broken(Bad):
        """Fails."""

        def check(self, program: Program) -> Iterator[Finding]:
            raise RuntimeError("oops")

    result = look("bad()  # noqa: TL501\n", Broken, UnusedSuppression)
    assert result.findings == ()
    assert "oops" in result.problems[0].message


def test_the_finding_is_safe_to_fix_and_stands_on_the_comment() -> None:
    (finding,) = look("x = 1  # noqa: TL501\n").findings
    assert finding.fix is not None
    assert finding.fix.safety is Safety.SAFE
    assert (finding.span.row, finding.span.column) == (1, 8)
    assert "TL501" in str(finding.message)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_silencing_writes_a_comment_that_counts_under_every_line_end(end: str) -> None:
    from torchlint.silencing import silence

    source = read_source("a.py", end.join(["def f():", "    return bad(", "        1)", "x = 1", ""]).encode())
    edits, stubborn = silence(source, look(source.text).findings)
    assert stubborn == ()
    silenced = apply_edits(source.text, edits)
    assert silenced.count("# noqa: TL501") == 1
    assert rows(silenced) == []
