"""``torchlint rule``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from torchlint.rules.rule import Rule


@click.command("rule")
@click.argument("code", required=False)
@click.option("--output-format", type=click.Choice(["text", "json"]), default="text", show_default=True)
def rule(code: str | None, output_format: str) -> int:
    """Show the documentation of the rule CODE (a code, name or prefix), or the table of all rules."""
    from torchlint.selection import SelectionError, available_rules, codes_of

    rules = available_rules()
    if code is not None:
        try:
            wanted = codes_of(code, rules)
        except SelectionError as error:
            raise click.ClickException(str(error)) from None
        rules = tuple(each for each in rules if each.code in wanted)
    if output_format == "json":
        data = [as_dict(each) for each in rules]
        single = code is not None and len(data) == 1
        click.echo(json.dumps(data[0] if single else data, indent=2, ensure_ascii=False))
    elif code is None:
        click.echo(table(rules), nl=False)
    else:
        click.echo("\n\n".join(page(each) for each in rules))
    return 0


def as_dict(rule: type[Rule]) -> dict[str, Any]:
    """What ``--output-format json`` says of a rule."""
    from torchlint.rules.rule import documentation

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
    from torchlint.rules.rule import documentation

    return " ".join(documentation(rule).get("", "").split())


def page(rule: type[Rule]) -> str:
    """The documentation of one rule as Markdown."""
    from torchlint.rules.rule import documentation

    parts = documentation(rule)
    blocks = [f"# {rule.code} {rule.name} ({rule.severity.value})"]
    blocks.extend(f"## {title}\n{body}" if title else body for title, body in parts.items() if body)
    return "\n\n".join(blocks)


def table(rules: tuple[type[Rule], ...]) -> str:
    """One line for each rule: code, name, severity and summary."""
    width = max((len(each.name) for each in rules), default=0)
    lines = [f"{each.code}  {each.name:<{width}}  {each.severity.value:<7}  {summary(each)}" for each in rules]
    return "\n".join([*lines, "", "`torchlint rule CODE` shows a rule's documentation.", ""])


def command(name: str) -> click.Command:
    """The command of this module."""
    return rule
