"""Silencing findings where they stand: ``# noqa`` comments as text edits."""

from __future__ import annotations

import re
import tokenize
from collections import defaultdict
from collections.abc import Iterable

from torchlint.findings import Edit, Finding
from torchlint.source import Source
from torchlint.suppressions import Suppressions, comments

_LINE_TOKENS = (tokenize.NEWLINE, tokenize.NL, tokenize.COMMENT)


def silence(source: Source, findings: Iterable[Finding]) -> tuple[tuple[Edit, ...], tuple[Finding, ...]]:
    """The edits that add ``# noqa: CODE`` for each finding, and the findings for which no row can carry a comment."""
    wanted: dict[int, set[str]] = defaultdict(set)
    failed: list[Finding] = []
    open_rows = _rows_for_comments(source)
    for finding in findings:
        row = next((row for row in _candidates(finding) if row in open_rows), None)
        if row is None:
            failed.append(finding)
        else:
            wanted[row].add(finding.code)
    existing = {comment.row: comment for comment in comments(source)}
    directives = {each.row: each for each in Suppressions(source).all if each.style == "noqa" and each.items}
    edits: list[Edit] = []
    for row, codes in sorted(wanted.items()):
        listed = ", ".join(sorted(codes))
        directive = directives.get(row)
        if directive is not None and directive.items:
            at = directive.items[-1].end
            edits.append(Edit(at, at, f", {listed}"))
            continue
        end = source.line_starts[row - 1] + len(source.line(row).rstrip())
        if row in existing and re.search(r"#\s*noqa\s*:\s*$", existing[row].text, re.IGNORECASE):
            edits.append(Edit(end, end, f" {listed}"))
        else:
            edits.append(Edit(end, end, f"  # noqa: {listed}"))
    return tuple(edits), tuple(failed)


def _candidates(finding: Finding) -> list[int]:
    """Rows of the statement: the one the finding stands on first, then from the last one up."""
    rows = range(finding.last_row, finding.first_row - 1, -1)
    # In a notebook the span counts in its cell, so only the statement's rows are known here.
    preferred = [finding.span.row] if finding.cell is None and finding.span.row in rows else []
    return [*preferred, *(row for row in rows if row not in preferred)]


def _rows_for_comments(source: Source) -> frozenset[int]:
    """Rows that end outside of strings and without a backslash, so that a comment may follow."""
    starts = source.line_starts
    lines = iter(source.text[a:b] for a, b in zip(starts, [*starts[1:], len(source.text)], strict=True))
    rows: set[int] = set()
    try:
        for token in tokenize.generate_tokens(lambda: next(lines, "")):
            if token.type in _LINE_TOKENS:
                rows.add(token.start[0])
    except (tokenize.TokenError, SyntaxError):
        pass
    return frozenset(rows)
