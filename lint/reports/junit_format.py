"""JUnit XML: one suite for each file, one failed case for each finding, one case with an error for each problem."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from typing import TypeAlias
from xml.sax.saxutils import escape, quoteattr

from torchlint.findings import Finding, Problem
from torchlint.reports.view import Report, mark, printable, where

Case: TypeAlias = "tuple[str, str, int | None, int | None, str, str]"  # name, file, row, column, message, body
# What XML 1.0 cannot hold at all.
_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def show(report: Report) -> Iterator[str]:
    """The document, suite after suite."""
    findings, problems = report.findings, report.problems
    counts = f'tests="{max(1, len(findings) + len(problems))}" failures="{len(findings)}" errors="{len(problems)}"'
    yield '<?xml version="1.0" encoding="UTF-8"?>\n'
    yield f'<testsuites name="torchlint" {counts}>\n'
    if not findings and not problems:
        yield '  <testsuite name="torchlint" tests="1" failures="0" errors="0">\n'
        yield '    <testcase name="no findings" classname="torchlint"/>\n  </testsuite>\n'
    for path, group in groupby(findings, key=lambda finding: finding.path):
        yield from _suite(path, [(_case(report, each), "failure") for each in group])
    for path, faults in groupby(problems, key=lambda problem: problem.path):
        yield from _suite(path, [(_fault(fault), "error") for fault in faults])
    yield "</testsuites>\n"


def _case(report: Report, finding: Finding) -> Case:
    message = report.view.render(finding.message)
    fixable = f" {mark(finding)}" if mark(finding) else ""
    body = f"{where(finding)}: {finding.code}{fixable} {message}\nhelp: {report.view.render(finding.help)}"
    return (f"{finding.code} {finding.name}", finding.path, finding.span.row, finding.span.column, message, body)


def _fault(problem: Problem) -> Case:
    return ("error", problem.path, problem.row, problem.column, problem.message, str(problem))


def _suite(path: str, cases: list[tuple[Case, str]]) -> Iterator[str]:
    failures = sum(kind == "failure" for _, kind in cases)
    yield (
        f'  <testsuite name={_attribute(path)} tests="{len(cases)}" failures="{failures}" '
        f'errors="{len(cases) - failures}">\n'
    )
    for (name, file, row, column, message, body), kind in cases:
        place = "".join(f' {key}="{value}"' for key, value in (("line", row), ("column", column)) if value is not None)
        yield f"    <testcase name={_attribute(name)} classname={_attribute(file)} file={_attribute(file)}{place}>\n"
        yield f"      <{kind} message={_attribute(message)}>{escape(_clean(body))}</{kind}>\n    </testcase>\n"
    yield "  </testsuite>\n"


def _attribute(text: str) -> str:
    return quoteattr(_clean(printable(text)))


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("?", text)
