"""Commands of the extras: their arguments are handed on untouched, and they are imported only then."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from dataclasses import dataclass

import click


@dataclass(frozen=True, slots=True)
class Extra:
    """Where a command lives, and what has to be installed for it."""

    module: str
    name: str
    needs: tuple[str, ...]


RUNTIME = Extra("torchlint.runtime.__main__", "runtime", ("torch",))
SERVER = Extra("torchlint.server", "lsp", ("pygls", "lsprotocol"))


def command(name: str) -> click.Command:
    """A command that forwards everything behind its name."""
    extra = SERVER if name == "server" else RUNTIME

    @click.command(name, cls=Untouched)
    @click.pass_context
    def forward(context: click.Context) -> int:
        return run(extra, name, context.args)

    return forward


class Untouched(click.Command):
    """A command that reads nothing of its arguments, ``--help`` and ``--`` included."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Leave them all to the other side."""
        ctx.args = list(args)
        return ctx.args


def run(extra: Extra, name: str, arguments: list[str]) -> int:
    """Call ``main(arguments)`` of the extra's module. Raises ClickException when the extra is not installed."""
    missing = [needed for needed in extra.needs if needed not in sys.modules and not importlib.util.find_spec(needed)]
    if missing:
        raise click.ClickException(
            f"`torchlint {name}` needs {' and '.join(missing)}, which checking does without; "
            f"install it with: pip install 'torchlint[{extra.name}]'"
        )
    main = importlib.import_module(extra.module).main
    given = arguments if extra is SERVER else [name, *arguments]
    code = main(given)
    return code if isinstance(code, int) else 0
