"""Broken copies of the reference trainer, one for each rule: the tool's fixes give what the trainer does by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchlint.fixing import fix_source
from torchlint.rules.rule import builtin_rules
from torchlint.semantics.project import Project
from torchlint.source import read_source
from torchlint.testing import CHECKS, Case, Check, expectations_met

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "fixtures" / "runtime"
RULES = builtin_rules()


def case(path: Path) -> Case:
    """A copy is named after its rule, and is a project of its own."""
    [rule] = [rule for rule in RULES if path.name.startswith(f"{rule.code.lower()}_")]
    return Case(path, rule, RULES, FOLDER, FOLDER)


CASES = [case(path) for path in sorted(FOLDER.glob("tl*.py")) if not path.stem.endswith(".fixed")]


def test_there_is_a_copy_for_each_of_the_first_five_rules() -> None:
    assert {case.rule.code for case in CASES} >= {"TL101", "TL201", "TL301", "TL401", "TL501"}


@pytest.mark.parametrize(
    "check", [check for check in CHECKS if check is not expectations_met], ids=lambda c: c.__name__
)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.path.stem)
def test_copy(case: Case, check: Check) -> None:
    check(case)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.path.stem)
def test_only_its_own_rule_reports_and_the_golden_copy_is_clean(case: Case) -> None:
    assert {finding.code for finding in case.findings(case.source)} == {case.rule.code}
    assert case.golden.exists()
    golden = read_source(str(case.golden), case.golden.read_bytes())
    assert not case.findings(golden)


def break_and_mend(module: str, hand_made: str, broken: str, code: str) -> str:
    """The trainer's own module, broken in place and fixed by one rule."""
    path = ROOT / "runtime" / module
    text = path.read_text("utf-8")
    assert hand_made in text, f"{module} has changed: it says {hand_made!r} no more"
    source = read_source(str(path), text.replace(hand_made, broken).encode())
    rules = [rule() for rule in RULES if rule.code == code]
    return fix_source(source, rules, Project(str(ROOT)), unsafe=True).source.text


def test_the_checkpoint_reader_is_mapped_again() -> None:
    hand_made = 'torch.load(file, map_location="cpu", weights_only=True)'
    mended = break_and_mend("export.py", hand_made, "torch.load(file, weights_only=True)", "TL501")
    assert 'torch.load(file, weights_only=True, map_location="cpu")' in mended
