"""Reviewdog's diagnostic format; its columns count UTF-8 bytes.

https://github.com/reviewdog/reviewdog/tree/master/proto/rdf
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from torchlint.findings import Finding, Severity, Span
from torchlint.reports.view import Report, View, edit_span, joined_row, printable
from torchlint.source import Source


def show(report: Report) -> Iterator[str]:
    """The document."""
    yield (
        json.dumps(
            {
                "source": {"name": "torchlint"},
                "severity": "WARNING",
                "diagnostics": [_diagnostic(finding, report.view) for finding in report.findings],
            },
            indent=2,
        )
        + "\n"
    )


def _diagnostic(finding: Finding, view: View) -> dict[str, Any]:
    source = view.sources(finding.path)
    shift = 0 if source is None else joined_row(finding, source) - finding.span.row
    found: dict[str, Any] = {
        "message": f"{view.render(finding.message)} ({view.render(finding.help)})",
        "location": {"path": printable(finding.path), "range": _range(finding.span, source, shift)},
        "severity": finding.severity.value.upper() if finding.severity is not Severity.WARNING else "WARNING",
        "code": {"value": finding.code},
    }
    if finding.cell is not None:
        # The rows of a cell are not rows of the file: reviewdog gets the file, readers get the cell.
        found["location"] = {"path": printable(finding.path)}
        found["message"] = f"cell {finding.cell}, row {finding.span.row}: {found['message']}"
    elif finding.fix is not None and finding.fix.applicable and source is not None:
        found["suggestions"] = [
            {"range": _range(edit_span(edit, source), source, 0), "text": edit.text} for edit in finding.fix.edits
        ]
    return found


def _range(span: Span, source: Source | None, shift: int) -> dict[str, Any]:
    return {
        "start": {"line": span.row, "column": _bytes(source, span.row + shift, span.column)},
        "end": {"line": span.end_row, "column": _bytes(source, span.end_row + shift, span.end_column)},
    }


def _bytes(source: Source | None, row: int, column: int) -> int:
    if source is None:
        return column
    return len(source.line(row)[: column - 1].encode("utf-8", "surrogatepass")) + 1
