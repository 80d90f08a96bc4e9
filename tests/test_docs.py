"""The documentation is run, and everything public that lists rules lists the same ones."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from torchlint.rules.rule import Rule
from torchlint.selection import available_rules
from torchlint.testing import DOCUMENTATION_CHECKS

ROOT = Path(__file__).parent.parent
RULES = available_rules()


@pytest.mark.parametrize("check", DOCUMENTATION_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_rule_documentation(rule: type[Rule], check: Callable[[type[Rule]], None]) -> None:
    check(rule)


@pytest.fixture(scope="module")
def generate() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate_docs", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_generated_pages_are_up_to_date(generate: ModuleType) -> None:
    stale = [path for path, text in generate.pages().items() if not path.exists() or path.read_text("utf-8") != text]
    assert not stale, f"run `python docs/generate.py`: {[str(path.relative_to(ROOT)) for path in stale]} differ"


def test_registry_fixtures_readme_and_pages_hold_the_same_codes() -> None:
    codes = {rule.code for rule in RULES}
    readme = (ROOT / "README.md").read_text("utf-8")
    assert {path.name for path in (ROOT / "fixtures").glob("TL*")} == codes
    assert {path.stem for path in (ROOT / "docs" / "rules").glob("TL*.md")} == codes
    assert set(re.findall(r"^\| \[(TL\d+)\]", readme, re.MULTILINE)) == codes


@pytest.mark.parametrize(
    "page", sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]), ids=lambda page: page.name
)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if not re.match(r"https?:|mailto:|#", target):
            assert (page.parent / target.partition("#")[0]).exists(), (
                f"{page.name} links to {target}, which is not there"
            )
