"""Verbs on the text of a tag: string constants, f-strings, ``%`` and ``format`` expressions, and sums of them.

Prefix, quotes and escapes of the literal stay as they are written. All verbs refuse what they cannot write in that
literal.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from torchlint.findings import Edit
from torchlint.fixers.expressions import parenthesised_span
from torchlint.fixers.layout import Edits, in_fstring, span
from torchlint.fixers.strings import Literal, literals, quoted
from torchlint.semantics.tree import Tree
from torchlint.source import Source

_SIMPLE_FIELD = (ast.Name, ast.Attribute, ast.Subscript, ast.Call, ast.Constant, ast.BinOp)


@dataclass(frozen=True, slots=True)
class _Text:
    """The literal at one end of a tag: its tokens, where they start, and what a template around it makes of its
    text.
    """

    at: int
    tokens: list[Literal]
    template: str  # "", "%" or "{"

    def write(self, literal: Literal, text: str) -> str | None:
        if self.template == "%":
            text = text.replace("%", "%%")
        elif self.template == "{":
            text = text.replace("{", "{{").replace("}", "}}")
        return literal.write(text)


def set_literal(source: Source, tree: Tree, node: ast.expr, text: str) -> Edits | None:
    """Give a string constant another value. Refuses all other expressions, and joined literals."""
    if not isinstance(node, ast.Constant):
        return None
    found = _literal(source, tree, node, "")
    if found is None or len(found.tokens) != 1:
        return None
    token = found.tokens[0]
    new = found.write(token, text)
    return None if new is None else (Edit(found.at + token.body_start, found.at + token.body_end, new),)


def add_prefix(source: Source, tree: Tree, node: ast.expr, text: str) -> Edits | None:
    """Put ``text`` before a tag: ``'loss'`` → ``'train/loss'``; any other expression becomes ``'train/' + …``.

    Whether such an expression is a string is for the caller to know. Refuses inside an f-string.
    """
    if in_fstring(tree, node):
        return None
    found = _edge(source, tree, node, 0)
    if found is not None:
        token = found.tokens[0]
        new = found.write(token, text)
        return None if new is None else (Edit(found.at + token.body_start, found.at + token.body_start, new),)
    start, end, before, after = _operand(source, tree, node)
    return (Edit(start, start, f"{quoted(source, text)} + {before}"), *((Edit(end, end, after),) if after else ()))


def replace_in_tag(source: Source, tree: Tree, node: ast.expr, old: str, new: str) -> Edits | None:
    """Replace the one place where ``old`` stands in the literal text of a tag.

    Refuses when it stands there never or more than once, or touches an escape or a replacement field.
    """
    found = _edge(source, tree, node, 0)
    if found is None or not old:
        return None
    edits: list[Edit] = []
    for token in found.tokens:
        written, replacement = found.write(token, old), found.write(token, new)
        if written is None or replacement is None:
            return None
        for match in re.finditer(re.escape(written), _body(source, found, token)):
            if not _in_literal_text(_body(source, found, token), match.start(), match.end(), token):
                return None
            at = found.at + token.body_start + match.start()
            edits.append(Edit(at, at + len(written), replacement))
    return (edits[0],) if len(edits) == 1 else None


def add_field(
    source: Source, tree: Tree, node: ast.expr, field: str, *, separator: str = "/", first: bool = False
) -> Edits | None:
    """Put the value of an expression behind a tag, or before it: ``'loss'`` → ``f'loss/{name}'``.

    Any other expression becomes a sum with an f-string. Refuses fields with quotes, backslashes or comments, which an
    f-string before Python 3.12 cannot hold, and inside an f-string.
    """
    if in_fstring(tree, node) or not _fits_a_field(field):
        return None
    found = _edge(source, tree, node, 0 if first else -1)
    piece = f"{{{field}}}{separator}" if first else f"{separator}{{{field}}}"
    if found is not None and not found.template:
        return _formatted(source, found, piece, first)
    start, end, before, after = _operand(source, tree, node)
    if first:
        return (
            Edit(start, start, f"f{quoted(source, piece)} + {before}"),
            *((Edit(end, end, after),) if after else ()),
        )
    return (*((Edit(start, start, before),) if before else ()), Edit(end, end, f"{after} + f{quoted(source, piece)}"))


def _formatted(source: Source, found: _Text, piece: str, first: bool) -> Edits | None:
    """Write a field at one end of a literal, which becomes an f-string if it is not one."""
    token = found.tokens[0 if first else -1]
    body = _body(source, found, token)
    at = found.at
    start, end = at + token.body_start, at + token.body_end
    if token.is_formatted:
        edge = start if first else end
        return (Edit(edge, edge, piece),)
    if "\\N{" in body:
        return None
    prefix = "f" if token.prefix in ("", "u", "U") else "f" + token.prefix
    escaped = body.replace("{", "{{").replace("}", "}}")
    return (
        Edit(at + token.start, at + token.start + len(token.prefix), prefix),
        Edit(start, end, piece + escaped if first else escaped + piece),
    )


def _fits_a_field(field: str) -> bool:
    if re.search(r"[\"'\\#\r\n!:{}]", field):
        return False
    try:
        return isinstance(ast.parse(field, mode="eval").body, _SIMPLE_FIELD)
    except SyntaxError:
        return False


def _edge(source: Source, tree: Tree, node: ast.expr, end: int) -> _Text | None:
    """The literal with which a tag begins (``end`` 0) or ends (-1); None when it is not a literal there."""
    template = ""
    while True:
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            node = node.left if end == 0 else node.right
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) and not template:
            node, template = node.left, "%"
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "format"
            and not template
        ):
            node, template = node.func.value, "{"
        else:
            break
    if not isinstance(node, ast.Constant | ast.JoinedStr):
        return None
    return _literal(source, tree, node, template)


def _literal(source: Source, tree: Tree, node: ast.Constant | ast.JoinedStr, template: str) -> _Text | None:
    if isinstance(node, ast.Constant) and not isinstance(node.value, str):
        return None
    if in_fstring(tree, node):
        return None
    start, end = span(source, node)
    tokens = literals(source.text[start:end])
    return None if tokens is None else _Text(start, tokens, template)


def _body(source: Source, found: _Text, token: Literal) -> str:
    return source.text[found.at + token.body_start : found.at + token.body_end]


def _in_literal_text(body: str, start: int, end: int, token: Literal) -> bool:
    """Whether a stretch of a literal's body is plain text: no field of an f-string, no half of an escape."""
    head = body[:start]
    if not token.is_raw and (len(head) - len(head.rstrip("\\"))) % 2:
        return False
    if not token.is_formatted:
        return True
    depth = 0
    for index, char in enumerate(body[:end].replace("{{", "\0\0").replace("}}", "\0\0")):
        depth += (char == "{") - (char == "}")
        if index >= start and depth:
            return False
    return depth == 0


def _operand(source: Source, tree: Tree, node: ast.expr) -> tuple[int, int, str, str]:
    """Span of an expression and the parentheses it needs as a side of ``+``."""
    start, end = parenthesised_span(source, tree, node)
    loose = isinstance(node, ast.IfExp | ast.BoolOp | ast.Compare | ast.Lambda | ast.NamedExpr | ast.BinOp)
    if loose and (start, end) == span(source, node) and not _is_product(node):
        return start, end, "(", ")"
    return start, end, "", ""


def _is_product(node: ast.expr) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod | ast.Add)
