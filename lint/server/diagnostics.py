"""Findings as diagnostics."""

from __future__ import annotations

from lsprotocol import types

from torchlint.catalogue import renderer, spoken_language
from torchlint.findings import Finding, Problem, Severity
from torchlint.server.analysis import Analysis

SOURCE = "torchlint"
_SEVERITIES = {
    Severity.ERROR: types.DiagnosticSeverity.Error,
    Severity.WARNING: types.DiagnosticSeverity.Warning,
}
_UNNECESSARY = frozenset(["TL001"])  # shown faded: the text itself is of no use


def by_document(analysis: Analysis) -> dict[str, list[types.Diagnostic]]:
    """The diagnostics of each document of the snapshot, by uri; an empty list where there is nothing to say."""
    found: dict[str, list[types.Diagnostic]] = {part.uri: [] for part in analysis.snapshot.parts}
    for finding in analysis.findings:
        part, place = analysis.snapshot.finding_range(finding)
        found[part.uri].append(diagnostic(finding, place))
    if not analysis.snapshot.notebook:
        for problem in analysis.problems:
            if not problem.message.startswith("internal error"):
                found[analysis.snapshot.uri].append(_not_checked(problem))
    return found


def diagnostic(finding: Finding, place: types.Range) -> types.Diagnostic:
    """One finding at its place."""
    render = renderer(spoken_language())
    return types.Diagnostic(
        range=place,
        message=f"{render(finding.message)}\n{render(finding.help)}",
        severity=_SEVERITIES[finding.severity],
        code=finding.code,
        source=SOURCE,
        tags=[types.DiagnosticTag.Unnecessary] if finding.code in _UNNECESSARY else None,
    )


def _not_checked(problem: Problem) -> types.Diagnostic:
    """A file that does not parse: said quietly, because every other tool says it as well while one is typing."""
    row, column = (problem.row or 1) - 1, max((problem.column or 1) - 1, 0)
    start = types.Position(row, column)
    return types.Diagnostic(
        range=types.Range(start, start),
        message=f"torchlint cannot check this file: {problem.message}",
        severity=types.DiagnosticSeverity.Information,
        source=SOURCE,
    )
