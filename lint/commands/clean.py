"""``torchlint clean``."""

from __future__ import annotations

import os
import shutil

import click

CACHE_FOLDER = ".torchlint_cache"


@click.command("clean")
@click.argument("folders", nargs=-1, type=click.Path(), metavar="[FOLDERS]...")
def clean(folders: tuple[str, ...]) -> int:
    """Remove the cache folders in and below FOLDERS, the current folder if none is given."""
    removed = 0
    for folder in folders or (os.curdir,):
        if not os.path.isdir(folder):
            raise click.ClickException(f"{folder} is not a folder")
        for parent, names, _ in os.walk(folder):
            if CACHE_FOLDER in names:
                names.remove(CACHE_FOLDER)
                path = os.path.join(parent, CACHE_FOLDER)
                if not os.path.islink(path):
                    shutil.rmtree(path, ignore_errors=True)
                    removed += 1
                    click.echo(f"Removed {os.path.normpath(path)}")
            names[:] = [name for name in names if name != ".git"]
    if not removed:
        click.echo("No cache here.")
    return 0


def command(name: str) -> click.Command:
    """The command of this module."""
    return clean
