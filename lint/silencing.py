"""Edits that silence findings: ``# noqa: CODE`` at the end of a row of the statement."""

from __future__ import annotations

import tokenize
from collections.abc import Iterable

from torchlint.findings import Edit, Finding
from torchlint.fixing import offset_of
from torchlint.source import Source
from torchlint.suppressions import Suppression, Suppressions, tokenizable


def silence(source: Source, findings: Iterable[Finding]) -> tuple[tuple[Edit, ...], tuple[Finding, ...]]:
    """Add the codes to ``noqa`` comments that are there, or write new ones, one for each row.

    Returns the edits and the findings that no comment can silence: a row takes one only if it ends outside strings and
    is not continued with a backslash.
    """
    extended: dict[Suppression, list[str]] = {}
    written: dict[int, list[str]] = {}
    stubborn: list[Finding] = []
    comments = [each for each in Suppressions(source).all if each.style == "noqa" and each.items]
    free = _rows_that_end_free(source)
    for finding in findings:
        rows = range(finding.first_row, finding.last_row + 1)
        own, _ = source.position(offset_of(source, finding))
        comment = next((each for each in comments if each.row in rows), None)
        row = next((row for row in sorted(rows, key=lambda row: (row != own, row)) if row in free), None)
        if comment is not None:
            _note(extended.setdefault(comment, []), finding.code)
        elif row is not None:
            _note(written.setdefault(row, []), finding.code)
        else:
            stubborn.append(finding)
    edits = [_extend(comment, codes) for comment, codes in extended.items()]
    edits += [_write(source, row, codes) for row, codes in written.items()]
    return tuple(sorted(edits)), tuple(stubborn)


def _note(codes: list[str], code: str) -> None:
    if code not in codes:
        codes.append(code)


def _extend(comment: Suppression, codes: list[str]) -> Edit:
    end = comment.items[-1].end if comment.items else comment.end
    return Edit(end, end, "".join(f", {code}" for code in codes))


def _write(source: Source, row: int, codes: list[str]) -> Edit:
    line = source.line(row)
    start = source.line_starts[row - 1]
    return Edit(start + len(line.rstrip()), start + len(line), f"  # noqa: {', '.join(codes)}")


def _rows_that_end_free(source: Source) -> frozenset[int]:
    """The rows at whose end a comment is a comment."""
    lines = tokenizable(source)
    found: set[int] = set()
    try:
        for token in tokenize.generate_tokens(lambda: next(lines, "")):
            if token.type in (tokenize.NEWLINE, tokenize.NL):
                found.add(token.start[0])
    except (tokenize.TokenError, SyntaxError):
        return frozenset()
    return frozenset(found)
