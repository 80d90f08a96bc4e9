"""Values kept from one turn of a loop to the next together with the graph they came from."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchlint.semantics.backward import Carrier, backwards, graphs
from torchlint.semantics.callers import call_sites
from torchlint.semantics.classes import attribute_values, self_name
from torchlint.semantics.gradients import decorator_switch, switch
from torchlint.semantics.project import Definition
from torchlint.semantics.tree import FUNCTIONS, walk, walk_scope

if TYPE_CHECKING:
    from torchlint.semantics.loops import Loop
    from torchlint.semantics.program import Program

_NUMERIC = frozenset({
    "print", "float", "int", "len", "round", "str", "min", "max", "sum", "abs", "format", "isnan", "isinf", "zip",
    "add_scalar", "set_postfix", "set_description", "info", "debug", "warning", "write", "log", "plot", "append",
    "enumerate", "mean", "average", "std", "array", "asarray", "exp", "sqrt", "range", "repr", "set_postfix_str",
    "list", "sorted", "fmean",
})  # fmt: skip
_LIST_METHODS = frozenset({"append", "extend", "clear", "pop", "copy", "sort", "reverse", "index", "insert"})


_LISTS = ("builtins.list", "collections.deque", "collections.defaultdict", "builtins.dict")


@dataclass(frozen=True, slots=True)
class Retained:
    """``target`` keeps ``leaves`` with their graphs; ``whole`` is what is added or appended."""

    statement: ast.stmt
    target: ast.expr
    whole: ast.expr
    leaves: tuple[tuple[ast.expr, Carrier], ...]
    listed: bool


def retained(program: Program) -> Iterator[Retained]:
    """The sums and lists of a file that keep graphs, in source order."""
    if not backwards(program):
        return
    for node in program.tree.nodes:
        for target, whole, listed in _kept(node):
            statement = program.tree.statement(node)
            leaves = tuple(graphs(program).leaves(whole, statement))
            if (
                leaves
                and (not listed or _may_be_list(program, target))
                and _outlives_turn(program, statement, target)
                and not _without_gradients(program, statement)
                and not _propagated(program, target, statement)
            ):
                yield Retained(statement, target, whole, leaves, listed)


def _kept(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr, bool]]:
    """Targets that are added to, with what is added: ``t += x``, ``t = t + x``, ``t.append(x)``."""
    if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add):
        if isinstance(node.value, ast.List):
            yield from ((node.target, item, True) for item in node.value.elts)
        else:
            yield node.target, node.value, False
    elif isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.value, ast.BinOp):
        target, value = node.targets[0], node.value
        if isinstance(value.op, ast.Add) and isinstance(target, ast.Name | ast.Attribute | ast.Subscript):
            for same, other in ((value.left, value.right), (value.right, value.left)):
                if ast.unparse(same) == ast.unparse(target):
                    yield target, other, False
                    break
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        call = node.value
        if isinstance(call.func, ast.Attribute) and call.func.attr == "append" and len(call.args) == 1:
            yield call.func.value, call.args[0], True


def _may_be_list(program: Program, target: ast.expr) -> bool:
    """Whether what is appended to may be a list; an object of some class may keep no more than a number."""
    values: list[tuple[Program, ast.expr]] = []
    if isinstance(target, ast.Name):
        values = [(program, b.value) for b in program.scopes.reaching(target) if b.value is not None]
    elif isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name):
        function = program.tree.function(target)
        cls = program.tree.class_of(function) if function is not None else None
        if cls is not None and isinstance(function, FUNCTIONS) and self_name(function) == target.value.id:
            values = attribute_values(Definition(program, cls), target.attr)
    return not any(
        isinstance(value, ast.Call) and not where.names.matches(value.func, *_LISTS) for where, value in values
    )


# -- whether it is kept -----------------------------------------


def _outlives_turn(program: Program, statement: ast.stmt, target: ast.expr) -> bool:
    """Whether the target lives on from one training step to the next."""
    root = target
    while isinstance(root, ast.Attribute | ast.Subscript):
        root = root.value
    if not isinstance(root, ast.Name):
        return False
    loops = list(program.tree.loops(statement))
    for number, loop in enumerate(loops):
        if _begun_in(program, loop, target, root.id, statement):
            return False
        if _trains(loop) or number == len(loops) - 1:
            return True
    return False


def _begun_in(program: Program, loop: Loop, target: ast.expr, root: str, kept: ast.stmt) -> bool:
    """Whether each turn of the loop begins the target anew; a reset under an ``if`` only shortens what is kept."""
    words = {ast.unparse(target), root}
    if isinstance(loop, ast.For | ast.AsyncFor) and any(
        isinstance(n, ast.Name) and n.id == root for n in walk(loop.target)
    ):
        return True
    return any(
        _begins(program, node, words, kept) and not _under_condition(program, node, loop) for node in walk_scope(loop)
    )


def _begins(program: Program, node: ast.AST, words: set[str], kept: ast.stmt) -> bool:
    """Whether a node assigns the target (or what it is part of) anew, or empties it."""
    if isinstance(node, ast.Name | ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store):
        statement = program.tree.statement(node)
        adds = statement is kept or isinstance(statement, ast.AugAssign) or any(_kept(statement))
        return not adds and ast.unparse(node) in words
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("clear", "zero_"):
        return ast.unparse(node.func.value) in words
    return False


def _under_condition(program: Program, node: ast.AST, loop: Loop) -> bool:
    for ancestor in program.tree.ancestors(node):
        if ancestor is loop:
            return False
        if isinstance(ancestor, ast.If | ast.Try):
            return True
    return False


def _trains(loop: Loop) -> bool:
    """Whether a loop makes training steps."""
    return any(
        isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute) and n.func.attr == "step"
        for n in walk_scope(loop)
    )


def _without_gradients(program: Program, node: ast.AST) -> bool:
    """Whether a node stands where gradients are off, so that sums carry no graph."""
    for ancestor in program.tree.ancestors(node):
        if isinstance(ancestor, ast.With | ast.AsyncWith):
            found = [switch(program, item.context_expr) for item in ancestor.items]
            if any(each is not None and each[1] is None for each in found):
                return True
        if isinstance(ancestor, FUNCTIONS) and decorator_switch(program, ancestor) is not None:
            return True
    return False


def _propagated(program: Program, target: ast.expr, statement: ast.stmt) -> bool:
    """Whether what is kept, or something computed from it, is back-propagated or handed to autograd."""
    around: ast.AST = program.tree.function(statement) or program.module
    if isinstance(target, ast.Attribute):
        around = next((a for a in program.tree.ancestors(statement) if isinstance(a, ast.ClassDef)), around)
    tainted = {ast.unparse(target)}
    assigned = [n for n in walk(around) if isinstance(n, ast.Assign | ast.AugAssign)]
    for _ in range(3):
        for node in assigned:
            if _mentions(node.value, tainted):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                tainted.update(
                    ast.unparse(t) for t in targets if isinstance(t, ast.Name | ast.Attribute | ast.Subscript)
                )
    return any(_propagates(node, tainted) for node in walk(around) if isinstance(node, ast.Call))


def _propagates(call: ast.Call, words: set[str]) -> bool:
    if not isinstance(call.func, ast.Attribute):
        return False
    if call.func.attr not in ("backward", "manual_backward", "grad", "vjp", "jvp"):
        return False
    return any(_mentions(part, words) for part in (call.func.value, *call.args))


def _mentions(expr: ast.expr, words: set[str]) -> bool:
    return any(isinstance(n, ast.Name | ast.Attribute | ast.Subscript) and ast.unparse(n) in words for n in walk(expr))


# -- how it is used -----------------------------------------


def needs_tensor(program: Program, found: Retained) -> bool:
    """Whether the kept values may have to stay tensors: tensor methods or unseen functions follow."""
    if not all(carrier.scalar for _, carrier in found.leaves):
        return True
    return not _used_as_numbers(program, found.target, found.statement, found.listed, 3)


def _used_as_numbers(program: Program, target: ast.expr, at: ast.AST, listed: bool, depth: int) -> bool:
    if depth == 0 or not isinstance(target, ast.Name | ast.Subscript):
        return False
    scope = program.scopes.owner(target.id, program.scopes.scope_of(at)) if isinstance(target, ast.Name) else None
    if scope is not None and any(_is_tensor(program, b.value) for b in scope.bindings[getattr(target, "id", "")]):
        return False
    around: ast.AST = program.tree.function(at) or program.module
    text = ast.unparse(target)
    uses = [
        node
        for node in walk(around)
        if isinstance(node, ast.Name | ast.Subscript) and isinstance(node.ctx, ast.Load) and ast.unparse(node) == text
    ]
    return all(_is_numeric_use(program, use, listed, depth) for use in uses)


def _is_tensor(program: Program, value: ast.expr | None) -> bool:
    return isinstance(value, ast.Call) and program.names.under(value.func, "torch")


def _is_numeric_use(program: Program, node: ast.expr, listed: bool, depth: int) -> bool:
    parent = program.tree.parent(node)
    if isinstance(parent, ast.Attribute):
        return listed and parent.attr in _LIST_METHODS
    if isinstance(parent, ast.Subscript) and parent.value is node:
        return _is_numeric_use(program, parent, False, depth)
    if isinstance(
        parent, ast.BinOp | ast.UnaryOp | ast.IfExp | ast.keyword | ast.Tuple | ast.List | ast.Starred | ast.BoolOp
    ):
        inner = parent if isinstance(parent, ast.expr) else program.tree.parents[parent]
        if isinstance(inner, ast.Call):
            return _takes_numbers(program, inner)
        return isinstance(inner, ast.expr) and _is_numeric_use(program, inner, listed, depth)
    if isinstance(parent, ast.Call):
        return _takes_numbers(program, parent) and (
            not _gives_its_argument(parent) or _is_numeric_use(program, parent, False, depth)
        )
    if isinstance(parent, ast.Assign):
        if len(parent.targets) != 1 or not isinstance(parent.targets[0], ast.Name):
            return isinstance(parent.targets[0], ast.Subscript)
        target = parent.targets[0]
        return target.id in _names(node) or _used_as_numbers(program, target, parent, listed, depth - 1)
    if isinstance(parent, ast.Return):
        function = program.tree.function(parent)
        sites = call_sites(program, function) if isinstance(function, FUNCTIONS) else []
        return (
            bool(sites)
            and node is parent.value
            and all(
                site.program is program and _is_numeric_use(program, site.call, listed, depth - 1) for site in sites
            )
        )
    return isinstance(parent, ast.FormattedValue | ast.Compare | ast.Expr | ast.AugAssign)


def _names(node: ast.AST) -> set[str]:
    return {n.id for n in walk(node) if isinstance(n, ast.Name)}


def _gives_its_argument(call: ast.Call) -> bool:
    """Built-in functions whose result is a tensor when they are given tensors."""
    return isinstance(call.func, ast.Name) and call.func.id in (
        "sum",
        "min",
        "max",
        "abs",
        "list",
        "sorted",
        "zip",
        "enumerate",
    )


def _takes_numbers(program: Program, call: ast.Call) -> bool:
    if isinstance(call.func, ast.Attribute):
        return call.func.attr in _NUMERIC and not program.names.under(call.func, "torch")
    return isinstance(call.func, ast.Name) and call.func.id in _NUMERIC
