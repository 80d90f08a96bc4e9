"""The verb that switches a module to eval mode for a stretch of code and gives it its earlier mode back at every
exit.
"""

from __future__ import annotations

import ast
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from torchlint.findings import Edit
from torchlint.fixers.blocks import place_of
from torchlint.fixers.layout import Edits, code
from torchlint.fixers.statements import insert_after, insert_before, is_docstring, replace_statement
from torchlint.semantics.tree import LOOPS, SCOPES, Tree, children, walk, walk_scope
from torchlint.source import Source

_PURE_BUILTINS = {
    "abs",
    "bool",
    "dict",
    "float",
    "int",
    "len",
    "list",
    "max",
    "min",
    "round",
    "set",
    "str",
    "sum",
    "tuple",
}
_PURE_MODULES = {"torch", "np", "numpy", "math"}
_PURE_METHODS = {"item", "mean", "sum", "cpu", "numpy", "tolist", "detach", "float", "div", "items", "keys", "values"}


@dataclass(slots=True)
class _Exits:
    """The statements through which control leaves a region, apart from falling off its end."""

    leaving: list[ast.stmt] = field(default_factory=list)
    suspends: bool = False


def surround_with_mode(
    source: Source, tree: Tree, region: Sequence[ast.stmt], receiver: str, taken: Container[str]
) -> Edits | None:
    """Put ``receiver.eval()`` before ``region`` and restore the earlier mode at each of its exits.

    ``region`` are neighbouring statements of one block, or a whole function body (its docstring stays first).
    ``taken`` are the names in use around it. The result reads::

        was_training = model.training
        model.eval()
        <region, with model.train(was_training) before each return, break or continue that leaves it>
        model.train(was_training)

    A returned expression that may run the model is bound to a name first, so that it is evaluated in eval mode.
    Exceptions leave the mode as it is. Refuses a region that suspends (``yield``, ``await``), where another piece of
    the program would see the switched mode, and one-line bodies that cannot be taken apart.
    """
    statements = list(region[1:]) if region and is_docstring(region[0]) else list(region)
    if not statements:
        return None
    exits = find_exits(statements)
    if exits.suspends:
        return None
    saved = fresh_name("was_training", taken)
    result = fresh_name("result", taken)
    restore = f"{receiver}.train({saved})"
    enter = [f"{saved} = {receiver}.training", f"{receiver}.eval()"]
    edits: list[Edit] = []
    for leaving in exits.leaving:
        rows = [*enter, restore] if leaving is statements[0] else [restore]
        new = _exit(source, tree, leaving, receiver, result, rows)
        if new is None:
            return None
        edits.extend(new)
    if statements[0] not in exits.leaving:
        before = insert_before(source, tree, statements[0], enter)
        if before is None:
            return None
        edits.extend(before)
    if not always_leaves(statements):
        after = insert_after(source, tree, statements[-1], [restore])
        if after is None:
            return None
        edits.extend(after)
    return _without_conflict(edits)


def insert_before_each_exit(
    source: Source, tree: Tree, region: Sequence[ast.stmt], receiver: str, rows: Sequence[str], taken: Container[str]
) -> Edits | None:
    """Insert rows before each ``return``, ``break`` or ``continue`` that leaves ``region`` and behind its end.

    A returned expression that may use ``receiver`` is evaluated before the rows run. Refuses as
    :func:`surround_with_mode`.
    """
    exits = find_exits(region)
    if exits.suspends or not region:
        return None
    edits: list[Edit] = []
    for leaving in exits.leaving:
        new = _exit(source, tree, leaving, receiver, fresh_name("result", taken), list(rows))
        if new is None:
            return None
        edits.extend(new)
    if not always_leaves(region):
        after = insert_after(source, tree, region[-1], rows)
        if after is None:
            return None
        edits.extend(after)
    return _without_conflict(edits)


def fresh_name(name: str, taken: Container[str]) -> str:
    """``name``, or ``name_2``, ``name_3``… when it is taken."""
    number, candidate = 1, name
    while candidate in taken:
        number += 1
        candidate = f"{name}_{number}"
    return candidate


def find_exits(region: Iterable[ast.stmt]) -> _Exits:
    """The ``return``, ``break`` and ``continue`` statements that leave ``region``, and whether it suspends."""
    exits = _Exits()
    for statement in region:
        _collect(statement, False, exits)
    return exits


