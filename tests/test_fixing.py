"""The fix loop with rules made up for it."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator

import pytest

from torchlint import second_opinion
from torchlint.findings import Edit, Finding, Fix, Safety, Severity, text
from torchlint.fixers.arguments import add_keyword
from torchlint.fixers.imports import add_import
from torchlint.fixing import MAX_ROUNDS, edited, fix_source, moved, offset_of
from torchlint.notebook import read_notebook, write_back
from torchlint.rules.rule import Rule
from torchlint.semantics.program import Program
from torchlint.source import apply_edits, read_source

Fixer = Callable[[Program, ast.Call], "tuple[Edit, ...] | None"]


class CallRule(Rule):
    """Reports calls of one function; the fix is made by a function of the test."""

    severity = Severity.WARNING
    screen = re.compile(b"")

    def __init__(self, function: str, fixer: Fixer, *, code: str = "XX101", safety: Safety = Safety.SAFE) -> None:
        self.code = code  # type: ignore[misc]
        self.name = f"call-of-{function}"  # type: ignore[misc]
        self._function, self._fixer, self._safety = function, fixer, safety

    def check(self, program: Program) -> Iterator[Finding]:
        for call in program.tree.calls:
            if isinstance(call.func, ast.Name) and call.func.id == self._function:
                edits = self._fixer(program, call)
                fix = None if edits is None else Fix(text("fix it"), self._safety, edits)
                yield self.finding(program, call, text("bad call"), text("mend it"), fix)


def rename(new: str) -> Fixer:
    """Replaces the name of the called function."""

    def fixer(program: Program, call: ast.Call) -> tuple[Edit, ...]:
        start = program.start(call.func)
        return (Edit(start, start + len(call.func.id), new),)  # type: ignore[attr-defined]

    return fixer


def keep(program: Program, call: ast.Call) -> None:
    return None


def source_of(code: str | bytes):
    return read_source("module.py", code if isinstance(code, bytes) else code.encode())


def rows(findings) -> list[tuple[str, int]]:
    return [(finding.code, finding.span.row) for finding in findings]


def test_what_can_be_fixed_is_fixed_and_the_rest_told():
    rules = [CallRule("bad", rename("good")), CallRule("ugly", keep, code="XX102")]
    fixed = fix_source(source_of("bad()\nugly()\nbad(1)\n"), rules)
    assert fixed.source.text == "good()\nugly()\ngood(1)\n"
    assert fixed.source.raw == b"good()\nugly()\ngood(1)\n"
    assert rows(fixed.applied) == [("XX101", 1), ("XX101", 3)]
    assert rows(fixed.remaining) == [("XX102", 2)]
    assert (fixed.problems, fixed.rounds, fixed.changed) == ((), 1, True)


def test_nothing_to_fix_gives_the_same_source():
    source = source_of("x\n")
    fixed = fix_source(source, [CallRule("bad", rename("good"))])
    assert fixed.source is source
    assert (fixed.changed, fixed.edits, fixed.rounds) == (False, (), 0)


def test_a_second_run_changes_nothing():
    rules = [CallRule("bad", rename("good"))]
    first = fix_source(source_of("bad(bad())\n"), rules)
    assert first.source.text == "good(good())\n"
    assert not fix_source(first.source, rules).changed


@pytest.mark.parametrize(("unsafe", "after"), [(False, "bad(), good()"), (True, "worse(), good()")])
def test_unsafe_fixes_only_when_asked(unsafe, after):
    rules = [CallRule("bad", rename("worse"), safety=Safety.UNSAFE), CallRule("ugly", rename("good"), code="XX102")]
    assert fix_source(source_of("bad(), ugly()"), rules, unsafe=unsafe).source.text == after


def test_manual_fixes_are_never_applied():
    rules = [CallRule("bad", rename("good"), safety=Safety.MANUAL)]
    assert not fix_source(source_of("bad()"), rules, unsafe=True).changed


def test_select_narrows_the_fixes():
    rules = [CallRule("bad", rename("good")), CallRule("ugly", rename("fine"), code="XX102")]
    fixed = fix_source(source_of("bad(), ugly()"), rules, select=lambda finding: finding.code == "XX102")
    assert fixed.source.text == "bad(), fine()"
    assert rows(fixed.remaining) == [("XX101", 1)]


def test_a_silenced_finding_is_not_fixed():
    fixed = fix_source(source_of("bad()  # noqa: XX101\nbad()\n"), [CallRule("bad", rename("good"))])
    assert fixed.source.text == "bad()  # noqa: XX101\ngood()\n"
    assert fixed.silenced == 1


def test_overlapping_fixes_take_a_round_each():
    def whole(program: Program, call: ast.Call) -> tuple[Edit, ...]:
        arguments = ", ".join(program.code(each) for each in call.args)
        return (Edit(program.start(call), program.end(call), f"good({arguments})"),)

    fixed = fix_source(source_of("bad(bad(bad()))"), [CallRule("bad", whole)])
    assert fixed.source.text == "good(good(good()))"
    assert fixed.rounds == 3
    assert len(fixed.applied) == 3


def test_nested_calls_that_both_get_an_argument_take_one_round():
    def fixer(program: Program, call: ast.Call):
        return None if call.keywords else add_keyword(program.source, program.tree, call, "n", "1")

    class Unset(CallRule):
        def check(self, program: Program) -> Iterator[Finding]:
            return (finding for finding in super().check(program) if finding.fix)

    fixed = fix_source(source_of("bad(bad(x), y)"), [Unset("bad", fixer)])
    assert (fixed.source.text, fixed.rounds) == ("bad(bad(x, n=1), y, n=1)", 1)


def test_fixes_that_need_the_same_import_share_it():
    def fixer(program: Program, call: ast.Call):
        found = add_import(program.source, program.tree, "import os", call)
        return None if found is None else (*found.edits, *rename("os.good")(program, call))

    fixed = fix_source(source_of("bad()\nbad()\n"), [CallRule("bad", fixer)])
    assert fixed.source.text == "import os\n\nos.good()\nos.good()\n"
    assert fixed.rounds == 1


def test_at_most_ten_rounds():
    def one_a_round(program: Program, call: ast.Call) -> tuple[Edit, ...]:
        return (Edit(0, 0, f"# {call.lineno}\n"), *rename("good")(program, call))

    rules = [CallRule("bad", one_a_round)]
    fixed = fix_source(source_of("bad()\n" * (MAX_ROUNDS + 2)), rules)
    assert (fixed.rounds, len(fixed.remaining), fixed.problems) == (MAX_ROUNDS, 2, ())
    assert fix_source(fixed.source, rules).remaining == ()


@pytest.mark.parametrize(
    ("new", "reason"),
    [
        pytest.param("good(", "would break the file", id="unparsable"),
        pytest.param("ugly", "would add a finding of XX102", id="a finding of another rule"),
        pytest.param("bad(),bad", "would add a finding of XX101", id="a finding of its own rule"),
        pytest.param("bad", "does not cure its finding", id="not cured"),
        pytest.param("Ω", "does not exist in iso-8859-1", id="not encodable"),
        pytest.param("x\0", "would break the file", id="no source any more"),
        pytest.param("crash", "makes a rule fail", id="a rule fails on the result"),
    ],
)
def test_a_bad_fix_is_left_out_and_told_while_all_others_apply(new, reason):
    def fixer(program: Program, call: ast.Call) -> tuple[Edit, ...]:
        return rename(new if call.args else "good")(program, call)

    def crash(program: Program, call: ast.Call) -> None:
        raise KeyError("boom")

    rules = [CallRule("bad", fixer), CallRule("ugly", keep, code="XX102"), CallRule("crash", crash, code="XX103")]
    head = "# coding: latin-1\n"
    fixed = fix_source(source_of((head + "bad()\nbad()\nbad(é)\nbad()\nbad()\n").encode("latin-1")), rules)
    assert fixed.source.raw == (head + "good()\ngood()\nbad(é)\ngood()\ngood()\n").encode("latin-1")
    assert rows(fixed.applied) == [("XX101", 2), ("XX101", 3), ("XX101", 5), ("XX101", 6)]
    assert rows(fixed.remaining) == [("XX101", 4)]
    (problem,) = fixed.problems
    assert problem.row == 4
    assert "internal error: the fix of XX101 call-of-bad" in problem.message
    assert reason in problem.message


def test_a_fix_with_overlapping_edits_is_left_out():
    def fixer(program: Program, call: ast.Call) -> tuple[Edit, ...]:
        return (Edit(0, 3, "a"), Edit(2, 4, "b")) if call.args else rename("good")(program, call)

    fixed = fix_source(source_of("bad(1)\nbad()\n"), [CallRule("bad", fixer)])
    assert fixed.source.text == "bad(1)\ngood()\n"
    assert "overlap" in fixed.problems[0].message


def test_two_fixes_that_only_fail_together_are_applied_as_far_as_they_go():
    class OneAtMost(CallRule):
        """Reports a second ``good``."""

        def check(self, program: Program) -> Iterator[Finding]:
            yield from list(super().check(program))[1:]

    rules = [CallRule("bad", rename("good")), OneAtMost("good", keep, code="XX102")]
    fixed = fix_source(source_of("bad()\nbad()\n"), rules)
    assert fixed.source.text == "good()\nbad()\n"
    assert [problem.row for problem in fixed.problems] == [2]


def test_a_dropped_fix_is_told_once_though_others_move_it():
    def fixer(program: Program, call: ast.Call) -> tuple[Edit, ...]:
        if call.args:
            return rename("broken(")(program, call)
        return (Edit(0, 0, f"# {call.lineno}\n"), *rename("good")(program, call))

    fixed = fix_source(source_of("bad()\nbad(1)\nbad()\n"), [CallRule("bad", fixer)])
    assert fixed.source.text == "# 4\n# 1\ngood()\nbad(1)\ngood()\n"
    assert fixed.rounds == 2
    assert len(fixed.problems) == 1


def test_a_file_that_does_not_parse_is_told_and_left():
    source = source_of("bad(\n")
    fixed = fix_source(source, [CallRule("bad", rename("good"))])
    assert fixed.source is source
    assert "syntax error" in fixed.problems[0].message


def test_a_rule_that_fails_from_the_start_does_not_stop_the_others():
    def crash(program: Program, call: ast.Call) -> None:
        raise KeyError("boom")

    fixed = fix_source(
        source_of("bad(), ugly()"), [CallRule("bad", rename("good")), CallRule("ugly", crash, code="XX102")]
    )
    assert fixed.source.text == "good(), ugly()"
    assert len(fixed.problems) == 1


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(b"x\r\nbad()\r\ny", id="CRLF, no final line end"),
        pytest.param(b"x\r\nbad()\ny\r\n", id="mixed line ends"),
        pytest.param(b"\xef\xbb\xbfx\nbad()\n", id="byte order mark"),
        pytest.param("# coding: latin-1\né = 'ü'; bad()\n".encode("latin-1"), id="latin-1"),
        pytest.param("é = 'ü𝒳'; bad()\n".encode(), id="wide characters before the column"),
        pytest.param(b"if x:\n\tbad()\n", id="tabs"),
        pytest.param(b"\x0cx\n\x0c\nbad()  \n\n\n", id="form feeds and trailing blanks"),
        pytest.param(b"x\rbad()\r", id="carriage returns alone"),
    ],
)
def test_bytes_outside_the_edit_stay(raw):
    fixed = fix_source(source_of(raw), [CallRule("bad", rename("good"))])
    assert fixed.problems == ()
    assert fixed.source.raw == raw.replace(b"bad", b"good")


def test_the_edits_lead_from_the_first_text_to_the_last():
    def whole(program: Program, call: ast.Call) -> tuple[Edit, ...]:
        arguments = ", ".join(program.code(each) for each in call.args)
        return (Edit(program.start(call), program.end(call), f"good({arguments})"),)

    source = source_of("x\nbad(bad(bad()))\ny\nbad()\n")
    fixed = fix_source(source, [CallRule("bad", whole)])
    assert fixed.rounds == 3
    assert apply_edits(source.text, fixed.edits) == fixed.source.text
    assert edited(source, fixed.edits).raw == fixed.source.raw


def test_a_source_whose_bytes_do_not_come_back_is_not_fixed():
    raw = b"bad()\n"
    source = read_source("x.py", raw)
    source.raw = b"\xef\xbb\xbf" + raw  # as if decoding had lost something
    fixed = fix_source(source, [CallRule("bad", rename("good"))])
    assert not fixed.changed
    assert "its bytes would differ" in fixed.problems[0].message


def test_the_second_parser_must_agree(monkeypatch):
    monkeypatch.setattr(second_opinion, "_round_trips", lambda text: "good" not in text)
    fixed = fix_source(source_of("bad()"), [CallRule("bad", rename("good"))])
    assert not fixed.changed
    assert "LibCST" in fixed.problems[0].message


@pytest.mark.parametrize(
    ("code", "read"),
    [
        ("x\n# note\ny\n  # note\nz = bad()\n\ny\n", ["z = good()\n\n"]),
        ("# first\nbad()\nx\n", ["# first\ngood()\n"]),
        ("x; bad()\ny\n", ["x; good()\n"]),
        ("x\n@bad()\ndef f():\n    y\nz; bad()", ["@good()\ndef f():\n    y\n", "z; good()"]),
        ("x\nbad()\n", ["x\n", "good()\n"]),
        ("if x:\n    bad()\n    # end\ny\n", ["if x:\n    good()\n    # end\n"]),
    ],
)
def test_the_second_parser_reads_the_statements_that_changed(monkeypatch, code, read):
    seen = []
    monkeypatch.setattr(second_opinion, "_round_trips", lambda text: bool(seen.append(text)) or True)
    fix_source(source_of(code), [CallRule("bad", rename("good"))])
    assert seen == read


def test_a_statement_that_cannot_stand_alone_is_read_with_all_others():
    assert fix_source(source_of("x; \\\nbad()\ny"), [CallRule("bad", rename("good"))]).changed


def test_the_second_parser_is_not_asked_about_what_it_never_could_read(monkeypatch):
    monkeypatch.setattr(second_opinion, "_round_trips", lambda text: False)
    assert fix_source(source_of("bad()"), [CallRule("bad", rename("good"))]).source.text == "good()"


def test_offsets_move_with_the_edits_before_them():
    edits = (Edit(2, 4, "x"), Edit(6, 6, "abc"))
    assert [moved(offset, edits) for offset in (0, 2, 4, 6, 9)] == [0, 2, 3, 8, 11]


def test_where_a_finding_stands():
    source = source_of("if é:\n  bad()\n")
    (finding,) = fix_source(source, [CallRule("bad", keep)]).remaining
    assert source.text[offset_of(source, finding) :].startswith("bad")


NOTEBOOK = """{
 "cells": [
  {"cell_type": "markdown", "source": ["bad()"]},
  {"cell_type": "code", "source": ["%%time\\n", "bad()\\n", "é = 1"]},
  {"cell_type": "code", "source": "!ls\\nif é:\\n\\tbad(bad())"}
 ],
 "metadata": {}, "nbformat": 4, "nbformat_minor": 5
}
"""


def test_a_notebook_is_fixed_in_its_strings():
    source = read_notebook("n.ipynb", NOTEBOOK.encode())

    def whole(program: Program, call: ast.Call) -> tuple[Edit, ...]:
        arguments = ", ".join(program.code(each) for each in call.args)
        return (Edit(program.start(call), program.end(call), f"good({arguments})"),)

    fixed = fix_source(source, [CallRule("bad", whole)])
    head, tail = NOTEBOOK.split("markdown")
    assert fixed.source.raw.decode() == head + "markdown" + tail.replace("bad", "good").replace(
        'good()"]', 'bad()"]', 1
    )
    assert [(finding.cell, finding.span.row) for finding in fixed.applied] == [(2, 2), (3, 3), (3, 3)]
    assert write_back(source, fixed.edits) == fixed.source.raw


def test_a_fix_across_cells_is_left_out():
    source = read_notebook("n.ipynb", NOTEBOOK.encode())
    fixed = fix_source(source, [CallRule("bad", lambda program, call: (Edit(0, program.end(call), "good()"),))])
    assert fixed.source.raw.count(b"good") == 0
