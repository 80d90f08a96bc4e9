"""The documentation is run, and everything public that lists rules lists the same ones."""

from __future__ import annotations

import doctest
import importlib.util
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from torchlint.commands.check import check
from torchlint.config import _KEYS
from torchlint.rules.rule import Rule, builtin_rules
from torchlint.selection import available_rules
from torchlint.testing import DOCUMENTATION_CHECKS

ROOT = Path(__file__).parent.parent
RULES = available_rules()


@pytest.mark.parametrize("holds", DOCUMENTATION_CHECKS, ids=lambda holds: holds.__name__)
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_rule_documentation(rule: type[Rule], holds: Callable[[type[Rule]], None]) -> None:
    holds(rule)


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


def test_the_worked_example_of_a_rule_runs(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "writing-a-rule.md").read_text("utf-8")
    files = re.findall(r"<!-- file: (\S+) -->\n```\w+\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    assert len(files) == 8
    for name, code in files:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(code, "utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert re.search(r"^\d\d passed", done.stdout, re.MULTILINE), done.stdout
    checked = [
        sys.executable,
        "-m",
        "torchlint",
        "check",
        "--no-cache",
        "--output-format",
        "concise",
        "fixtures/fix.py",
    ]
    done = subprocess.run(checked, cwd=tmp_path, capture_output=True, text=True)
    assert "fixtures/fix.py:4:9: AB101 [unsafe] `random_split` draws" in done.stdout, done.stdout + done.stderr


def test_configuration_page_names_every_key_and_option() -> None:
    page = (ROOT / "docs" / "configuration.md").read_text("utf-8")
    keys = [f"`{key}`" for key in _KEYS]
    options = [f"`{option}`" for parameter in check.params for option in parameter.opts if option.startswith("--")]
    missing = [word for word in keys + options if word not in page]
    assert not missing, f"docs/configuration.md says nothing of {', '.join(missing)}"


def test_examples_of_the_python_interface_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    failed, tried = doctest.testfile(str(ROOT / "docs" / "api.md"), module_relative=False)
    assert tried > 5
    assert not failed


def test_every_rule_about_torch_has_an_experiment() -> None:
    shown = {path.name[5:10].upper() for path in (ROOT / "tests" / "experiments").glob("test_tl*.py")}
    assert shown == {rule.code for rule in builtin_rules()}
