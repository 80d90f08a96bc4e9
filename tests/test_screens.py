"""Screens hide nothing: a file that a rule's screen turns away has no finding when the rule is run all the same.

``TORCHLINT_TEST_FILES`` sets how many files are taken from the installed packages; ``all`` takes every one.
"""

from __future__ import annotations

import os
import random
import sysconfig
from pathlib import Path

import pytest

from torchlint.rules.rule import Rule, builtin_rules
from torchlint.semantics.program import Program, parse
from torchlint.semantics.project import Project
from torchlint.source import SourceError, read_source

FIXTURES = Path(__file__).parent.parent / "fixtures"
PACKAGES = Path(sysconfig.get_path("purelib"))
RULES = builtin_rules()


def sample() -> list[Path]:
    """The same installed files on every run: half of them mention torch, where rules have most to do."""
    wanted = os.environ.get("TORCHLINT_TEST_FILES", "120")
    files = sorted(path for path in PACKAGES.rglob("*.py") if path.stat().st_size < 80_000)
    if wanted == "all":
        return files
    random.Random(20).shuffle(files)
    near = [path for path in files if path.relative_to(PACKAGES).parts[0].startswith(("torch", "tensorboard"))]
    far = [path for path in files if path not in set(near)]
    half = int(wanted) // 2
    return [*near[:half], *far[:half]]


@pytest.fixture(scope="module")
def programs() -> list[Program]:
    """What parses of the fixtures and the sample; one program a file for all rules, as in a real run."""
    found = []
    for path in [*sorted(FIXTURES.glob("*/**/*.py")), *sample()]:
        try:
            source = read_source(str(path), path.read_bytes())
            found.append(Program(source, parse(source), Project(str(path.parent))))
        except SourceError:
            continue
    return found


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_screened_out_files_have_no_finding(rule: type[Rule], programs: list[Program]) -> None:
    turned_away = [program for program in programs if not rule.screen.search(program.source.raw)]
    assert turned_away, "the sample must hold files the screen turns away, or this shows nothing"
    for program in turned_away:
        found = list(rule().check(program))
        assert not found, f"{program.source.path}:{found[0].span.row}: hidden by the screen of {rule.code}"


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_no_rule_fails_on_installed_packages(rule: type[Rule], programs: list[Program]) -> None:
    assert len(programs) > 100, "too few files to show anything"
    for program in programs:
        try:
            found = list(rule().check(program))
        except Exception as error:
            raise AssertionError(f"{rule.code} fails on {program.source.path}") from error
        assert all(str(finding.message) and str(finding.help) for finding in found), program.source.path
