"""Where the pieces of a call and of a row lie in the text.

Between two nodes of a syntax tree there is nothing but blanks, comments, commas and parentheses, never a string, so the
stretches between nodes are scanned directly: a call costs a few microseconds and no tokenizer runs.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from torchlint.findings import Edit
from torchlint.semantics.tree import Tree
from torchlint.source import Source

Edits = tuple[Edit, ...]

_TRIVIA = re.compile(r"(?:[ \t\f\r\n]+|#[^\r\n]*|\\(?=[\r\n]))*")
_BLANK_TO_COMMENT = re.compile(r"[ \t\f]*(?:#.*)?\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of a call: ``start`` and ``end`` include its name, stars and parentheses; ``comma`` is the offset
    behind it.
    """

    node: ast.expr | ast.keyword
    start: int
    end: int
    comma: int | None


@dataclass(frozen=True, slots=True)
class CallLayout:
    """Offsets of a call's parentheses and arguments in source order.

    ``bare_generator`` is set for ``f(x for x in y)``, where the parentheses of the call are those of the generator.
    """

    open: int
    close: int
    arguments: tuple[Argument, ...]
    bare_generator: bool = False


def span(source: Source, node: ast.AST) -> tuple[int, int]:
    """First character of ``node`` and the one behind its last."""
    start = source.offset(node.lineno, node.col_offset)  # type: ignore[attr-defined]
    return start, source.offset(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]


def code(source: Source, node: ast.AST) -> str:
    """The source text of ``node``."""
    start, end = span(source, node)
    return source.text[start:end]


def skip_trivia(text: str, at: int) -> int:
    """The offset of the next character that is neither blank, comment nor line end."""
    match = _TRIVIA.match(text, at)
    return match.end() if match else at


def in_fstring(tree: Tree, node: ast.AST) -> bool:
    """Whether ``node`` stands in a replacement field: there its positions may be wrong and new quotes would end the
    string.
    """
    return any(isinstance(parent, ast.JoinedStr) for parent in tree.ancestors(node))


def row_bounds(source: Source, offset: int) -> tuple[int, int]:
    """Start of the row that holds ``offset`` and its end, before the line end."""
    row, column = source.position(offset)
    start = offset - column + 1
    return start, start + len(source.line(row))


def newline_at(source: Source, offset: int) -> str:
    """The line end that closes the row of ``offset``; on a last row without one, the line end of the file."""
    end = row_bounds(source, offset)[1]
    text = source.text
    if text.startswith("\r\n", end):
        return "\r\n"
    return text[end] if end < len(text) else source.newline


def blank_until(source: Source, start: int, end: int) -> bool:
    """Whether only blanks lie between two offsets of one row."""
    return not source.text[start:end].strip(" \t\f")


def only_comment(text: str) -> bool:
    """Whether the rest of a row holds nothing but blanks and perhaps a comment."""
    return _BLANK_TO_COMMENT.match(text) is not None


def has_comment(text: str) -> bool:
    """Whether a stretch between two nodes holds a comment."""
    return "#" in text


def call_layout(source: Source, call: ast.Call) -> CallLayout | None:
    """The layout of a call; None when the text at its position is not that call."""
    text = source.text
    close = span(source, call)[1] - 1
    at = skip_trivia(text, span(source, call.func)[1])
    while text.startswith(")", at):
        at = skip_trivia(text, at + 1)
    if not text.startswith("(", at) or not text.startswith(")", close) or close <= at:
        return None
    opening = at
    nodes: list[ast.expr | ast.keyword] = sorted(
        [*call.args, *call.keywords], key=lambda node: (node.lineno, node.col_offset)
    )
    if len(nodes) == 1 and isinstance(nodes[0], ast.GeneratorExp) and span(source, nodes[0])[0] == opening:
        start = skip_trivia(text, opening + 1)
        return CallLayout(opening, close, (Argument(nodes[0], start, close, None),), True)
    found: list[Argument] = []
    at = opening + 1
    for node in nodes:
        start = skip_trivia(text, at)
        end = span(source, node)[1]
        at = skip_trivia(text, end)
        while text.startswith(")", at) and at < close:
            end = at + 1
            at = skip_trivia(text, end)
        comma = at if text.startswith(",", at) else None
        if start > end or (comma is None and node is not nodes[-1]):
            return None
        found.append(Argument(node, start, end, comma))
        at = at + 1 if comma is not None else at
    return CallLayout(opening, close, tuple(found)) if skip_trivia(text, at) == close else None


def has_unpacking(call: ast.Call) -> bool:
    """Whether ``*`` or ``**`` may give arguments that the text does not show."""
    return any(isinstance(arg, ast.Starred) for arg in call.args) or any(word.arg is None for word in call.keywords)
