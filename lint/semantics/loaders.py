"""Calls that build a ``torch.utils.data.DataLoader``, and how many workers they ask for."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchlint.semantics.classes import definition, is_subclass, method
from torchlint.semantics.names import UNKNOWN as NO_NAME
from torchlint.semantics.project import Definition
from torchlint.semantics.tree import FunctionNode, walk
from torchlint.semantics.values import ABSENT, UNKNOWN, Known, Possible

if TYPE_CHECKING:
    from torchlint.semantics.program import Program

DATA_LOADER = "torch.utils.data.DataLoader"
WORKERS_POSITION = 5
_PARAMETERS = (
    "dataset", "batch_size", "shuffle", "sampler", "batch_sampler", "num_workers", "collate_fn", "pin_memory",
    "drop_last", "timeout", "worker_init_fn",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Loader:
    """A call that builds a loader.

    ``workers`` is what may arrive as ``num_workers``; ``zeros`` are the expressions in which a count of 0 is
    written, empty when it is left out on every path.
    """

    call: ast.Call
    workers: tuple[Possible, ...]
    zeros: tuple[ast.expr, ...]
    no_workers: bool


def loaders(program: Program) -> Iterator[Loader]:
    """The loaders a file builds, in source order; a class held in a variable counts when every value of it is a
    loader.
    """
    for call in program.tree.calls:
        if is_loader_class(program, call.func):
            workers = program.values.argument(call, "num_workers", WORKERS_POSITION)
            zeros: list[ast.expr] = []
            none = True
            for value in workers:
                written = _zero(program, value)
                none = none and written is not None
                zeros.extend(written or ())
            yield Loader(call, workers, tuple(dict.fromkeys(zeros)), none and bool(workers))


def _zero(program: Program, value: Possible) -> tuple[ast.expr, ...] | None:
    """Where the 0 is written that a value certainly is; nothing for an argument left out; None for any other value."""
    if value is ABSENT:
        return ()
    constant = program.values.constant(value) if isinstance(value, ast.expr) else UNKNOWN
    if isinstance(constant, Known) and isinstance(constant.value, int) and constant.value == 0:
        return constant.written
    return None


def is_loader_class(program: Program, expr: ast.expr, depth: int = 5) -> bool:
    """Whether an expression certainly is torch's class or a subclass in reach that adds no logic about workers."""
    names = program.names.of(expr)
    if names == {DATA_LOADER}:
        return True
    if depth == 0 or not any(name in (NO_NAME, DATA_LOADER) or _is_in_project(name) for name in names):
        return False
    if isinstance(expr, ast.IfExp):
        return all(is_loader_class(program, arm, depth - 1) for arm in (expr.body, expr.orelse))
    if isinstance(expr, ast.Attribute):
        return _is_subclass(program, expr)
    if not isinstance(expr, ast.Name):
        return False
    bindings = program.scopes.reaching(expr)
    if bindings and all(b.kind == "assign" and b.value is not None for b in bindings):
        return all(is_loader_class(program, b.value, depth - 1) for b in bindings if b.value is not None)
    return _is_subclass(program, expr)


def _is_in_project(name: str) -> bool:
    return not name.startswith(("builtins.", "torch.", "numpy."))


def _is_subclass(program: Program, expr: ast.expr) -> bool:
    found = definition(program, expr)
    return found is not None and isinstance(found.node, ast.ClassDef) and _is_plain_subclass(found)


def _is_plain_subclass(owner: Definition) -> bool:
    if is_subclass(owner, DATA_LOADER) is not True:
        return False
    constructor = method(owner, "__init__")
    return constructor is None or _passes_on(constructor.node)


def _passes_on(constructor: FunctionNode | ast.ClassDef) -> bool:
    """Whether a constructor hands ``*args, **kwargs`` to the one above it and says nothing about workers."""
    assert not isinstance(constructor, ast.ClassDef)
    arguments = constructor.args
    if arguments.vararg is None or arguments.kwarg is None or len(arguments.args) != 1 or arguments.kwonlyargs:
        return False
    if any(isinstance(node, ast.Constant) and node.value == "num_workers" for node in walk(constructor)):
        return False
    return any(
        isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "__init__"
        and any(isinstance(a, ast.Starred) and _is_name(a.value, arguments.vararg.arg) for a in node.args)
        and [k.arg for k in node.keywords] == [None] and _is_name(node.keywords[0].value, arguments.kwarg.arg)
        for node in walk(constructor)
    )  # fmt: skip


def _is_name(expr: ast.expr, name: str) -> bool:
    return isinstance(expr, ast.Name) and expr.id == name


def loader_argument(program: Program, call: ast.Call, name: str) -> ast.expr | None:
    """The one expression a loader gets for a parameter; None when it is left out, unknown or not the same on every
    path.
    """
    values = program.values.argument(call, name, _PARAMETERS.index(name))
    return values[0] if len(values) == 1 and isinstance(values[0], ast.expr) else None


def only_counts_workers(program: Program, zero: ast.expr) -> bool:
    """Whether a written 0 serves as a number of workers and for nothing else, so that it may be replaced where it
    stands.
    """
    parent = program.tree.parent(zero)
    if isinstance(parent, ast.keyword):
        return parent.arg == "num_workers"
    if isinstance(parent, ast.Dict):
        at = parent.values.index(zero)
        key = program.values.constant(parent.keys[at] or UNKNOWN)
        return isinstance(key, Known) and key.value == "num_workers"
    if isinstance(parent, ast.Assign) and isinstance(parent.targets[0], ast.Subscript):
        return True
    if not isinstance(parent, ast.Assign | ast.AnnAssign):
        return False
    targets = parent.targets if isinstance(parent, ast.Assign) else [parent.target]
    if len(targets) != 1 or not isinstance(targets[0], ast.Name):
        return False
    name = targets[0].id
    uses = [n for n in program.tree.nodes if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load)]
    return all(_counts_workers(program, use) for use in uses)


def _counts_workers(program: Program, use: ast.Name) -> bool:
    parent = program.tree.parent(use)
    if isinstance(parent, ast.keyword):
        return parent.arg in ("num_workers", "workers", "persistent_workers")
    if isinstance(parent, ast.Dict):
        key = parent.keys[parent.values.index(use)] if use in parent.values else None
        return isinstance(key, ast.Constant) and key.value == "num_workers"
    if isinstance(parent, ast.Call):
        return use in parent.args[WORKERS_POSITION : WORKERS_POSITION + 1] or (
            isinstance(parent.func, ast.Name) and parent.func.id == "print"
        )
    return isinstance(parent, ast.Compare | ast.IfExp | ast.If | ast.BoolOp | ast.FormattedValue)
