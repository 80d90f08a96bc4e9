"""Every file below some folders, however odd: torchlint answers, and what it would fix holds."""

from __future__ import annotations

import ast
import gc
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import click

from torchlint.files import SUFFIXES, cannot_read, read
from torchlint.findings import Finding, Problem
from torchlint.fixing import Fixed, fix_source
from torchlint.rules.rule import Rule, builtin_rules
from torchlint.source import Source, SourceError, apply_edits
from torchlint.tasks import open_source, project_of

_KEPT_BYTES = 500_000
_COLLECT_EVERY = 50  # files: trees hold circles, and collecting while they are built doubles the time


@dataclass
class Tally:
    """Counts of one sweep."""

    files: Counter[str] = field(default_factory=Counter)  # by suffix
    codes: Counter[str] = field(default_factory=Counter)
    applied: Counter[str] = field(default_factory=Counter)
    unreadable: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    times: list[tuple[float, str]] = field(default_factory=list)
    changed: int = 0


def broken(before: Source, result: Fixed) -> Iterator[str]:
    """What is wrong with a fixed source; nothing if all promises hold."""
    after = result.source
    if after.text != apply_edits(before.text, result.edits):
        yield "other text changed than the edits say"
    if not before.cells and after.raw != before.encode(after.text):
        yield "other bytes changed than the edits say"
    if (after.encoding, after.bom) != (before.encoding, before.bom):
        yield "the encoding changed"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(after.text)
    except (SyntaxError, ValueError, RecursionError) as error:
        yield f"it no longer parses: {error}"


def sweep_file(path: str, rules: Sequence[Rule], tally: Tally) -> None:
    """Check one file, fix it in memory, and look at the result."""
    started = time.process_time()
    try:
        source = open_source(path, read(path))
    except (OSError, ValueError) as error:
        tally.unreadable.append(f"{path}: {cannot_read(error)}")
        return
    except SourceError as error:
        tally.unreadable.append(str(Problem(path, error.message, error.row, error.column)))
        return
    project = project_of(path)
    result = fix_source(source, rules, project, unsafe=True)
    tally.times.append((time.process_time() - started, path))
    for problem in result.problems:
        listed = tally.failures if "internal error" in problem.message else tally.unreadable
        listed.append(str(problem))
    tally.codes.update(_codes([*result.applied, *result.remaining]))
    if result.changed:
        tally.changed += 1
        tally.applied.update(_codes(result.applied))
        tally.failures += [f"{path}: {what}" for what in broken(source, result)]
        again = fix_source(result.source, rules, project, unsafe=True)
        if again.changed:
            told = ", ".join(f"{finding.code} in row {finding.span.row}" for finding in again.applied)
            tally.failures.append(f"{path}: a second run fixes {told}")
    project.trim(_KEPT_BYTES)


def _codes(findings: Sequence[Finding]) -> list[str]:
    return [finding.code for finding in findings]


@click.command()
@click.argument("folders", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
def sweep(folders: tuple[Path, ...]) -> None:
    """Check and fix, in memory and with all rules, every file below FOLDERS; exits 1 when a promise does not hold."""
    rules = [rule() for rule in builtin_rules()]
    tally = Tally()
    started = time.monotonic()
    gc.disable()
    found = (path for folder in folders for path in folder.rglob("*") if path.suffix in SUFFIXES and path.is_file())
    for number, path in enumerate(sorted(map(str, found))):
        if number % _COLLECT_EVERY == 0:
            gc.collect()
        tally.files[Path(path).suffix] += 1
        try:
            sweep_file(path, rules, tally)
        except Exception as error:
            traceback.print_exc()
            tally.failures.append(f"{path}: it raised {type(error).__name__}: {error}")
    for line in (*tally.unreadable, *tally.failures):
        click.echo(line, err=True)
    counts = ", ".join(f"{number} {suffix}" for suffix, number in sorted(tally.files.items()))
    click.echo(
        f"{counts} in {time.monotonic() - started:.0f} s: {len(tally.unreadable)} unreadable, {len(tally.failures)} "
        f"failures, {sum(tally.codes.values())} findings, {sum(tally.applied.values())} fixed in {tally.changed} files"
    )
    click.echo(f"findings {dict(sorted(tally.codes.items()))}\nfixed {dict(sorted(tally.applied.items()))}")
    for seconds, path in sorted(tally.times, reverse=True)[:5]:
        click.echo(f"{seconds:.2f} s {path}")
    raise SystemExit(1 if tally.failures else 0)
