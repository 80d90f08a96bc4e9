"""A rule's page leads to the place in the reference trainer where its advice is followed, in both languages."""

from __future__ import annotations

import ast
import importlib
import re
from functools import reduce
from pathlib import Path
from typing import Any

import pytest

from torchlint.inspection import inspect
from torchlint.rules.rule import Rule, documentation
from torchlint.selection import available_rules
from torchlint.source import read_source

ROOT = Path(__file__).parent.parent
RULES = {rule.code: rule for rule in available_rules()}
WITHOUT = {
    "TL001": "is about comments, not about training",
    "TL404": "no network of the trainer makes a tensor in its forward pass",
}
_NAME = re.compile(r"`torchlint\.runtime\.(\w+)\.([\w.]+)`")
LINKED = {code: _NAME.findall(documentation(rule)["References"]) for code, rule in RULES.items()}
TARGETS = sorted({target for targets in LINKED.values() for target in targets})


def test_every_rule_leads_to_the_trainer_unless_the_trainer_has_no_cure_to_show() -> None:
    assert {code for code, targets in LINKED.items() if not targets} == set(WITHOUT)


@pytest.mark.parametrize(("module", "name"), TARGETS, ids=[f"{module}.{name}" for module, name in TARGETS])
def test_the_name_is_defined_in_that_file(module: str, name: str) -> None:
    tree = ast.parse((ROOT / "runtime" / f"{module}.py").read_bytes())
    names = {node.name for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    assert name.partition(".")[0] in names
    found: Any = reduce(getattr, name.split("."), importlib.import_module(f"torchlint.runtime.{module}"))
    assert callable(found)


@pytest.mark.parametrize("rule", [RULES[code] for code in LINKED if LINKED[code]], ids=lambda rule: rule.code)
def test_the_file_follows_the_rule(rule: type[Rule]) -> None:
    for module, _ in LINKED[rule.code]:
        path = ROOT / "runtime" / f"{module}.py"
        assert not inspect(read_source(str(path), path.read_bytes()), [rule()]).findings


@pytest.mark.parametrize("folder", ["docs/rules", "docs/rules/zh"])
@pytest.mark.parametrize("code", [code for code in LINKED if LINKED[code]])
def test_both_pages_link_to_the_file(code: str, folder: str) -> None:
    page = ROOT / folder / f"{code}.md"
    linked = re.findall(r"\[`torchlint\.runtime\.(\w+)\.([\w.]+)`\]\(([^)]+)\)", page.read_text("utf-8"))
    assert [(module, name) for module, name, _ in linked] == LINKED[code]
    for module, _, target in linked:
        assert (page.parent / target).resolve() == ROOT / "runtime" / f"{module}.py"
