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
ScopeNode = ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda
N = TypeVar("N", bound=ast.AST)

COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
LOOPS = (ast.For, ast.AsyncFor, ast.While)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
SCOPES = (*FUNCTIONS, ast.Lambda, ast.ClassDef)
_SKIPPED = (ast.expr_context, ast.operator, ast.unaryop, ast.cmpop, ast.boolop)


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
    for name in node._fields:
        value = getattr(node, name, None)
        if value.__class__ is list:
            found.extend(item for item in value if isinstance(item, ast.AST) and not isinstance(item, _SKIPPED))
        elif isinstance(value, ast.AST) and not isinstance(value, _SKIPPED):
            found.append(value)
    return found


def build_tree(module: ast.Module) -> Tree:
    """Index a module in one pass."""
    tree = Tree(module)
    parents, blocks, nodes = tree.parents, tree.blocks, tree.nodes
    stack: list[ast.AST] = [module]
    while stack:
        node = stack.pop()
        nodes.append(node)
        if isinstance(node, ast.Call):
            tree.calls.append(node)
        elif isinstance(node, ast.With | ast.AsyncWith):
            tree.withs.append(node)
        elif isinstance(node, FUNCTIONS):
            tree.functions.append(node)
        elif isinstance(node, ast.ClassDef):
            tree.classes.append(node)
        below: list[ast.AST] = []
        for name in node._fields:
            value = getattr(node, name, None)
            if value.__class__ is list:
                for index, item in enumerate(value):
                    if isinstance(item, ast.stmt):
                        blocks[item] = (value, index)
                        parents[item] = node
                        below.append(item)
                    elif isinstance(item, ast.AST) and not isinstance(item, _SKIPPED):
                        parents[item] = node
                        below.append(item)
            elif isinstance(value, ast.AST) and not isinstance(value, _SKIPPED):
                parents[value] = node
                below.append(value)
        below.reverse()
        stack.extend(below)
    return tree
