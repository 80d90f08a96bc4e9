"""GitLab's code quality report.

https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator

from torchlint.findings import Severity
from torchlint.fingerprints import Fingerprints
from torchlint.reports.view import Report, joined_row, printable


def show(report: Report) -> Iterator[str]:
    """An array; paths count from the folder of the checkout, fingerprints survive moved lines."""
    view = report.view
    fingerprints = Fingerprints()
    entries = []
    for finding in report.findings:
        source = view.sources(finding.path)
        span = finding.span
        row = finding.span.row if source is None else joined_row(finding, source)
        path = _path(finding.path)
        entries.append(
            {
                "check_name": finding.code,
                "description": f"{finding.code}: {view.render(finding.message)}",
                "fingerprint": fingerprints.of(finding, source, path),
                "location": {
                    "path": path,
                    "positions": {
                        "begin": {"line": row, "column": span.column},
                        "end": {"line": row + span.end_row - span.row, "column": span.end_column},
                    },
                },
                "severity": "major" if finding.severity is Severity.ERROR else "minor",
            }
        )
    yield json.dumps(entries, indent=2) + "\n"


def _path(path: str) -> str:
    base = os.environ.get("CI_PROJECT_DIR") or os.getcwd()
    relative = os.path.relpath(path, base)
    return printable((path if relative.startswith(os.pardir) else relative).replace(os.sep, "/"))
