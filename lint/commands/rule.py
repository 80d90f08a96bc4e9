"""``torchlint rule``."""

from __future__ import annotations

import json
import os

import click

from torchlint.commands.options import lang


@click.command("rule")
@click.argument("code", required=False)
@click.option("--output-format", type=click.Choice(["text", "json"]), default="text", show_default=True)
@lang
def rule(code: str | None, output_format: str, lang: str) -> int:
    """Show the documentation of the rule CODE (a code, name or prefix), or the table of all rules."""
    from torchlint.config import ConfigError, Configs
    from torchlint.reports.rule_pages import as_dict, page, table
    from torchlint.selection import SelectionError, available_rules, codes_of

    rules = available_rules()
    try:
        rules = tuple(Configs(rules).of_folder(os.curdir).known_rules(rules))
    except ConfigError as error:
        raise click.ClickException(str(error)) from None
    if code is not None:
        try:
            wanted = codes_of(code, rules)
        except SelectionError as error:
            raise click.ClickException(str(error)) from None
        rules = tuple(each for each in rules if each.code in wanted)
    if output_format == "json":
        data = [as_dict(each, lang) for each in rules]
        single = code is not None and len(data) == 1
        click.echo(json.dumps(data[0] if single else data, indent=2, ensure_ascii=False))
    elif code is None:
        click.echo(table(rules, lang), nl=False)
    else:
        click.echo("\n\n".join(page(each, lang) for each in rules))
    return 0


def command(name: str) -> click.Command:
    """The command of this module."""
    return rule
