"""An array with ruff's keys, so that tools that read ruff's output read this one."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

from torchlint.findings import Finding, Safety, Span
from torchlint.reports.view import Report, View, edit_span

_APPLICABILITY = {Safety.SAFE: "safe", Safety.UNSAFE: "unsafe", Safety.MANUAL: "display"}


def show(report: Report) -> Iterator[str]:
    """The array, one finding after the other."""
    separator = "[\n"
    for finding in report.findings:
        text = json.dumps(as_dict(finding, report.view), indent=2, sort_keys=True)
        yield separator + "\n".join("  " + line for line in text.splitlines())
        separator = ",\n"
    yield "\n]\n" if report.findings else "[]\n"


def as_dict(finding: Finding, view: View) -> dict[str, Any]:
    """One finding; ``filename`` is absolute, as ruff has it, and rows of a notebook count in their cell."""
    return {
        "cell": finding.cell,
        "code": finding.code,
        "end_location": {"column": finding.span.end_column, "row": finding.span.end_row},
        "filename": os.path.abspath(finding.path),
        "fix": _fix(finding, view),
        "help": view.render(finding.help),
        "location": {"column": finding.span.column, "row": finding.span.row},
        "message": view.render(finding.message),
        "name": finding.name,
        "noqa_row": finding.span.row,
        "severity": finding.severity.value,
        "url": None,
    }


def _fix(finding: Finding, view: View) -> dict[str, Any] | None:
    fix = finding.fix
    if fix is None:
        return None
    source = view.sources(finding.path) if fix.edits else None
    edits = [_edit(edit.text, edit_span(edit, source)) for edit in fix.edits] if source is not None else []
    return {"applicability": _APPLICABILITY[fix.safety], "edits": edits, "message": view.render(fix.title)}


def _edit(content: str, span: Span) -> dict[str, Any]:
    return {
        "content": content,
        "end_location": {"column": span.end_column, "row": span.end_row},
        "location": {"column": span.column, "row": span.row},
    }
