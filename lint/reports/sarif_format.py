"""SARIF 2.1.0 for code scanning: rules with their help, fixes, and fingerprints that survive moved lines.

https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from torchlint import __version__
from torchlint.findings import Finding, Problem, Span
from torchlint.fingerprints import Fingerprints
from torchlint.reports.view import Report, View, edit_span, mark, uri
from torchlint.source import Source

if TYPE_CHECKING:
    from torchlint.rules.rule import Rule

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_ROOT = "%SRCROOT%"


def show(report: Report) -> Iterator[str]:
    """The log with one run."""
    view = report.view
    codes = sorted(view.rules)
    index = {code: number for number, code in enumerate(codes)}
    fingerprints = Fingerprints()
    run = {
        "tool": {
            "driver": {
                "name": "torchlint",
                "version": __version__,
                "semanticVersion": __version__,
                "rules": [_rule(view.rules[code]) for code in codes],
            }
        },
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {_ROOT: {"uri": uri(os.getcwd().rstrip(os.sep) + os.sep)}},
        "invocations": [
            {
                "executionSuccessful": not report.problems,
                "toolExecutionNotifications": [_notification(problem) for problem in report.problems],
            }
        ],
        "results": [_result(finding, view, index, fingerprints) for finding in report.findings],
    }
    yield json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _rule(rule: type[Rule]) -> dict[str, Any]:
    from torchlint.rules.rule import documentation

    parts = documentation(rule)
    summary = " ".join(parts.get("", "").split()) or rule.name
    sections = [f"## {title}\n{body}" for title, body in parts.items() if title]
    found: dict[str, Any] = {
        "id": rule.code,
        "name": "".join(word.capitalize() for word in rule.name.split("-")),
        "shortDescription": {"text": summary},
        "defaultConfiguration": {"enabled": rule.default, "level": rule.severity.value},
        "properties": {"name": rule.name, "problem.severity": rule.severity.value},
    }
    if sections:
        found["help"] = {"text": "\n\n".join(sections), "markdown": "\n\n".join(sections)}
    return found


def _result(finding: Finding, view: View, index: dict[str, int], fingerprints: Fingerprints) -> dict[str, Any]:
    source = view.sources(finding.path)
    message = f"{view.render(finding.message)}\n{view.render(finding.help)}"
    location: dict[str, Any] = {"physicalLocation": {"artifactLocation": _artifact(finding.path)}}
    if finding.cell is None:
        location["physicalLocation"]["region"] = _region(finding.span)
    else:
        # Rows of a cell are not rows of the file, so the place is told in words.
        place = f"cell {finding.cell}, row {finding.span.row}"
        location["logicalLocations"] = [{"name": place, "kind": "member"}]
        message = f"{place}: {message}"
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "level": finding.severity.value,
        "message": {"text": message},
        "locations": [location],
        "partialFingerprints": {"torchlint/v1": fingerprints.of(finding, source, finding.path.replace(os.sep, "/"))},
    }
    if finding.code in index:
        result["ruleIndex"] = index[finding.code]
    if mark(finding) and source is not None and finding.cell is None:
        result["fixes"] = [_fix(finding, source, view)]
    return result


def _fix(finding: Finding, source: Source, view: View) -> dict[str, Any]:
    fix = finding.fix
    assert fix is not None
    replacements = [
        {"deletedRegion": _region(edit_span(edit, source)), "insertedContent": {"text": edit.text}}
        for edit in fix.edits
    ]
    title = f"{view.render(fix.title)} ({fix.safety.value})"
    changes = [{"artifactLocation": _artifact(finding.path), "replacements": replacements}]
    return {"description": {"text": title}, "artifactChanges": changes}


def _notification(problem: Problem) -> dict[str, Any]:
    physical: dict[str, Any] = {"artifactLocation": _artifact(problem.path)}
    if problem.row is not None:
        physical["region"] = {"startLine": problem.row}
    return {"level": "error", "message": {"text": problem.message}, "locations": [{"physicalLocation": physical}]}


def _artifact(path: str) -> dict[str, Any]:
    return {"uri": uri(path)} if os.path.isabs(path) else {"uri": uri(path), "uriBaseId": _ROOT}


def _region(span: Span) -> dict[str, Any]:
    return {"startLine": span.row, "startColumn": span.column, "endLine": span.end_row, "endColumn": span.end_column}
