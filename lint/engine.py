"""One source in, findings out; and the loop that fixes until nothing is left to fix."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from torchlint.findings import Finding, Fix, Problem, Safety, Span, text
from torchlint.semantics.program import Program, parse
from torchlint.settings import DEFAULTS, Settings
from torchlint.source import Source, SourceError

if TYPE_CHECKING:
    from torchlint.rules.rule import Rule
    from torchlint.semantics.project import Project


_DEPTH = 5_000  # 3 MB of stack with Python 3.10, where each call takes some; later versions take none


@dataclass(frozen=True, slots=True)
class Checked:
    """What one file gave: findings in report order (suppressions not yet applied) and problems."""

    findings: tuple[Finding, ...] = ()
    problems: tuple[Problem, ...] = ()


def check(
    source: Source, rules: Iterable[Rule], project: Project | None = None, settings: Settings = DEFAULTS
) -> Checked:
    """Run the rules over one source. Never raises for what the source contains."""
    raw = source.text.encode("utf-8", "surrogatepass") if source.cells else source.raw  # JSON spells code differently
    wanted = [rule for rule in rules if rule.screen.search(raw)]
    if not wanted:
        return Checked()
    try:
        known = project.known(source, settings) if project is not None else None
        program = known if known is not None else Program(source, parse(source), project, settings)
    except SourceError as error:
        return Checked(problems=(Problem(source.path, error.message, error.row, error.column),))
    findings: list[Finding] = []
    problems: list[Problem] = []
    for rule in wanted:
        try:
            with _deep():
                findings.extend(rule.check(program))
        except Exception as error:
            what = (
                "the code is nested too deeply"
                if isinstance(error, RecursionError)
                else f"{type(error).__name__}: {error}"
            )
            problems.append(Problem(source.path, f"internal error in {rule.code} {rule.name}: {what}"))
    if program.source.path != source.path:
        findings = [replace(finding, path=source.path) for finding in findings]
    placed = [in_cell(source, finding) for finding in findings]
    return Checked(tuple(sorted(placed, key=lambda finding: finding.sort_key)), tuple(problems))


@contextmanager
def _deep() -> Iterator[None]:
    """Room for long chains and deep branches, of which every link is a call of Python here.

    Only on the main thread, whose stack is large enough on every system; above it such a file is one clear error.
    """
    before = sys.getrecursionlimit()
    if before >= _DEPTH or threading.current_thread() is not threading.main_thread():
        yield
        return
    sys.setrecursionlimit(_DEPTH)
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def in_cell(source: Source, finding: Finding) -> Finding:
    """Rows of a notebook's findings count inside their cell; a fix that cannot be written back there is withheld."""
    cell = source.cell_at(finding.span.row) if source.cells else None
    if cell is None:
        return finding
    shift = cell.first_row - 1
    span = finding.span
    return replace(
        finding,
        cell=cell.number,
        fix=finding.fix if finding.fix is None or source.accepts(finding.fix.edits) else _withheld(finding.fix),
        span=Span(span.row - shift, span.column, span.end_row - shift, span.end_column),
    )


def _withheld(fix: Fix) -> Fix:
    reason = text("the change would touch a magic line or more than one cell, so make it by hand")
    return Fix(fix.title, Safety.MANUAL, reason=reason)
