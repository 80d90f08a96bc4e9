"""The finding with its source, a caret line, why it matters and what to do."""

from __future__ import annotations

import unicodedata

from torchlint.findings import Finding, Safety, text
from torchlint.reports.paint import paint
from torchlint.reports.view import View, joined_row, mark, printable, where
from torchlint.source import Source

_TAB = "    "
_WIDEST = 160  # columns of source that are shown; minified lines would bury the rest
_MOST_ROWS = 6  # a finding over more rows than this shows its first ones


def show(finding: Finding, view: View) -> str:
    """Header, place, excerpt and help, with an empty line behind."""
    color = view.color
    head = [paint(finding.code, "code", color)]
    if mark(finding):
        head.append(paint(mark(finding), "mark", color))
    head.append(printable(view.render(finding.message)))
    source = view.sources(finding.path)
    rows = _rows(finding, source)
    width = len(str(rows[-1][0])) if rows else 1
    bar = paint(" " * width + " |", "gutter", color)
    lines = [" ".join(head), paint(" " * width + "--> ", "gutter", color) + where(finding)]
    if rows:
        lines.append(bar)
        for number, line, carets in rows:
            lines.append(paint(f"{number:>{width}} |", "gutter", color) + (f" {line}" if line else ""))
            if carets:
                lines.append(f"{bar} {paint(carets, 'caret', color)}")
        lines.append(bar)
    help, note = (paint(view.render(label), "help", color) for label in (text("help"), text("note")))
    lines.append(f"{help}: {printable(view.render(finding.help))}")
    lines.extend(f"{note}: {each}" for each in _notes(finding, view))
    return "\n".join(lines) + "\n\n"


def _notes(finding: Finding, view: View) -> list[str]:
    fix = finding.fix
    if fix is None or fix.reason is None:
        return []
    reason = printable(view.render(fix.reason))
    if fix.safety is Safety.UNSAFE:
        return [view.render(text("the fix is unsafe: {reason}", reason=reason))]
    return [reason]


def _rows(finding: Finding, source: Source | None) -> list[tuple[int, str, str]]:
    """Number, text and carets of each row to show."""
    if source is None:
        return []
    span = finding.span
    shift = joined_row(finding, source) - span.row
    found: list[tuple[int, str, str]] = []
    last = max(span.row, min(span.end_row, span.row + _MOST_ROWS - 1))
    for row in range(span.row, last + 1):
        line = source.line(row + shift)
        start = span.column - 1 if row == span.row else len(line) - len(line.lstrip())
        end = span.end_column - 1 if row == span.end_row else len(line.rstrip())
        found.append((row, *_excerpt(line, start, end)))
    return found


def _excerpt(line: str, start: int, end: int) -> tuple[str, str]:
    """A row and the carets under ``line[start:end]``, cut to what fits around them."""
    cut = max(0, start - _WIDEST // 2) if len(line) > _WIDEST else 0
    shown = line[cut : cut + _WIDEST].rstrip()
    before = _expand(line[cut:start])
    marked = _expand(line[start : max(start, min(end, cut + _WIDEST))])
    excerpt = ("…" if cut else "") + _expand(shown) + ("…" if len(line) > cut + _WIDEST else "")
    blank = " " * (_width(before) + (1 if cut else 0))
    return excerpt, blank + "^" * max(1, _width(marked))


def _expand(text: str) -> str:
    return printable(text.replace("\t", _TAB))


def _width(text: str) -> int:
    """Columns on a terminal: East Asian wide characters take two, combining ones none."""
    if text.isascii():
        return len(text)
    return sum(
        2 if unicodedata.east_asian_width(character) in "WF" else 0 if unicodedata.combining(character) else 1
        for character in text
    )
