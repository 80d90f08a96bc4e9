"""``torchlint check``."""

from __future__ import annotations

from typing import Any

import click

from torchlint.commands.options import Options, shared


@click.command("check")
@shared
@click.option("--fix", is_flag=True, help="Apply the fixes, as `torchlint fix` does.")
@click.option("--write-baseline", metavar="FILE", help="Write all findings to FILE, to be known from now on.")
@click.option("--add-noqa", is_flag=True, help="Silence all findings by `# noqa` comments in the files.")
@click.option("--show-files", is_flag=True, help="List the files that would be checked, and stop.")
@click.option("--show-settings", is_flag=True, help="Show the settings that count for the paths, and stop.")
@click.option("--watch", is_flag=True, help="Check again whenever a file changes (extra: watch).")
def check(paths: tuple[str, ...], **options: Any) -> int:
    """Find mistakes in PyTorch training code.

    PATHS are files and folders, the current folder if none is given; `-` reads standard input.
    """
    asked = Options(paths=paths, **options)
    if asked.watch:
        from torchlint.commands.watching import watch

        return watch(asked)
    from torchlint.commands.checking import execute

    return execute(asked)


def command(name: str) -> click.Command:
    """The command of this module."""
    return check
