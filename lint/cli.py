"""The commands, and nothing else: each is imported when it is asked for."""

from __future__ import annotations

import importlib
from collections.abc import Sequence

import click

from torchlint import __version__

# Name: module, and the line in ``--help``, so that help imports no command.
COMMANDS = {
    "check": ("check", "Find mistakes in PyTorch training code."),
    "fix": ("fix", "Find mistakes and fix them in place."),
    "rule": ("rule", "Show the documentation of a rule, or the table of all rules."),
    "clean": ("clean", "Remove the cache below the current folder."),
    "server": ("forward", "Run the language server (extra: lsp)."),
    "train": ("forward", "Run the reference trainer (extra: runtime)."),
    "evaluate": ("forward", "Evaluate a checkpoint of the reference trainer (extra: runtime)."),
    "export": ("forward", "Export a checkpoint for deployment (extra: runtime)."),
    "loaders": ("forward", "Measure data loader settings on this machine (extra: runtime)."),
    "checkpoints": ("forward", "Show what is inside a checkpoint without running it (extra: runtime)."),
}


class LazyGroup(click.Group):
    """A group whose commands are imported on first use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the module of a command and take the command of that name from it."""
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"torchlint.commands.{COMMANDS[cmd_name][0]}")
        command: click.Command = module.command(cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The table as it stands."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Name the nearest command when there is none of that name."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            raise click.UsageError(_no_such(args[0]), ctx)
        return super().resolve_command(ctx, args)


def _no_such(name: str, known: Sequence[str] = tuple(COMMANDS)) -> str:
    import os

    from torchlint.selection import unknown

    if os.path.exists(name):
        return f"there is no command {name!r}; to check this path, run: torchlint check {name}"
    return unknown("command", name, known)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, "-V", "--version", prog_name="torchlint", message="%(prog)s %(version)s")
def cli() -> None:
    """Find and fix the mistakes that make PyTorch training slow, wrong or unportable.

    Exit codes: 0 nothing found, 1 findings, 2 error.
    """
