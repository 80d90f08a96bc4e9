"""Verbs on any expression: replace it, put something behind it, put a call around it."""

from __future__ import annotations

import ast

from torchlint.findings import Edit
from torchlint.fixers.layout import Edits, call_layout, in_fstring, skip_trivia, span
from torchlint.semantics.tree import Tree
from torchlint.source import Source

_TIGHT = (
    ast.Name,
    ast.Attribute,
    ast.Call,
    ast.Subscript,
    ast.List,
    ast.Dict,
    ast.Set,
    ast.ListComp,
    ast.SetComp,
    ast.DictComp,
    ast.JoinedStr,
)
_LOOSE = (ast.NamedExpr, ast.Yield, ast.YieldFrom, ast.Starred)


def parenthesised_span(source: Source, tree: Tree, node: ast.expr) -> tuple[int, int]:
    """The span of ``node`` with the parentheses written around it; those that belong to the parent do not count."""
    text = source.text
    start, end = span(source, node)
    lower, upper = _room(source, tree.parent(node), node)
    while True:
        after = skip_trivia(text, end)
        before = _previous(text, start)
        if before < lower or after >= upper or text[before] != "(" or text[after] != ")":
            return start, end
        start, end = before, after + 1


def _room(source: Source, parent: ast.AST | None, node: ast.expr) -> tuple[int, int]:
    """The stretch in which parentheses around a child of ``parent`` are the child's own."""
    if isinstance(parent, ast.Call) and node is not parent.func:
        layout = call_layout(source, parent)
        if layout is None or layout.bare_generator:
            return 0, 0
        return layout.open + 1, layout.close
    if isinstance(parent, ast.ClassDef) and node not in parent.decorator_list:
        return 0, 0
    if parent is None or not hasattr(parent, "lineno") or isinstance(parent, ast.ClassDef):
        return 0, len(source.text)
    return span(source, parent)


def _previous(text: str, at: int) -> int:
    """Offset of the character before blanks and line ends; -1 when a comment may stand there."""
    before = at - 1
    crossed = False
    while before >= 0 and text[before] in " \t\f\r\n":
        crossed = crossed or text[before] in "\r\n"
        before -= 1
    if crossed and "#" in text[max(text.rfind("\n", 0, before + 1), text.rfind("\r", 0, before + 1), 0) : before + 1]:
        return -1
    return before


def _is_tight(node: ast.expr) -> bool:
    """Whether an attribute or a call can follow the expression without parentheses."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str | bytes)
    return isinstance(node, _TIGHT)


def _written_with_parentheses(source: Source, node: ast.expr) -> bool:
    return isinstance(node, ast.Tuple | ast.GeneratorExp) and source.text.startswith("(", span(source, node)[0])


def append_to_expression(source: Source, tree: Tree, node: ast.expr, suffix: str) -> Edits | None:
    """``x`` → ``x.item()``, ``a + b`` → ``(a + b).item()``. Refuses inside an f-string and for a starred expression."""
    if in_fstring(tree, node) or isinstance(node, ast.Starred) or _is_bare_generator(source, tree, node):
        return None
    start, end = parenthesised_span(source, tree, node)
    if (start, end) != span(source, node) or _is_tight(node) or _written_with_parentheses(source, node):
        return (Edit(end, end, suffix),)
    return (Edit(start, start, "("), Edit(end, end, ")" + suffix))


def wrap_expression(source: Source, tree: Tree, node: ast.expr, before: str, after: str = ")") -> Edits | None:
    """``x`` → ``float(x)`` with ``before`` as ``"float("``. Refuses inside an f-string, a starred expression, a
    target.
    """
    if in_fstring(tree, node) or isinstance(node, ast.Starred) or _is_bare_generator(source, tree, node):
        return None
    if isinstance(getattr(node, "ctx", None), ast.Store | ast.Del):
        return None
    start, end = span(source, node)
    if isinstance(node, ast.Tuple | ast.Yield | ast.YieldFrom) and not _written_with_parentheses(source, node):
        before, after = before + "(", ")" + after
    return (Edit(start, start, before), Edit(end, end, after))


def replace_expression(source: Source, tree: Tree, node: ast.expr, new: str) -> Edits | None:
    """Put ``new`` in the place of ``node``, in parentheses where its operators would bind otherwise.

    Refuses inside an f-string and when ``new`` is not one expression.
    """
    if in_fstring(tree, node) or _is_bare_generator(source, tree, node):
        return None
    try:
        parsed = ast.parse(new, mode="eval").body
    except SyntaxError:
        return None
    start, end = span(source, node)
    wrapped = parenthesised_span(source, tree, node) != (start, end)
    if not wrapped and _needs_parentheses(tree.parent(node), node, parsed, new):
        new = f"({new})"
    return (Edit(start, end, new),)


def _needs_parentheses(parent: ast.AST | None, node: ast.expr, new: ast.expr, text: str) -> bool:
    if _is_tight(new) or text.startswith("("):
        return False
    if isinstance(parent, ast.Call):
        return node is parent.func or isinstance(new, ast.Tuple | ast.GeneratorExp | ast.Yield | ast.YieldFrom)
    if isinstance(parent, ast.keyword):
        return isinstance(new, ast.Tuple | ast.GeneratorExp | ast.Yield | ast.YieldFrom | ast.NamedExpr)
    if isinstance(parent, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Return | ast.Expr):
        return isinstance(new, ast.NamedExpr)
    if isinstance(parent, ast.List | ast.Tuple | ast.Set | ast.Dict):
        return isinstance(new, ast.Tuple | ast.NamedExpr | ast.Yield | ast.YieldFrom)
    if isinstance(parent, ast.Subscript) and node is parent.slice:
        return isinstance(new, _LOOSE)
    return not isinstance(new, ast.Constant) or isinstance(parent, ast.Attribute)


def _is_bare_generator(source: Source, tree: Tree, node: ast.expr) -> bool:
    parent = tree.parent(node)
    if not isinstance(node, ast.GeneratorExp) or not isinstance(parent, ast.Call) or node is parent.func:
        return False
    layout = call_layout(source, parent)
    return layout is None or layout.bare_generator
