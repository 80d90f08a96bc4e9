"""Workflow commands that GitHub shows beside the lines of a pull request.

https://docs.github.com/actions/reference/workflow-commands-for-github-actions
"""

from __future__ import annotations

from torchlint.findings import Finding, Problem, Severity
from torchlint.reports.view import View, printable, where


def show(finding: Finding, view: View) -> str:
    """One ``::error`` or ``::warning`` line. A notebook is annotated as a whole: its rows are not rows of the file."""
    level = "error" if finding.severity is Severity.ERROR else "warning"
    properties = {"title": f"torchlint ({finding.code})", "file": printable(finding.path)}
    if finding.cell is None:
        span = finding.span
        properties |= {
            "line": str(span.row),
            "col": str(span.column),
            "endLine": str(span.end_row),
            "endColumn": str(span.end_column),
        }
    message = f"{where(finding)}: {finding.code} {view.render(finding.message)}\n  help: {view.render(finding.help)}"
    return _command(level, properties, message)


def show_problem(problem: Problem) -> str:
    """The ``::error`` line of a file that was not checked; its job fails, so the pull request has to say why."""
    properties = {"title": "torchlint", "file": printable(problem.path)}
    if problem.row is not None:
        properties["line"] = str(problem.row)
    return _command("error", properties, printable(str(problem)))


def _command(level: str, properties: dict[str, str], message: str) -> str:
    listed = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    return f"::{level} {listed}::{_data(message)}\n"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
