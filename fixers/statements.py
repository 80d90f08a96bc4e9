"""Verbs on statements: insert rows beside them, replace them, assign their result, put them under a ``with``.

``lines`` are rows without indentation of their own; four leading spaces in a row mean one step deeper. They are
written with the indentation and line end of the place. One-line bodies (``if x: y()``) and rows like ``a; b`` are
taken apart as far as needed.
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Sequence

from torchlint.findings import Edit
from torchlint.fixers.blocks import (
    Place,
    gap_before,
    indent_of,
    indent_of_row,
    indent_unit,
    is_elif,
    newline_near,
    place_of,
    write_rows,
)
from torchlint.fixers.layout import Edits, row_bounds, span
from torchlint.semantics.tree import FunctionNode, Tree, walk
from torchlint.source import Source


def insert_before(source: Source, tree: Tree, statement: ast.stmt, lines: Sequence[str]) -> Edits | None:
    """Insert rows directly before a statement (before its decorators, below the comments above it).

    Refuses an ``elif``, and where a one-line body cannot be taken apart.
    """
    place = place_of(source, tree, statement)
    if is_elif(source, place):
        return None
    indent, newline = indent_of(source, tree, place), newline_near(source, place)
    rows = write_rows(lines, indent, indent_unit(source, tree), newline)
    if place.first_on_row:
        at = place.start - len(indent_of_row(source, place.start))
        return (Edit(at, at, rows + newline),)
    opened = _opened(source, tree, place)
    gap = gap_before(source, tree, place)
    if opened is None or gap is None:
        return None
    return (*opened[:-1], Edit(gap[0], gap[1], newline + rows + newline + indent))


def insert_after(source: Source, tree: Tree, statement: ast.stmt, lines: Sequence[str]) -> Edits | None:
    """Insert rows directly behind a statement, behind the comment on its last row.

    Refuses an ``elif``, and where a one-line body cannot be taken apart.
    """
    place = place_of(source, tree, statement)
    if is_elif(source, place):
        return None
    if not place.last_on_row:
        following = place.block[place.index + 1 : place.index + 2]
        return insert_before(source, tree, following[0], lines) if following else None
    indent, newline = indent_of(source, tree, place), newline_near(source, place)
    rows = write_rows(lines, indent, indent_unit(source, tree), newline)
    _, at = row_bounds(source, place.end)
    if hasattr(statement, "body"):
        at = _behind_inner_comments(source, at, indent)
    inserted = Edit(at, at, newline + rows)
    if place.first_on_row:
        return (inserted,)
    if not _in_header_row(source, tree, place):
        return (inserted,)
    opened = _opened(source, tree, place)
    return None if opened is None else (*opened, inserted)


def insert_at_body_start(
    source: Source, tree: Tree, body: Sequence[ast.stmt], lines: Sequence[str], *, docstring: bool = True
) -> Edits | None:
    """Insert rows first in a body; behind its docstring when ``docstring`` (bodies of functions, classes, modules)."""
    first = body[0]
    if docstring and is_docstring(first):
        return insert_after(source, tree, first, lines)
    return insert_before(source, tree, first, lines)


def is_docstring(statement: ast.stmt) -> bool:
    """Whether a first statement of a body is its docstring."""
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def replace_statement(source: Source, tree: Tree, statement: ast.stmt, lines: Sequence[str]) -> Edits | None:
    """Put rows in the place of a statement; a comment behind it stays.

    Refuses an ``elif``, and where a one-line body cannot be taken apart; a single row replaces in place.
    """
    place = place_of(source, tree, statement)
    if is_elif(source, place):
        return None
    if len(lines) == 1:
        return (Edit(place.start, place.end, lines[0]),)
    before = insert_before(source, tree, statement, lines[:-1])
    return None if before is None else (*before, Edit(place.start, place.end, lines[-1]))


def assign_result(source: Source, tree: Tree, statement: ast.Expr, target: str | None = None) -> Edits | None:
    """``x.to(device)`` → ``x = x.to(device)``; the target is the receiver unless given.

    Refuses when the statement is no method call and no target is given, or the receiver is not a plain dotted name.
    """
    if target is None:
        call = statement.value
        if (
            not isinstance(call, ast.Call)
            or not isinstance(call.func, ast.Attribute)
            or not _is_dotted(call.func.value)
        ):
            return None
        target = ast.unparse(call.func.value)
    start, _ = span(source, statement)
    return (Edit(start, start, f"{target} = "),)


def _is_dotted(node: ast.expr) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)


def add_decorator(source: Source, tree: Tree, function: FunctionNode, decorator: str) -> Edits | None:
    """Put ``@decorator`` directly above the ``def``, below the decorators that are there. Refuses a ``def`` inside a
    row.
    """
    start, _ = span(source, function)
    row_start, _ = row_bounds(source, start)
    if source.text[row_start:start].strip(" \t\f"):
        return None
    place = place_of(source, tree, function)
    indent = indent_of_row(source, start)
    at = start - len(indent)
    return (Edit(at, at, f"{indent}@{decorator}{newline_near(source, place)}"),)


def wrap_in_block(source: Source, tree: Tree, statements: Sequence[ast.stmt], header: str) -> Edits | None:
    """Put neighbouring statements of one block under ``header`` (``with torch.no_grad():``), one step deeper.

    Rows inside a string keep their text, so every value stays the same. Refuses statements that share rows with a
    header or with neighbours, and text the tokenizer cannot read.
    """
    first, last = place_of(source, tree, statements[0]), place_of(source, tree, statements[-1])
    if not first.first_on_row or not last.last_on_row or is_elif(source, first):
        return None
    first_row, last_row = source.position(first.start)[0], source.position(last.end)[0]
    string_rows = _rows_inside_strings(source, statements, first_row, last_row)
    if string_rows is None:
        return None
    unit, newline = indent_unit(source, tree), newline_near(source, first)
    indent = indent_of_row(source, first.start)
    at = first.start - len(indent)
    edits = [Edit(at, at, f"{indent}{header}{newline}{unit}")]
    for row in range(first_row + 1, last_row + 1):
        line = source.line(row)
        if row in string_rows or not line.strip():
            continue
        start = source.line_starts[row - 1] + line.rfind("\f", 0, len(line) - len(line.lstrip())) + 1
        edits.append(Edit(start, start, unit))
    return tuple(edits)


def _rows_inside_strings(source: Source, statements: Sequence[ast.stmt], first: int, last: int) -> set[int] | None:
    """The rows that begin inside a string; None when they cannot be told."""
    many_rows = any(
        isinstance(node, ast.JoinedStr | ast.Constant) and node.lineno != node.end_lineno
        for statement in statements
        for node in walk(statement)
    )
    if not many_rows:
        return set()
    text = "".join(source.line(row) + "\n" for row in range(first, last + 1))
    rows: set[int] = set()
    opened: list[int] = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            kind = tokenize.tok_name[token.type]
            if kind in ("FSTRING_START", "TSTRING_START"):
                opened.append(token.start[0])
            elif kind == "STRING":
                rows.update(range(first + token.start[0], first + token.end[0]))
            elif kind in ("FSTRING_END", "TSTRING_END"):
                rows.update(range(first + opened.pop(), first + token.end[0]))
    except (tokenize.TokenError, SyntaxError, IndexError):
        return None
    return rows


def _in_header_row(source: Source, tree: Tree, place: Place) -> bool:
    """Whether the statement's block begins behind the colon of its header."""
    return not place_of(source, tree, place.block[0]).first_on_row


def _opened(source: Source, tree: Tree, place: Place) -> tuple[Edit, ...] | None:
    """Edits that put ``place`` on a row of its own, with the block it is in; the last one is the gap before
    ``place``.
    """
    indent, newline = indent_of(source, tree, place), newline_near(source, place)
    edits: list[Edit] = []
    wanted = [place]
    if place.index and _in_header_row(source, tree, place):
        wanted.insert(0, place_of(source, tree, place.block[0]))
    for each in wanted:
        gap = gap_before(source, tree, each)
        if gap is None:
            return None
        edits.append(Edit(gap[0], gap[1], newline + indent))
    return tuple(edits)


def _behind_inner_comments(source: Source, row_end: int, indent: str) -> int:
    """The end of the last comment row below a compound statement that is indented deeper than it."""
    row, _ = source.position(row_end)
    at = row_end
    while True:
        row += 1
        line = source.line(row)
        blanks = len(line) - len(line.lstrip(" \t"))
        if line[blanks:].startswith("#") and line.startswith(indent) and blanks > len(indent):
            at = source.line_starts[row - 1] + len(line)
        elif line.strip() or row >= len(source.line_starts):
            return at
