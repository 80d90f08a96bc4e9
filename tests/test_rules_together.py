"""Rules do not fight: no fix of one makes a finding of another, and one defect has one finding."""

from __future__ import annotations

import functools
from collections import Counter
from pathlib import Path

import pytest

from torchlint.findings import Finding
from torchlint.fixing import fix_source
from torchlint.selection import available_rules
from torchlint.semantics.project import Project
from torchlint.source import Source
from torchlint.testing import Case, fixture_cases

FIXTURES = Path(__file__).parent.parent / "fixtures"
RULES = available_rules()
CASES = [
    case for rule in RULES if (FIXTURES / rule.code).exists() for case in fixture_cases(FIXTURES / rule.code, rule)
]
# Rules that speak of one defect from two sides: at one place only one of them may report.
ONE_DEFECT = [("TL101", "TL103"), ("TL102", "TL402"), ("TL103", "TL105"), ("TL503", "TL507"), ("TL301", "TL302")]


@functools.cache
def _findings(case: Case) -> tuple[Finding, ...]:
    return tuple(case.findings(case.source))


def _codes(findings: tuple[Finding, ...] | list[Finding]) -> Counter[str]:
    return Counter(finding.code for finding in findings)


def test_the_fixtures_show_fixes_of_many_rules() -> None:
    fixed = {each.code for case in CASES for each in _findings(case) if each.fix is not None and each.fix.applicable}
    assert len(fixed) >= 15, sorted(fixed)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_all_fixes_of_one_rule_make_no_finding_of_another(case: Case) -> None:
    before = _findings(case)
    for code in sorted({each.code for each in before if each.fix is not None and each.fix.applicable}):
        rules = [rule() for rule in case.rules]
        project = Project(str(case.root))
        result = fix_source(
            case.source, rules, project, unsafe=True, select=lambda found, code=code: found.code == code
        )
        assert not result.problems, [str(problem) for problem in result.problems]
        gained = _codes(_after(case, result.source)) - _codes(before)
        assert not gained, f"{case}: the fixes of {code} add {dict(gained)}"


def _after(case: Case, source: Source) -> list[Finding]:
    return list(case.findings(source))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_one_defect_has_one_finding(case: Case) -> None:
    at: dict[tuple[int | None, int, int], set[str]] = {}
    for each in _findings(case):
        at.setdefault((each.cell, each.span.row, each.span.column), set()).add(each.code)
    for place, codes in at.items():
        both = [pair for pair in ONE_DEFECT if codes.issuperset(pair)]
        assert not both, f"{case}: {both} at {place}"
