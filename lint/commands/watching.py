"""``--watch``: check again whenever a file changes."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from importlib.util import find_spec

import click

from torchlint.catalogue import renderer
from torchlint.commands.checking import execute
from torchlint.commands.options import Options
from torchlint.config import FILE_NAMES
from torchlint.files import EXCLUDED, SUFFIXES
from torchlint.findings import text


def watch(options: Options) -> int:
    """Check, wait for changes, check again, until interrupted. Raises ClickException without the extra."""
    if not find_spec("watchfiles"):
        raise click.ClickException("--watch needs watchfiles; install it with: pip install 'torchlint[watch]'")
    if "-" in options.paths:
        raise click.UsageError("--watch needs files or folders, not standard input")
    import watchfiles

    class Relevant(watchfiles.DefaultFilter):  # type: ignore[misc, unused-ignore]
        ignore_dirs = tuple(EXCLUDED)

        def __call__(self, change: watchfiles.Change, path: str) -> bool:
            named = path.endswith(SUFFIXES) or os.path.basename(path) in FILE_NAMES
            return named and bool(super().__call__(change, path))

    once = replace(options, watch=False)
    paths = options.paths or (os.curdir,)
    _again(once)
    for _ in watchfiles.watch(*paths, watch_filter=Relevant(), raise_interrupt=True):
        _again(once)
    return 0


def _again(options: Options) -> None:
    if sys.stdout.isatty():
        click.clear()
    try:
        execute(options)
    except click.ClickException as error:
        error.show()
    sys.stdout.flush()
    click.echo(renderer(options.lang)(text("Watching for changes (Ctrl-C stops)")), err=True)
