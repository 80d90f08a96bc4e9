"""``full`` and ``concise``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from torchlint.findings import Finding, Span, Text
from torchlint.reports import concise_format, full_format
from torchlint.reports.view import View, printable
from torchlint.source import read_source

from .conftest import finding


def test_concise(findings: list[Finding], view: View) -> None:
    assert [concise_format.show(each, view) for each in findings] == [
        "b.ipynb:cell 3:2:7: TL501 [*] `torch.load` is wrong, <so> it & fails\n",
        "sub/a.py:3:15: TL501 [*] `torch.load` is wrong, <so> it & fails\n",
        "sub/a.py:6:11: TL501 [unsafe] `torch.load` is wrong, <so> it & fails\n",
        "sub/a.py:6:11: TL001 `torch.load` is wrong, <so> it & fails\n",
        "vanished.py:9:1: TL501 `torch.load` is wrong, <so> it & fails\n",
    ]


def test_full(findings: list[Finding], view: View) -> None:
    assert full_format.show(findings[1], view) == (
        "TL501 [*] `torch.load` is wrong, <so> it & fails\n"
        " --> sub/a.py:3:15\n"
        "  |\n"
        "3 | state = torch.load(\n"
        "  |               ^^^^\n"
        "  |\n"
        "help: write it right\n"
        "\n"
    )


def test_full_says_why_a_fix_is_unsafe_or_withheld(findings: list[Finding], view: View) -> None:
    assert "note: the fix is unsafe: the order may change\n" in full_format.show(findings[2], view)
    assert "note: callers are unknown\n" in full_format.show(findings[3], view)


def test_full_finds_the_row_of_a_cell(findings: list[Finding], view: View) -> None:
    shown = full_format.show(findings[0], view)
    assert "b.ipynb:cell 3:2:7" in shown
    assert "2 | torch.load('a')\n  |       ^^^^\n" in shown


def test_full_without_the_source_shows_no_excerpt(findings: list[Finding], view: View) -> None:
    assert full_format.show(findings[4], view).splitlines()[1:3] == [" --> vanished.py:9:1", "help: write it right"]


@pytest.mark.parametrize(
    ("line", "span", "excerpt"),
    [
        ("图片 = load()", (6, 10), ["1 | 图片 = load()", "  |        ^^^^"]),  # two columns each
        ("\tx\t= load()", (6, 10), ["1 |     x    = load()", "  |            ^^^^"]),
        ("e\u0301 = load()", (6, 10), ["1 | e\u0301 = load()", "  |     ^^^^"]),  # a combining accent
        ("load()   ", (1, 5), ["1 | load()", "  | ^^^^"]),
        ("x", (2, 2), ["1 | x", "  |  ^"]),  # behind the end
    ],
)
def test_carets_stand_under_what_they_mean(line: str, span: tuple[int, int], excerpt: list[str]) -> None:
    view = View(lambda path: read_source(path, line.encode()))
    shown = full_format.show(finding("a.py", Span(1, span[0], 1, span[1])), view)
    assert shown.splitlines()[3:5] == excerpt


def test_several_rows() -> None:
    view = View(lambda path: read_source(path, b"with (\n    a,\n    b,\n):\n"))
    shown = full_format.show(finding("a.py", Span(1, 1, 4, 3)), view)
    assert [line for line in shown.splitlines() if "^" in line] == ["  | ^^^^^^", "  |     ^^", "  |     ^^", "  | ^^"]


def test_very_long_rows_are_cut_around_the_finding() -> None:
    line = "x" * 5000 + "load" + "y" * 5000
    view = View(lambda path: read_source(path, line.encode()))
    rows = full_format.show(finding("a.py", Span(1, 5001, 1, 5005)), view).splitlines()
    assert all(len(row) < 200 for row in rows)
    text, carets = rows[3], rows[4]
    assert text[carets.index("^") :].startswith("load")


def test_escape_codes_reach_no_terminal() -> None:
    source = "x = '\x1b[31m\x9b\u202e'; load()"
    view = View(lambda path: read_source(path, source.encode()))
    each = replace(finding("\x1b]0;evil\x07.py", Span(1, 14, 1, 18)), message=Text("a\x1b[2Jb\nc"))
    for shown in (full_format.show(each, view), concise_format.show(each, view)):
        assert not [character for character in shown if character != "\n" and not character.isprintable()]
    assert "\\x1b]0;evil\\x07.py" in concise_format.show(each, view)


def test_colour_only_when_asked_for(findings: list[Finding], view: View) -> None:
    for show in (full_format.show, concise_format.show):
        plain = show(findings[1], view)
        colored = show(findings[1], replace(view, color=True))
        assert "\x1b[" not in plain
        assert "\x1b[" in colored
        for code in ("\x1b[0m", "\x1b[1;31m", "\x1b[36m", "\x1b[1m", "\x1b[34m", "\x1b[1;36m"):
            colored = colored.replace(code, "")
        assert colored == plain


def test_another_language(findings: list[Finding], view: View, translate: Callable[[Text], str]) -> None:
    shown = full_format.show(findings[2], replace(view, render=translate))
    assert "<<`{name}` is wrong, <so> it & fails>>" in shown
    assert "<<help>>: <<write it right>>" in shown
    assert "<<note>>: <<the fix is unsafe: {reason}>>" in shown


def test_undecodable_names_are_spelled_out() -> None:
    assert printable("caf\udce9.py") == "caf\\xe9.py"