def _collect(statement: ast.AST, in_loop: bool, exits: _Exits) -> None:
    if isinstance(statement, SCOPES):
        return
    if isinstance(statement, ast.AsyncFor | ast.AsyncWith):
        exits.suspends = True
    if isinstance(statement, ast.Return) or (isinstance(statement, ast.Break | ast.Continue) and not in_loop):
        exits.leaving.append(statement)
    for child in children(statement):
        if isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
            inside = isinstance(statement, LOOPS) and child not in statement.orelse
            _collect(child, in_loop or inside, exits)
        elif any(isinstance(node, ast.Yield | ast.YieldFrom | ast.Await) for node in walk_scope(child)):
            exits.suspends = True


def always_leaves(block: Sequence[ast.stmt]) -> bool:
    """Whether the end of a block is never reached: each path returns, raises, breaks or continues, or loops for ever."""
    if not block:
        return False
    last = block[-1]
    if isinstance(last, ast.Return | ast.Raise | ast.Break | ast.Continue):
        return True
    if isinstance(last, ast.If):
        return always_leaves(last.body) and always_leaves(last.orelse)
    if isinstance(last, ast.With | ast.AsyncWith):
        return always_leaves(last.body) and not _may_swallow(last)
    if isinstance(last, ast.Try):
        handlers = all(always_leaves(handler.body) for handler in last.handlers)
        return always_leaves(last.finalbody) or (handlers and always_leaves([*last.body, *last.orelse]))
    if isinstance(last, ast.While) and isinstance(last.test, ast.Constant) and last.test.value:
        return not any(isinstance(leaving, ast.Break) for leaving in find_exits(last.body).leaving)
    return False


def _may_swallow(statement: ast.With | ast.AsyncWith) -> bool:
    """Whether a context manager may end an exception, so that control goes on behind the block."""
    names = {
        node.attr if isinstance(node, ast.Attribute) else node.id
        for item in statement.items
        for node in walk(item.context_expr)
        if isinstance(node, ast.Attribute | ast.Name)
    }
    return not names & {"no_grad", "inference_mode", "set_grad_enabled", "autocast", "enable_grad", "open"}


def _exit(source: Source, tree: Tree, leaving: ast.stmt, receiver: str, result: str, rows: list[str]) -> Edits | None:
    if not isinstance(leaving, ast.Return) or leaving.value is None or not may_run(leaving.value, receiver):
        return insert_before(source, tree, leaving, rows)
    value = code(source, leaving.value)
    if isinstance(leaving.value, ast.Tuple) and any(isinstance(item, ast.Starred) for item in leaving.value.elts):
        return None
    place = place_of(source, tree, leaving)
    text = source.text[place.start : place.end]
    bound = f"{result} = {text[len('return') :].lstrip()}" if text.startswith("return") else f"{result} = {value}"
    *before, restore = rows
    return replace_statement(source, tree, leaving, [*before, bound, restore, f"return {result}"])


def may_run(expression: ast.expr, receiver: str) -> bool:
    """Whether evaluating an expression may call what ``receiver`` names, directly or from within another call."""
    root = receiver.partition(".")[0]
    for node in walk(expression):
        if isinstance(node, ast.Call) and not _is_pure(node, root):
            return True
        if isinstance(node, ast.Name) and node.id == root and "." not in receiver:
            return True
    return False


def _is_pure(call: ast.Call, root: str) -> bool:
    function = call.func
    if isinstance(function, ast.Name):
        return function.id in _PURE_BUILTINS and not call.keywords
    if not isinstance(function, ast.Attribute):
        return False
    base: ast.expr = function.value
    while isinstance(base, ast.Attribute):
        base = base.value
    if isinstance(base, ast.Name) and base.id in _PURE_MODULES:
        return True
    return function.attr in _PURE_METHODS and not (
        isinstance(base, ast.Name) and base.id == root and base is function.value
    )


def _without_conflict(edits: list[Edit]) -> Edits | None:
    """The edits in order, or None when two of them want the same stretch."""
    ordered = sorted(set(edits))
    for one, other in pairwise(ordered):
        if other.start < one.end or (one.start == one.end == other.start == other.end):
            return None
    return tuple(ordered)
