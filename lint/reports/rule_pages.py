"""The documentation of rules: a page for each, a table of all, and the same as data."""

from __future__ import annotations

from typing import Any

from torchlint.rules.rule import Rule, documentation


def as_dict(rule: type[Rule]) -> dict[str, Any]:
    """What ``--output-format json`` says of a rule."""
    parts = documentation(rule)
    return {
        "code": rule.code,
        "name": rule.name,
        "severity": rule.severity.value,
        "default": rule.default,
        "summary": summary(rule),
        "sections": {title: body for title, body in parts.items() if title},
    }


def summary(rule: type[Rule]) -> str:
    """The first paragraph of the docstring on one line."""
    return " ".join(documentation(rule).get("", "").split())


def page(rule: type[Rule]) -> str:
    """The documentation of one rule as Markdown."""
    parts = documentation(rule)
    blocks = [f"# {rule.code} {rule.name} ({rule.severity.value})"]
    blocks.extend(f"## {title}\n{body}" if title else body for title, body in parts.items() if body)
    return "\n\n".join(blocks)


def table(rules: tuple[type[Rule], ...]) -> str:
    """One line for each rule: code, name, severity and summary."""
    width = max((len(each.name) for each in rules), default=0)
    lines = [f"{each.code}  {each.name:<{width}}  {each.severity.value:<7}  {summary(each)}" for each in rules]
    return "\n".join([*lines, "", "`torchlint rule CODE` shows a rule's documentation.", ""])
