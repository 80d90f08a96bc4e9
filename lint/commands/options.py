"""The options that ``check`` and ``fix`` share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Options:
    """What the command line asks for; None where it leaves the choice to the configuration."""

    paths: tuple[str, ...] = ()
    select: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    force_exclude: bool = False
    config: str | None = None
    isolated: bool = False
    respect_gitignore: bool | None = None
    files_from: str | None = None
    stdin_filename: str | None = None
    output_format: str | None = None
    output_file: str | None = None
    statistics: bool | None = None
    quiet: bool = False
    exit_zero: bool = False
    jobs: int | None = None
    cluster: str | None = None
    no_cache: bool = False
    fix: bool = False
    unsafe_fixes: bool | None = None
    diff: bool = False
    baseline: str | None = None
    lang: str = "en"
    write_baseline: str | None = None
    add_noqa: bool = False
    show_files: bool = False
    show_settings: bool = False
    watch: bool = False


def _words(ctx: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    """Options that may be repeated and take comma-separated lists."""
    return tuple(word.strip() for value in values for word in value.split(",") if word.strip())


def _list(*names: str, help: str, metavar: str = "CODES") -> Callable[[F], F]:
    return click.option(*names, multiple=True, callback=_words, metavar=metavar, help=help)


def _flag(*names: str, help: str) -> Callable[[F], F]:
    return click.option(*names, is_flag=True, default=False, help=help)


def _path(*names: str, help: str, metavar: str = "FILE") -> Callable[[F], F]:
    return click.option(*names, metavar=metavar, help=help)


def lang(function: F) -> F:
    """Add ``--lang``; without it TORCHLINT_LANG and then the locale choose."""
    return click.option(
        "--lang", metavar="LANGUAGE", callback=_language, help="Speak `en` or `zh`; else the locale decides."
    )(function)


def _language(ctx: click.Context, parameter: click.Parameter, value: str | None) -> str:
    from torchlint.catalogue import LanguageError, language

    try:
        return language(value)
    except LanguageError as error:
        raise click.ClickException(str(error)) from None


def shared(function: F) -> F:
    """Add the arguments and options that ``check`` and ``fix`` have in common."""
    decorators: list[Callable[[F], F]] = [
        click.argument("paths", nargs=-1, type=click.Path(), metavar="[PATHS]..."),
        _list("--select", help="Check these rules only: codes, prefixes (TL1), names or ALL."),
        _list("--ignore", help="Leave these rules out."),
        _list("--extend-select", help="Check these rules as well."),
        _list(
            "--exclude", help="Leave out files and folders that match, written as in .gitignore.", metavar="PATTERNS"
        ),
        _flag("--force-exclude", help="Leave excluded files out even when they are named, as pre-commit names all."),
        _path("--config", help="Read this configuration file instead of the nearest one."),
        _flag("--isolated", help="Read no configuration file."),
        click.option(
            "--respect-gitignore/--no-respect-gitignore",
            default=None,
            help="Leave out what .gitignore names (default).",
        ),
        _path("--files-from", help="Read paths from FILE, `-` for standard input; one a line, or NUL-separated."),
        _path("--stdin-filename", help="The name of the file that PATHS `-` reads from standard input."),
        click.option(
            "--output-format",
            metavar="FORMAT",
            help="full, concise, json, jsonl, sarif, github, gitlab, junit or rdjson.",
        ),
        _path("-o", "--output-file", help="Write the report to FILE."),
        click.option("--statistics/--no-statistics", default=None, help="Show how often each rule reports."),
        _flag("-q", "--quiet", help="Show findings and errors only."),
        _flag("--exit-zero", help="Exit 0 even when there are findings."),
        click.option("-j", "--jobs", type=click.IntRange(min=1), metavar="N", help="Worker processes at most."),
        _path("--cluster", help="Check on the dask cluster whose scheduler is at ADDRESS.", metavar="ADDRESS"),
        _flag("-n", "--no-cache", help="Neither read nor write the cache."),
        click.option(
            "--unsafe-fixes/--no-unsafe-fixes", default=None, help="Apply fixes that may change behaviour too."
        ),
        _flag("--diff", help="Show what the fixes would change, and change nothing."),
        _path("--baseline", help="Report only findings that FILE does not know."),
        lang,
    ]
    for decorator in reversed(decorators):
        function = decorator(function)
    return function
