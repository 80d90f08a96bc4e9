"""Files as they are: line ends, encodings, byte order marks, tabs. Findings stand where they should, bytes stay."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchlint.fixing import fix_source
from torchlint.rules.tl501_unmapped_load import UnmappedLoad
from torchlint.semantics.project import Project
from torchlint.testing import CHECKS, Case, Check, fixture_cases, golden_fix

FILES = Path(__file__).parent.parent / "fixtures" / "files"
CASES = fixture_cases(FILES, UnmappedLoad)


@pytest.mark.parametrize(
    "check", [check for check in CHECKS if check is not golden_fix], ids=lambda check: check.__name__
)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.path.stem)
def test_file(case: Case, check: Check) -> None:
    check(case)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.path.stem)
def test_all_fixes_together_give_the_golden_bytes(case: Case) -> None:
    rules = [rule() for rule in case.rules if rule.default]
    result = fix_source(case.source, rules, Project(str(case.root)), unsafe=True)
    if case.golden.exists():
        assert result.source.raw == case.golden.read_bytes()
    else:
        assert result.source.raw == case.path.read_bytes()


@pytest.mark.parametrize(
    ("name", "mark"),
    [
        ("crlf", b"\r\n"),
        ("cr_alone", b"\r"),
        ("bom", b"\xef\xbb\xbf"),
        ("latin1_cookie", b"gr\xf6\xdfer"),
        ("tabs", b"\n\tmodel"),
        ("form_feed", b"\f"),
    ],
)
def test_fixtures_were_not_normalised_on_the_way(name: str, mark: bytes) -> None:
    assert mark in (FILES / f"{name}.py").read_bytes()
