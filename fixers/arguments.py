"""Verbs on the arguments of a call: add, set, remove, move and rename, with the layout of the call kept."""

from __future__ import annotations

import ast

from torchlint.findings import Edit
from torchlint.fixers.expressions import replace_expression
from torchlint.fixers.layout import (
    Argument,
    CallLayout,
    Edits,
    blank_until,
    call_layout,
    code,
    has_comment,
    has_unpacking,
    in_fstring,
    newline_at,
    only_comment,
    row_bounds,
    span,
)
from torchlint.semantics.tree import Tree
from torchlint.source import Source


def add_keyword(
    source: Source, tree: Tree, call: ast.Call, name: str, value: str, *, allow_unpacking: bool = False
) -> Edits | None:
    """Add ``name=value`` as the last argument.

    Refuses when the name is already given, when ``*args`` or ``**kwargs`` may give it (unless ``allow_unpacking``),
    and inside an f-string. ``f(x for x in y)`` gets its generator in parentheses.
    """
    if any(word.arg == name for word in call.keywords) or (has_unpacking(call) and not allow_unpacking):
        return None
    layout = None if in_fstring(tree, call) else call_layout(source, call)
    return None if layout is None else append_argument(source, layout, f"{name}={value}")


def set_keyword(
    source: Source,
    tree: Tree,
    call: ast.Call,
    name: str,
    value: str,
    *,
    position: int | None = None,
    allow_unpacking: bool = False,
) -> Edits | None:
    """Give the argument ``name`` a value: where it is written by keyword or at ``position`` (from 0), else added at
    the end.

    Refuses as :func:`add_keyword` does.
    """
    for word in call.keywords:
        if word.arg == name:
            return replace_expression(source, tree, word.value, value)
    if position is not None:
        head = call.args[: position + 1]
        if len(head) == position + 1 and not any(isinstance(arg, ast.Starred) for arg in head):
            return replace_expression(source, tree, call.args[position], value)
    return add_keyword(source, tree, call, name, value, allow_unpacking=allow_unpacking)


def prepend_argument(source: Source, tree: Tree, call: ast.Call, value: str) -> Edits | None:
    """Add a first positional argument. Refuses for ``f(x for x in y)`` and inside an f-string."""
    layout = None if in_fstring(tree, call) else call_layout(source, call)
    if layout is None or layout.bare_generator:
        return None
    if not layout.arguments:
        return append_argument(source, layout, value)
    first = layout.arguments[0]
    start, _ = row_bounds(source, first.start)
    own_row = start > layout.open and blank_until(source, start, first.start)
    gap = newline_at(source, layout.open) + source.text[start : first.start] if own_row else " "
    return (Edit(first.start, first.start, f"{value},{gap}"),)


def remove_argument(source: Source, tree: Tree, call: ast.Call, argument: ast.expr | ast.keyword) -> Edits | None:
    """Take an argument out with its comma; an argument alone on its rows takes them and their comment along.

    Refuses inside an f-string, for ``f(x for x in y)``, and for an argument that is not the call's own.
    """
    layout = None if in_fstring(tree, call) else call_layout(source, call)
    if layout is None or layout.bare_generator:
        return None
    for index, found in enumerate(layout.arguments):
        if found.node is argument:
            return _without(source, layout, index)
    return None


def move_keyword(source: Source, tree: Tree, outer: ast.Call, inner: ast.Call, name: str) -> Edits | None:
    """Move ``name=…`` from a call to one inside its other arguments: ``g(f(x), a=1)`` → ``g(f(x, a=1))``.

    Refuses when ``outer`` does not give it, ``inner`` already may, or ``inner`` stands in the moved value.
    """
    word = next((word for word in outer.keywords if word.arg == name), None)
    if word is None or word in tree.ancestors(inner) or outer not in tree.ancestors(inner):
        return None
    added = add_keyword(source, tree, inner, name, code(source, word.value))
    removed = remove_argument(source, tree, outer, word)
    return None if added is None or removed is None else (*added, *removed)


