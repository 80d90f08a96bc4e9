"""``torchlint fix``."""

from __future__ import annotations

from typing import Any

import click

from torchlint.commands.options import Options, shared


@click.command("fix")
@shared
def fix(paths: tuple[str, ...], **options: Any) -> int:
    """Find mistakes and fix them in place.

    Only safe fixes are applied, with --unsafe-fixes all of them; what is left is reported as by `torchlint check`.
    """
    from torchlint.commands.checking import execute

    return execute(Options(paths=paths, fix=True, **options))


def command(name: str) -> click.Command:
    """The command of this module."""
    return fix
