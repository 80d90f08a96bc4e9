"""The documentation of rules: a page for each, a table of all, and the same as data."""

from __future__ import annotations

import re
from typing import Any

from torchlint.catalogue import renderer, rule_page
from torchlint.findings import text
from torchlint.rules.rule import SECTIONS, Rule, documentation

_HEADING = re.compile(r"^## (.+)\n+", re.MULTILINE)


def as_dict(rule: type[Rule], language: str = "en") -> dict[str, Any]:
    """What ``--output-format json`` says of a rule; the keys of the sections are the English headings."""
    headings = sections(rule, language)
    return {
        "code": rule.code,
        "name": rule.name,
        "severity": rule.severity.value,
        "default": rule.default,
        "summary": summary(rule, language),
        "sections": {key: body for key, (_, body) in headings.items()},
    }


def summary(rule: type[Rule], language: str = "en") -> str:
    """The first paragraph of the documentation on one line."""
    translated = rule_page(rule.code, language)
    whole = documentation(rule).get("", "") if translated is None else translated.partition("\n\n")[0]
    return " ".join(whole.split())


def sections(rule: type[Rule], language: str = "en") -> dict[str, tuple[str, str]]:
    """For each English heading the heading and the text in a language; English where there is no translation."""
    translated = rule_page(rule.code, language)
    if translated is None:
        return {title: (title, body) for title, body in documentation(rule).items() if title and body}
    parts = _HEADING.split(translated)
    return {key: (parts[at], parts[at + 1].strip()) for key, at in zip(SECTIONS, range(1, len(parts), 2), strict=True)}


def page(rule: type[Rule], language: str = "en") -> str:
    """The documentation of one rule as Markdown."""
    blocks = [f"# {rule.code} {rule.name} ({rule.severity.value})"]
    if summary(rule, language):
        blocks.append(summary(rule, language))
    blocks.extend(f"## {title}\n{body}" for title, body in sections(rule, language).values())
    return "\n\n".join(blocks)


def table(rules: tuple[type[Rule], ...], language: str = "en") -> str:
    """One line for each rule: code, name, severity and summary."""
    width = max((len(each.name) for each in rules), default=0)
    lines = [
        f"{each.code}  {each.name:<{width}}  {each.severity.value:<7}  {summary(each, language)}" for each in rules
    ]
    more = renderer(language)(text("`torchlint rule CODE` shows a rule's documentation."))
    return "\n".join([*lines, "", more, ""])
