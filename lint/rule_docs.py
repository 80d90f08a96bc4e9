"""A rule's docstring is its documentation: complete, and true when it is run."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from torchlint.findings import Finding, Safety
from torchlint.inspection import inspect
from torchlint.rules.rule import SECTIONS, Rule, documentation
from torchlint.selection import available_rules
from torchlint.source import read_source

if TYPE_CHECKING:
    from collections.abc import Iterable

_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_SAFETY_WORDS = {
    Safety.SAFE: r"\bsafe\b",
    Safety.UNSAFE: r"\bunsafe\b",
    Safety.MANUAL: r"\bmanual\b|\bby hand\b|\bwithheld\b|\bno fix\b",
}


def python_blocks(section: str) -> list[str]:
    """The code of the fenced Python blocks in a piece of Markdown."""
    return [match[1] for match in _BLOCK.finditer(section + "\n")]


def declared_safeties(rule: type[Rule]) -> set[Safety]:
    """What the *Fix safety* section speaks of: "safe", "unsafe", and "manual", "by hand", "withheld" or "no fix"."""
    section = documentation(rule).get("Fix safety", "").lower()
    return {safety for safety, words in _SAFETY_WORDS.items() if re.search(words, section)}


def sections_complete(rule: type[Rule]) -> None:
    """The docstring has a one-line summary and all sections, each with text, in their order; the name is kebab-case."""
    parts = documentation(rule)
    titles = [title for title in parts if title]
    assert titles == list(SECTIONS), f"{rule.code}: sections are {titles}, not {list(SECTIONS)}"
    empty = [title or "summary" for title, body in parts.items() if not body.strip()]
    assert not empty, f"{rule.code}: nothing under {', '.join(empty)}"
    assert "\n" not in parts[""].strip(), f"{rule.code}: the summary is one line"
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", rule.name), f"{rule.code}: {rule.name!r} is not kebab-case"
    assert declared_safeties(rule), f"{rule.code}: *Fix safety* says neither safe, unsafe nor manual"


def example_is_flagged(rule: type[Rule]) -> None:
    """Each block under *Example* gives a finding of the rule."""
    blocks = python_blocks(documentation(rule)["Example"])
    assert blocks, f"{rule.code}: no Python block under *Example*"
    for block in blocks:
        assert any(found.code == rule.code for found in _findings(rule, block)), f"{rule.code}: not flagged:\n{block}"


def replacement_is_clean(rule: type[Rule]) -> None:
    """No block under *Use instead* gives a finding of any rule that runs by default."""
    blocks = python_blocks(documentation(rule)["Use instead"])
    assert blocks, f"{rule.code}: no Python block under *Use instead*"
    for block in blocks:
        wrong = [f"row {found.span.row}: {found.code} {found.message}" for found in _findings(rule, block)]
        assert not wrong, f"{rule.code}: {', '.join(wrong)} in\n{block}"


DOCUMENTATION_CHECKS: tuple[Callable[[type[Rule]], None], ...] = (
    sections_complete,
    example_is_flagged,
    replacement_is_clean,
)


def _findings(rule: type[Rule], block: str) -> Iterable[Finding]:
    others = [each for each in available_rules() if each.default and each is not rule]
    result = inspect(read_source("example.py", block.encode()), [each() for each in (rule, *others)])
    assert not result.problems, f"{rule.code}: {'; '.join(map(str, result.problems))} in\n{block}"
    return result.findings
