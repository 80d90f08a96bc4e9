"""Batches: which loader a loop runs over, and where what it yields is moved to an accelerator."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchlint.semantics.callers import call_sites
from torchlint.semantics.classes import attribute_values, bind, definition, self_name
from torchlint.semantics.devices import place
from torchlint.semantics.loaders import is_loader_class
from torchlint.semantics.moves import cuda_calls, is_accelerator, moved_to
from torchlint.semantics.project import Definition
from torchlint.semantics.tree import FUNCTIONS, last_name, walk

if TYPE_CHECKING:
    from torchlint.semantics.program import Program

_CUDA = re.compile(r"cuda|accelerator|\bxpu\b")
_AROUND = frozenset(
    {"enumerate", "tqdm", "trange", "iter", "list", "islice", "cycle", "track", "progress_bar", "notebook_tqdm"}
)
_MANY = frozenset({"zip", "chain"})


@dataclass(frozen=True, slots=True)
class Transfer:
    """A move of (a part of) a batch to an accelerator; ``loaders`` are the calls that may have built its loader,
    ``unpacked`` is set when the batch was taken apart, so that the value is no container.
    """

    call: ast.Call
    loaders: frozenset[ast.Call]
    unpacked: bool


def transfers(program: Program) -> list[Transfer]:
    """The moves of batches in a file, in source order."""
    memo: dict[ast.AST, list[Transfer]] = program.memo("batches.transfers")
    if program.module not in memo:
        memo[program.module] = list(_transfers(program))
    return memo[program.module]


def _transfers(program: Program) -> Iterator[Transfer]:
    cuda = set(cuda_calls(program))
    for call in program.tree.calls:
        if call not in cuda and not _moves_to_accelerator(program, call):
            continue
        assert isinstance(call.func, ast.Attribute)
        root = _root(call.func.value)
        if root is None:
            continue
        sources = [
            _batch(program, binding.statement, binding.node, binding.kind) for binding in program.scopes.reaching(root)
        ]
        found: frozenset[ast.Call] = frozenset()
        for source in sources:
            if source is None or not source[0]:
                break
            found |= source[0]
        else:
            if found:
                whole = call.func.value is root and not all(source[1] for source in sources if source)
                yield Transfer(call, found, not whole)


def _moves_to_accelerator(program: Program, call: ast.Call) -> bool:
    """Whether a ``.to(...)`` goes to a device that may be a GPU as far as this file says."""
    device = moved_to(call)
    if device is None:
        return False
    found = place(program, device)
    if not is_accelerator(found) or found.follows:
        return False
    return _CUDA.search(program.source.text) is not None and not _is_other(device)


def _is_other(device: ast.expr) -> bool:
    return (
        isinstance(device, ast.Constant) and isinstance(device.value, str) and device.value.startswith(("mps", "xla"))
    )


def _root(expr: ast.expr) -> ast.Name | None:
    """``x``, ``batch["image"]``, ``batch[0]``, ``data.x``: the name behind a part of a batch."""
    while isinstance(expr, ast.Subscript | ast.Attribute):
        expr = expr.value
    return expr if isinstance(expr, ast.Name) else None


def _batch(
    program: Program, statement: ast.stmt | None, node: ast.AST, kind: str, depth: int = 3
) -> tuple[frozenset[ast.Call], bool] | None:
    """The loaders whose batches a binding stands for, and whether it is an element of one; None for anything else."""
    if kind == "for":
        return _loop_variable(program, statement, node)
    if kind not in ("assign", "unpack") or not isinstance(statement, ast.Assign) or depth == 0:
        return None
    value = statement.value
    if isinstance(value, ast.Call) and _is_next(value) and value.args:
        found = loaders_of(program, value.args[0])
        return (found, kind == "unpack" or isinstance(program.tree.parent(node), ast.Tuple)) if found else None
    root = _root(value)
    if root is None or (kind == "assign" and isinstance(value, ast.Name)):
        return None
    inner = [_batch(program, b.statement, b.node, b.kind, depth - 1) for b in program.scopes.reaching(root)]
    if not inner or any(each is None for each in inner):
        return None
    return frozenset().union(*(each[0] for each in inner if each)), True


def _is_next(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Name) and call.func.id == "next"


def _loop_variable(
    program: Program, statement: ast.stmt | None, node: ast.AST
) -> tuple[frozenset[ast.Call], bool] | None:
    holder: ast.AST | None = node
    while holder is not None and not isinstance(holder, ast.For | ast.AsyncFor | ast.comprehension):
        holder = program.tree.parent(holder)
    if not isinstance(holder, ast.For | ast.AsyncFor | ast.comprehension):
        return None
    target, iterable = holder.target, holder.iter
    while isinstance(iterable, ast.Call) and iterable.args:
        name = _callee(iterable)
        if name == "enumerate" and isinstance(target, ast.Tuple) and len(target.elts) == 2:
            target = target.elts[1]
        elif (
            name in _MANY and name == "zip" and isinstance(target, ast.Tuple) and len(target.elts) == len(iterable.args)
        ):
            at = next((i for i, part in enumerate(target.elts) if any(n is node for n in walk(part))), None)
            if at is None:
                return None
            target, iterable = target.elts[at], iterable.args[at]
            continue
        elif name not in _AROUND:
            break
        iterable = iterable.args[0]
    if not any(n is node for n in walk(target)):
        return None  # the counter
    if isinstance(iterable, ast.Call) and isinstance(iterable.func, ast.Attribute):
        return _entries(program, iterable)
    found = loaders_of(program, iterable)
    if not found:
        return _entries(program, iterable)
    return found, target is not node


def _entries(program: Program, iterable: ast.expr) -> tuple[frozenset[ast.Call], bool] | None:
    """``for t in batch``, ``for k, v in batch.items()``: the elements of a batch."""
    if isinstance(iterable, ast.Call):
        if not isinstance(iterable.func, ast.Attribute) or iterable.func.attr not in ("items", "values"):
            return None
        iterable = iterable.func.value
    if not isinstance(iterable, ast.Name):
        return None
    inner = [_batch(program, b.statement, b.node, b.kind, 1) for b in program.scopes.reaching(iterable)]
    if not inner or any(each is None for each in inner):
        return None
    return frozenset().union(*(each[0] for each in inner if each)), True


def _callee(call: ast.Call) -> str:
    return last_name(call.func)


def loaders_of(program: Program, expr: ast.expr, depth: int = 6) -> frozenset[ast.Call]:
    """The calls of this file that may have built the loader meant; empty when one is out of sight."""
    if depth == 0:
        return frozenset()
    if isinstance(expr, ast.Call):
        if is_loader_class(program, expr.func):
            return frozenset({expr})
        if _callee(expr) in _AROUND and expr.args:
            return loaders_of(program, expr.args[0], depth - 1)
        return _returned(program, expr, None, depth)
    if isinstance(expr, ast.IfExp):
        return _all([loaders_of(program, part, depth - 1) for part in (expr.body, expr.orelse)])
    if isinstance(expr, ast.Subscript):
        return _entry(program, expr.value, depth)
    if isinstance(expr, ast.Attribute):
        return _attribute(program, expr, depth)
    if not isinstance(expr, ast.Name):
        return frozenset()
    parts: list[frozenset[ast.Call]] = []
    for binding in program.scopes.reaching(expr):
        value = binding.value
        if binding.kind == "param" and isinstance(binding.node, ast.arg):
            parts.append(_parameter(program, binding.node, depth))
        elif binding.kind in ("assign", "walrus") and value is not None:
            if not (isinstance(value, ast.Constant) and value.value is None):
                parts.append(loaders_of(program, value, depth - 1))
        elif binding.kind == "unpack" and isinstance(value, ast.Call):
            parts.append(_returned(program, value, binding.index, depth))
        else:
            parts.append(frozenset())
    return _all(parts)


def _all(parts: list[frozenset[ast.Call]]) -> frozenset[ast.Call]:
    """The union, when every part is known."""
    return frozenset().union(*parts) if parts and all(parts) else frozenset()


def _entry(program: Program, expr: ast.expr, depth: int) -> frozenset[ast.Call]:
    """``loaders["train"]`` of a dict or list that the file writes out."""
    for value in program.values.alternatives(expr):
        if isinstance(value, ast.Dict):
            return _all([loaders_of(program, item, depth - 1) for item in value.values])
        if isinstance(value, ast.List | ast.Tuple):
            return _all([loaders_of(program, item, depth - 1) for item in value.elts])
        if isinstance(value, ast.DictComp | ast.ListComp):
            return loaders_of(program, value.value if isinstance(value, ast.DictComp) else value.elt, depth - 1)
    return frozenset()


def _returned(program: Program, call: ast.Call, index: int | None, depth: int) -> frozenset[ast.Call]:
    """What a function of this file returns, or one element of the tuple it returns."""
    found = definition(program, call.func)
    if found is None or found.program is not program or not isinstance(found.node, FUNCTIONS):
        return frozenset()
    parts = []
    for node in walk(found.node):
        if isinstance(node, ast.Return) and node.value is not None and program.tree.function(node) is found.node:
            value = node.value
            if index is not None:
                if not isinstance(value, ast.Tuple) or index >= len(value.elts):
                    return frozenset()
                value = value.elts[index]
            parts.append(loaders_of(program, value, depth - 1))
    return _all(parts)


def _parameter(program: Program, arg: ast.arg, depth: int) -> frozenset[ast.Call]:
    """What the calls of this file pass."""
    function = program.tree.parent(program.tree.parents[arg])
    if not isinstance(function, FUNCTIONS):
        return frozenset()
    parts = []
    for site in call_sites(program, function):
        filled = bind(site.call, function, bound=site.bound) if site.program is program else None
        given = filled.get(arg.arg) if filled is not None else None
        parts.append(loaders_of(program, given, depth - 1) if given is not None else frozenset())
    return _all(parts)


def _attribute(program: Program, expr: ast.Attribute, depth: int) -> frozenset[ast.Call]:
    function = program.tree.function(expr)
    while function is not None and program.tree.class_of(function) is None:
        function = program.tree.function(function)
    cls = program.tree.class_of(function) if function is not None else None
    if cls is None or not isinstance(function, FUNCTIONS) or not isinstance(expr.value, ast.Name):
        return frozenset()
    if self_name(function) != expr.value.id:
        return frozenset()
    values = [v for where, v in attribute_values(Definition(program, cls), expr.attr) if where is program]
    values = [value for value in values if not (isinstance(value, ast.Constant) and value.value is None)]
    return _all([loaders_of(program, value, depth - 1) for value in values])
