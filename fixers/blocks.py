"""Where statements stand in rows: indentation, one-line bodies, what shares a row with what."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass

from torchlint.fixers.layout import newline_at, only_comment, row_bounds, span
from torchlint.semantics.tree import FUNCTIONS, Tree
from torchlint.source import Source

_INDENT = re.compile(r"[ \t\f]*")
_BETWEEN = re.compile(r"(?:[ \t\f]|\\\r?\n|\\\r)*[;:]?(?:[ \t\f]|\\\r?\n|\\\r)*\Z")
_SEPARATOR = re.compile(r"[ \t\f]*;[ \t\f]*(?:#.*)?\Z")


@dataclass(frozen=True, slots=True)
class Place:
    """A statement in its block. ``first_on_row``/``last_on_row``: whether it shares its rows with a header or other
    statements.
    """

    statement: ast.stmt
    block: list[ast.stmt]
    index: int
    start: int
    end: int
    first_on_row: bool
    last_on_row: bool


def start_of(source: Source, statement: ast.stmt) -> int:
    """Offset of the first character, the ``@`` of the first decorator included."""
    start = span(source, statement)[0]
    if isinstance(statement, (*FUNCTIONS, ast.ClassDef)) and statement.decorator_list:
        row = min(decorator.lineno for decorator in statement.decorator_list)
        head = source.line_starts[row - 1]
        at = source.text.find("@", head)
        return at if head <= at < start and not source.text[head:at].strip() else start
    return start


def place_of(source: Source, tree: Tree, statement: ast.stmt) -> Place:
    """Find out how a statement stands in its row."""
    block, index = tree.blocks[statement]
    start, end = start_of(source, statement), span(source, statement)[1]
    row_start, _ = row_bounds(source, start)
    first = not source.text[row_start:start].strip(" \t\f") and not _continues(source, row_start)
    if first and index and span(source, block[index - 1])[1] > row_start:
        first = False
    _, row_end = row_bounds(source, end)
    rest = source.text[end:row_end]
    return Place(statement, block, index, start, end, first, only_comment(rest) or _SEPARATOR.match(rest) is not None)


def is_elif(source: Source, place: Place) -> bool:
    """Whether a statement is the ``elif`` of another, in whose ``else`` branch nothing can stand beside it."""
    return isinstance(place.statement, ast.If) and source.text.startswith("elif", place.start)


def _continues(source: Source, row_start: int) -> bool:
    """Whether the row before ends in a line continuation."""
    if row_start == 0:
        return False
    row, _ = source.position(row_start)
    return source.line(row - 1).endswith("\\")


def indent_of_row(source: Source, offset: int) -> str:
    """The blanks at the start of a row; what stands before a form feed does not count."""
    row_start, row_end = row_bounds(source, offset)
    match = _INDENT.match(source.text, row_start, row_end)
    return match.group().rpartition("\f")[2] if match else ""


def header_row_offset(source: Source, tree: Tree, statement: ast.stmt) -> int | None:
    """Offset in the row whose indentation is that of the compound statement around ``statement``; None at module
    level.
    """
    parent = tree.parent(statement)
    if isinstance(parent, ast.match_case):
        return span(source, parent.pattern)[0]
    return None if parent is None or isinstance(parent, ast.Module) else span(source, parent)[0]


def indent_of(source: Source, tree: Tree, place: Place) -> str:
    """The indentation of the statement's block; in a one-line body the one it would have on rows of its own."""
    if place.first_on_row:
        return indent_of_row(source, place.start)
    for other in place.block:
        found = place_of(source, tree, other)
        if found.first_on_row:
            return indent_of_row(source, found.start)
    header = header_row_offset(source, tree, place.statement)
    return "" if header is None else indent_of_row(source, header) + indent_unit(source, tree)


def indent_unit(source: Source, tree: Tree) -> str:
    """One step of indentation as the first indented block of the file has it; four spaces when there is none."""
    for statement, (_, index) in tree.blocks.items():
        header = header_row_offset(source, tree, statement)
        if index or header is None:
            continue
        start = start_of(source, statement)
        row_start, _ = row_bounds(source, start)
        inner, outer = indent_of_row(source, start), indent_of_row(source, header)
        if _continues(source, row_start) or source.text[row_start:start].strip(" \t\f"):
            continue
        if inner.startswith(outer) and len(inner) > len(outer):
            return inner[len(outer) :]
    return "    "


def write_rows(lines: Sequence[str], indent: str, unit: str, newline: str) -> str:
    """Rows at an indentation, joined without a final line end; leading groups of four spaces of ``lines`` become
    ``unit``.
    """
    rows: list[str] = []
    for line in lines:
        body = line.lstrip(" ")
        steps = (len(line) - len(body)) // 4
        rows.append(f"{indent}{unit * steps}{body}" if body else "")
    return newline.join(rows)


def gap_before(source: Source, tree: Tree, place: Place) -> tuple[int, int] | None:
    """The stretch between a statement that is not first on its row and what stands before it (``;`` or the header's
    ``:``).

    The colon stays outside, the semicolon inside. None when a comment or anything unexpected stands there.
    """
    text = source.text
    if place.index:
        start = span(source, place.block[place.index - 1])[1]
        return (start, place.start) if _BETWEEN.match(text[start : place.start]) else None
    colon = text.rfind(":", 0, place.start)
    if colon < 0 or not _BETWEEN.match(text[colon : place.start]):
        return None
    return colon + 1, place.start


def newline_near(source: Source, place: Place) -> str:
    """The line end that new rows beside a statement get."""
    return newline_at(source, place.start)
