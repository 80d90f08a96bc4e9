"""What every report needs besides the findings: the sources, a language, colour."""

from __future__ import annotations

import os
import re
import urllib.parse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from torchlint.findings import Edit, Finding, Problem, Safety, Span, Text
from torchlint.source import Source

if TYPE_CHECKING:
    from torchlint.rules.rule import Rule

# Control characters, and the marks that reorder text on a screen: escape codes in a file must not reach a terminal.
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def _plain(message: Text) -> str:
    return str(message)


@dataclass(frozen=True)
class View:
    """How findings are shown. ``sources`` is asked only for files that have findings; None means the file is gone."""

    sources: Callable[[str], Source | None]
    render: Callable[[Text], str] = _plain
    color: bool = False
    rules: Mapping[str, type[Rule]] = field(default_factory=dict)


@dataclass(frozen=True)
class Report:
    """Everything a run found, in report order."""

    findings: Sequence[Finding]
    problems: Sequence[Problem]
    view: View


def printable(text: str) -> str:
    """The text on one line, with control characters spelled out."""
    return _UNPRINTABLE.sub(_spell, text)


def _spell(match: re.Match[str]) -> str:
    character = match.group()
    if character == "\t":
        return " "
    if "\udc80" <= character <= "\udcff":  # a byte of a file name that is not UTF-8
        return f"\\x{ord(character) - 0xDC00:02x}"
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")


def mark(finding: Finding) -> str:
    """``[*]`` for a safe fix, ``[unsafe]`` for an unsafe one, nothing when no tool may apply it."""
    if finding.fix is None or not finding.fix.applicable:
        return ""
    return "[*]" if finding.fix.safety is Safety.SAFE else "[unsafe]"


def where(finding: Finding) -> str:
    """``path:row:column``, for a notebook ``path:cell 3:row:column``."""
    cell = "" if finding.cell is None else f"cell {finding.cell}:"
    return f"{printable(finding.path)}:{cell}{finding.span.row}:{finding.span.column}"


def joined_row(finding: Finding, source: Source) -> int:
    """The row of the finding in the source's text: the same, but for notebooks, where rows count in the cell."""
    for cell in source.cells:
        if cell.number == finding.cell:
            return cell.first_row + finding.span.row - 1
    return finding.span.row


def edit_span(edit: Edit, source: Source) -> Span:
    """Where an edit stands, in a notebook inside its cell."""
    row, column = source.position(edit.start)
    end_row, end_column = source.position(edit.end)
    cell = source.cell_at(row)
    shift = 0 if cell is None else cell.first_row - 1
    return Span(row - shift, column, end_row - shift, end_column)


def uri(path: str) -> str:
    """A relative path as a relative URI, an absolute one as a ``file:`` URI; undecodable bytes are kept."""
    quoted = urllib.parse.quote(os.fsencode(path.replace(os.sep, "/")))
    if os.path.isabs(path):
        return "file://" + ("" if quoted.startswith("/") else "/") + quoted
    return quoted