def rename_keyword(source: Source, tree: Tree, word: ast.keyword, name: str) -> Edits | None:
    """Give a keyword argument another name. Refuses ``**kwargs`` and inside an f-string."""
    start, _ = span(source, word)
    if word.arg is None or in_fstring(tree, word) or not source.text.startswith(word.arg, start):
        return None
    return (Edit(start, start + len(word.arg), name),)


def append_argument(source: Source, layout: CallLayout, new: str) -> Edits:
    """Write ``new`` behind the last argument, in the manner the call is laid out."""
    text = source.text
    if layout.bare_generator:
        return (Edit(layout.open + 1, layout.open + 1, "("), Edit(layout.close, layout.close, f"), {new}"))
    if not layout.arguments:
        return _first_argument(source, layout, new)
    last = layout.arguments[-1]
    row_start, _ = row_bounds(source, last.start)
    anchor = last.end if last.comma is None else last.comma + 1
    before, after = (",", "") if last.comma is None else ("", ",")
    if row_start > layout.open and blank_until(source, row_start, last.start):
        row = newline_at(source, layout.open) + text[row_start : last.start] + new + after
        _, row_end = row_bounds(source, anchor)
        if layout.close < row_end:
            return (Edit(anchor, anchor, before + row),)
        if only_comment(text[anchor:row_end]):
            if before and row_end > anchor:
                return (Edit(anchor, anchor, before), Edit(row_end, row_end, row))
            return (Edit(row_end, row_end, before + row),)
    return (Edit(anchor, anchor, f"{before} {new}{after}"),)


def _first_argument(source: Source, layout: CallLayout, new: str) -> Edits:
    text = source.text
    inside = text[layout.open + 1 : layout.close]
    if not inside.strip(" \t\f"):
        return (Edit(layout.open + 1, layout.close, new),)
    row_start, _ = row_bounds(source, layout.close)
    if row_start <= layout.open:  # a line continuation and nothing else
        return (Edit(layout.close, layout.close, new),)
    newline = newline_at(source, layout.open)
    indent = text[row_start : layout.close] + ("\t" if "\t" in text[row_start : layout.close] else "    ")
    at = row_start - (2 if text.startswith("\r\n", row_start - 2) else 1)
    return (Edit(at, at, f"{newline}{indent}{new},"),)


def _without(source: Source, layout: CallLayout, index: int) -> Edits:
    text, arguments = source.text, layout.arguments
    found = arguments[index]
    behind = found.end if found.comma is None else found.comma + 1
    row_start, _ = row_bounds(source, found.start)
    _, row_end = row_bounds(source, behind)
    alone = row_start > layout.open and blank_until(source, row_start, found.start) and row_end <= layout.close
    if alone and only_comment(text[behind:row_end]) and not has_comment(text[found.end : behind]):
        return _without_rows(source, arguments, index, row_start, row_end)
    if len(arguments) == 1:
        inside = text[layout.open + 1 : found.start] + text[behind : layout.close]
        if has_comment(inside):
            return (Edit(found.start, behind, ""),)
        return (Edit(layout.open + 1, layout.close, ""),)
    if index > 0:
        comma = arguments[index - 1].comma or 0
        if has_comment(text[comma : found.start]):
            return (Edit(found.start, behind, ""),)
        return (Edit(comma, found.end if found.comma is None else found.comma, ""),)
    following = arguments[1].start
    if has_comment(text[behind:following]):
        return (Edit(found.start, behind, ""),)
    return (Edit(found.start, following, ""),)


def _without_rows(source: Source, arguments: tuple[Argument, ...], index: int, row_start: int, row_end: int) -> Edits:
    text = source.text
    next_row = row_end + (2 if text.startswith("\r\n", row_end) else 1)
    edits: list[Edit] = []
    previous = arguments[index - 1].comma if index else None
    if arguments[index].comma is None and previous is not None:  # the call is written without a trailing comma
        edits.append(Edit(previous, previous + 1, ""))
    return (*edits, Edit(row_start, next_row, ""))
