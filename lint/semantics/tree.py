"""One walk over a parsed module: parents, the place of every statement in its block, and the nodes rules start from.

The standard library's parser is used for meaning: it is written in C, eight times faster than building a LibCST tree, and
every node carries its position.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeVar

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
N = TypeVar("N", bound=ast.AST)

COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
LOOPS = (ast.For, ast.AsyncFor, ast.While)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
SCOPES = (*FUNCTIONS, ast.Lambda, ast.ClassDef)


@dataclass(eq=False, slots=True)
class Tree:
    """The index of one module. ``calls``, ``withs``… are in source order."""

    module: ast.Module
    parents: dict[ast.AST, ast.AST] = field(default_factory=dict)
    blocks: dict[ast.stmt, tuple[list[ast.stmt], int]] = field(default_factory=dict)
    calls: list[ast.Call] = field(default_factory=list)
    withs: list[ast.With | ast.AsyncWith] = field(default_factory=list)
    functions: list[FunctionNode] = field(default_factory=list)
    classes: list[ast.ClassDef] = field(default_factory=list)
    nodes: list[ast.AST] = field(default_factory=list)
    binders: list[ast.AST] = field(default_factory=list)  # what binds names or opens a scope

    def parent(self, node: ast.AST) -> ast.AST | None:
        """The node that holds ``node``; None for the module."""
        return self.parents.get(node)

    def ancestors(self, node: ast.AST) -> Iterator[ast.AST]:
        """Parents from the nearest outwards, the module last."""
        parents = self.parents
        current = parents.get(node)
        while current is not None:
            yield current
            current = parents.get(current)

    def statement(self, node: ast.AST) -> ast.stmt:
        """The innermost statement that holds ``node`` (itself, if it is one)."""
        current: ast.AST | None = node
        while current is not None and not isinstance(current, ast.stmt):
            current = self.parents.get(current)
        if current is None:
            raise ValueError("the node is not part of a statement")
        return current

    def function(self, node: ast.AST) -> FunctionNode | ast.Lambda | None:
        """The function or lambda whose body holds ``node`` (decorators and defaults belong outside)."""
        child = node
        for parent in self.ancestors(node):
            if isinstance(parent, FUNCTIONS) and _in_body(parent, child):
                return parent
            if isinstance(parent, ast.Lambda) and child is parent.body:
                return parent
            child = parent
        return None

    def class_of(self, function: ast.AST) -> ast.ClassDef | None:
        """The class whose body holds the function directly."""
        current = self.parents.get(function)
        while current is not None and isinstance(current, ast.If | ast.Try):
            current = self.parents.get(current)
        return current if isinstance(current, ast.ClassDef) else None

    def within(self, node: ast.AST, kind: type[N]) -> Iterator[N]:
        """All nodes of a type inside ``node``, in source order, ``node`` included."""
        return (child for child in walk(node) if isinstance(child, kind))

    def loops(self, node: ast.AST) -> Iterator[ast.For | ast.AsyncFor | ast.While]:
        """The loops whose body holds ``node``, innermost first, up to the enclosing function."""
        child = node
        for parent in self.ancestors(node):
            if isinstance(parent, LOOPS) and isinstance(child, ast.stmt) and child not in parent.orelse:
                yield parent
            if isinstance(parent, SCOPES):
                return
            child = parent


def _in_body(function: FunctionNode, child: ast.AST) -> bool:
    return isinstance(child, ast.stmt)


def walk(node: ast.AST) -> Iterator[ast.AST]:
    """``node`` and everything below it, parents first, in source order; not recursive, so depth does not matter."""
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        stack.extend(reversed(children(current)))


def last_name(expr: ast.AST) -> str:
    """``DataLoader`` of ``torch.utils.data.DataLoader``; empty for what is no name."""
    if isinstance(expr, ast.Attribute):
        return expr.attr
    return expr.id if isinstance(expr, ast.Name) else ""


def walk_scope(node: ast.AST) -> Iterator[ast.AST]:
    """Like :func:`walk`, but without the bodies of functions, lambdas and classes below ``node``."""
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        if current is not node and isinstance(current, SCOPES):
            continue
        stack.extend(reversed(children(current)))


def children(node: ast.AST) -> list[ast.AST]:
    """Direct child nodes in field order, without operators and contexts."""
    found: list[ast.AST] = []
    for name in _FIELDS[node.__class__]:
        value = getattr(node, name, None)
        if value.__class__ is list:
            found += value
        elif value is not None:
            found.append(value)
    return [child for child in found if child is not None] if node.__class__ in _WITH_GAPS else found


class _Fields(dict[type[ast.AST], tuple[str, ...]]):
    """The fields of each class of nodes that hold nodes: most of a walk's time is looking into fields that never do."""

    def __missing__(self, cls: type[ast.AST]) -> tuple[str, ...]:
        plain = _PLAIN - {"name"} if cls.__name__ == "TypeAlias" else _PLAIN
        plain |= _PLAIN_OF.get(cls, frozenset())
        self[cls] = fields = tuple(name for name in cls._fields if name not in plain)
        return fields


_PLAIN = frozenset({
    "ctx", "op", "ops", "id", "attr", "arg", "name", "asname", "module", "level", "kind", "type_comment", "conversion",
    "is_async", "simple", "kwd_attrs", "rest", "str", "tag", "lineno", "type_ignores",
})  # fmt: skip
_PLAIN_OF: dict[type[ast.AST], frozenset[str]] = {
    ast.Constant: frozenset({"value"}),
    ast.MatchSingleton: frozenset({"value"}),
    ast.Global: frozenset({"names"}),
    ast.Nonlocal: frozenset({"names"}),
}
_WITH_GAPS = frozenset({ast.Dict, ast.arguments})  # None for ``**other``, and for parameters without a default
_FIELDS = _Fields()
_BLOCKS = frozenset({"body", "orelse", "finalbody"})
_BINDERS = frozenset({
    ast.Assign, ast.AnnAssign, ast.AugAssign, ast.For, ast.AsyncFor, ast.comprehension, ast.With, ast.AsyncWith,
    ast.NamedExpr, ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.ExceptHandler,
    ast.Delete, ast.Global, ast.Nonlocal, ast.MatchAs, ast.MatchStar, ast.MatchMapping, ast.Lambda, *COMPREHENSIONS,
})  # fmt: skip


def build_tree(module: ast.Module) -> Tree:
    """Index a module in one pass."""
    tree = Tree(module)
    parents, blocks, nodes, binders = tree.parents, tree.blocks, tree.nodes, tree.binders
    stack: list[ast.AST] = [module]
    while stack:
        node = stack.pop()
        nodes.append(node)
        kind = node.__class__
        if kind is ast.Call:
            tree.calls.append(node)  # type: ignore[arg-type]
        elif kind in _BINDERS:
            binders.append(node)
            if isinstance(node, ast.With | ast.AsyncWith):
                tree.withs.append(node)
            elif isinstance(node, FUNCTIONS):
                tree.functions.append(node)
            elif isinstance(node, ast.ClassDef):
                tree.classes.append(node)
        below: list[ast.AST] = []
        for name in _FIELDS[kind]:
            value = getattr(node, name, None)
            if value.__class__ is list:
                below += value
                if name in _BLOCKS:
                    for index, statement in enumerate(value):
                        blocks[statement] = (value, index)
            elif value is not None:
                below.append(value)
        if not below:
            continue
        if kind in _WITH_GAPS:
            below = [child for child in below if child is not None]
        for child in below:
            parents[child] = node
        below.reverse()
        stack += below
    return tree
