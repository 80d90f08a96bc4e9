"""The files that the command line asks for."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import click

from torchlint.commands.options import Options
from torchlint.config import Config, Configs
from torchlint.files import Discovery, Target, cannot_read, discover, read

STDIN = "-"


@dataclass(frozen=True)
class Inputs:
    """What to check; ``raw`` are the bytes of standard input when they are what is checked."""

    found: Discovery
    raw: bytes | None = None


def gather(options: Options, configs: Configs) -> Inputs:
    """Find the files, or read standard input. Raises ConfigError and ClickException."""
    paths = list(options.paths)
    if options.files_from is not None:
        paths += read_list(options.files_from)
    elif options.stdin_filename is not None and not paths:
        paths = [STDIN]
    elif not paths:
        paths = [os.curdir]
    if STDIN in paths:
        if len(paths) > 1:
            raise click.UsageError("`-` reads one file from standard input, so it cannot stand beside other paths")
        return _standard_input(options, configs)
    if options.stdin_filename is not None:
        raise click.UsageError("--stdin-filename names standard input: give `-` as the only path")
    respect = run_config(options, configs).respect_gitignore
    if options.respect_gitignore is not None:
        respect = options.respect_gitignore
    found = discover(paths, configs, options.exclude, respect_gitignore=respect, force_exclude=options.force_exclude)
    return Inputs(found)


def run_config(options: Options, configs: Configs) -> Config:
    """The configuration whose options count for the whole run: that of the first path. Raises ConfigError."""
    first = next(iter(options.paths), options.stdin_filename or os.curdir)
    if first == STDIN:
        first = options.stdin_filename or os.curdir
    return configs.of_folder(first) if os.path.isdir(first) else configs.of_file(first)


def _standard_input(options: Options, configs: Configs) -> Inputs:
    name = options.stdin_filename or STDIN
    target = Target(name, configs.of_file(name))
    return Inputs(Discovery([target], []), sys.stdin.buffer.read())


def read_list(source: str) -> Sequence[str]:
    """Paths of a list, separated by NUL if it holds one, else one a line. Raises ClickException."""
    try:
        raw = sys.stdin.buffer.read() if source == STDIN else read(source)
    except (OSError, ValueError) as error:
        raise click.ClickException(f"{source}: {cannot_read(error)}") from None
    separated = raw.split(b"\0") if b"\0" in raw else raw.splitlines()
    return [os.fsdecode(path) for path in separated if path]
