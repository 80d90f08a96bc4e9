"""Screens hide nothing: a file that a rule's screen turns away has no finding when the rule is run all the same.

``TORCHLINT_TEST_FILES`` sets how many files are taken from the installed packages; ``all`` takes every one.
"""

from __future__ import annotations

import os
import random
import sysconfig
from pathlib import Path

import pytest

from torchlint.engine import check
from torchlint.rules.rule import Rule, builtin_rules
from torchlint.semantics.program import Program, parse
from torchlint.semantics.project import Project
from torchlint.source import Source, SourceError, read_source

FIXTURES = Path(__file__).parent.parent / "fixtures"
PACKAGES = Path(sysconfig.get_path("purelib"))
RULES = builtin_rules()


def sample() -> list[Path]:
    """The same installed files on every run: half of them mention torch, where rules have most to do."""
    wanted = os.environ.get("TORCHLINT_TEST_FILES", "240")
    files = sorted(path for path in PACKAGES.rglob("*.py") if path.stat().st_size < 200_000)
    if wanted == "all":
        return files
    random.Random(20).shuffle(files)
    near = [path for path in files if path.relative_to(PACKAGES).parts[0].startswith(("torch", "tensorboard"))]
    far = [path for path in files if path not in set(near)]
    half = int(wanted) // 2
    return [*near[:half], *far[:half]]


@pytest.fixture(scope="module")
def sources() -> list[Source]:
    found = []
    for path in [*sorted(FIXTURES.glob("*/**/*.py")), *sample()]:
        try:
            source = read_source(str(path), path.read_bytes())
            parse(source)
        except SourceError:
            continue
        found.append(source)
    return found


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_screened_out_files_have_no_finding(rule: type[Rule], sources: list[Source]) -> None:
    turned_away = [source for source in sources if not rule.screen.search(source.raw)]
    assert turned_away, "the sample must hold files the screen turns away, or this shows nothing"
    for source in turned_away:
        found = list(rule().check(Program(source, parse(source), Project(os.path.dirname(source.path)))))
        assert not found, f"{source.path}:{found[0].span.row}: hidden by the screen of {rule.code}"


def test_no_rule_fails_on_installed_packages(sources: list[Source]) -> None:
    rules = [rule() for rule in RULES]
    assert len(sources) > 200, "too few files to show anything"
    for source in sources:
        checked = check(source, rules, Project(os.path.dirname(source.path)))
        assert not checked.problems, [str(problem) for problem in checked.problems]
        for finding in checked.findings:
            assert str(finding.message), source.path
