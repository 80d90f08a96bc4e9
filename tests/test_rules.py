"""Every fixture of every rule goes through every check of the harness.

A new rule needs its module and its fixtures folder, no more.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from torchlint.rules.rule import Rule
from torchlint.selection import available_rules
from torchlint.source import Source
from torchlint.suppressions import comments
from torchlint.testing import CHECKS, Case, Check, expectations, fixability_is_declared, fixture_cases

FIXTURES = Path(__file__).parent.parent / "fixtures"
RULES = available_rules()
CASES = {rule: fixture_cases(FIXTURES / rule.code, rule) if (FIXTURES / rule.code).exists() else [] for rule in RULES}
ALL = [case for cases in CASES.values() for case in cases]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("case", ALL, ids=str)
def test_fixture(case: Case, check: Check) -> None:
    check(case)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_each_rule_has_flagged_clean_and_fixed_fixtures(rule: type[Rule]) -> None:
    assert CASES[rule], f"{rule.code} has no folder below fixtures"
    names = {case.path.name for case in CASES[rule]}
    assert any(expectations(case.source) for case in CASES[rule]), f"{rule.code} has no flagged fixture"
    assert "clean.py" in names, f"{rule.code} has no clean.py"
    assert any(case.golden.exists() for case in CASES[rule]), f"{rule.code} has no golden fix"


@pytest.mark.parametrize("case", [case for case in ALL if case.path.stem.startswith("clean")], ids=str)
def test_clean_fixtures_expect_nothing_of_their_rule(case: Case) -> None:
    assert not [each for each in expectations(case.source) if each.code == case.rule.code]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_look_alikes_are_as_many_as_flagged_blocks(rule: type[Rule]) -> None:
    flagged = clean = 0
    for case in CASES[rule]:
        source = case.source
        expected = {each.row for each in expectations(source) if each.code == rule.code}
        told = {comment.row for comment in comments(source)}
        for block in _blocks(source):
            if not expected.isdisjoint(block):
                flagged += 1
            elif not told.isdisjoint(block) or '"""' in "".join(map(source.line, block)):
                clean += 1  # code that is not flagged, with the reason beside it
    assert clean >= flagged, f"{rule.code}: {clean} look-alikes with a reason, {flagged} flagged blocks"


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_fix_safety_section_tells_what_the_fixtures_show(rule: type[Rule]) -> None:
    assert CASES[rule], f"{rule.code} has no folder below fixtures"
    fixability_is_declared(CASES[rule])


def test_no_fixture_folder_is_left_without_its_rule() -> None:
    codes = {path.name for path in FIXTURES.glob("TL*")}
    assert codes == {rule.code for rule in RULES}


def test_no_golden_copy_is_left_without_its_fixture() -> None:
    originals = {case.golden for case in ALL}
    assert set(FIXTURES.glob("TL*/**/*.fixed.*")) <= originals


def _blocks(source: Source) -> Iterator[range]:
    """Rows of each top-level function and class, and of the runs of statements between them, comments included."""
    end = 0
    run: list[ast.stmt] = []
    for statement in ast.parse(source.text).body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            if run:
                yield range(end + 1, (run[-1].end_lineno or 0) + 1)
                end = run[-1].end_lineno or 0
            yield range(end + 1, (statement.end_lineno or 0) + 1)
            end, run = statement.end_lineno or 0, []
        elif not isinstance(statement, ast.Import | ast.ImportFrom):
            run.append(statement)
        else:
            end = statement.end_lineno or 0
    if run:
        yield range(end + 1, (run[-1].end_lineno or 0) + 1)
