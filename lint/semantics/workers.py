"""What workers would break: datasets and loaders that cannot be handed to other processes, or would yield other
samples.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchlint.semantics.classes import is_subclass, lineage, method, methods, self_name
from torchlint.semantics.datasets import dataset_class
from torchlint.semantics.devices import place
from torchlint.semantics.handles import Kept, is_let_go, is_opened_by, kept
from torchlint.semantics.hazards import Hazard
from torchlint.semantics.project import Definition
from torchlint.semantics.tree import FUNCTIONS, FunctionNode, walk

if TYPE_CHECKING:
    from torchlint.semantics.program import Program

ITERABLE = ("torch.utils.data.IterableDataset",)
_MUTATORS = frozenset(
    {"append", "extend", "update", "setdefault", "add", "insert", "pop", "popitem", "clear", "remove"}
)
_EAGER = frozenset(
    {"sorted", "list", "tuple", "set", "dict", "max", "min", "sum", "map", "filter", "any", "all", "reduce"}
)


_KEPT = {Kept.FILE: Hazard.HANDLE, Kept.DATABASE: Hazard.DATABASE, Kept.OWN: Hazard.OWN}


def hazards(program: Program, loader: ast.Call, dataset: ast.expr | None) -> Iterator[tuple[Hazard, str]]:
    """What workers would break, each with the name of what shows it."""
    found = dataset_class(program, dataset) if dataset is not None else None
    if found is not None:
        yield from _class_hazards(*found)
    for value in (*loader.args, *(word.value for word in loader.keywords)):
        local = _unpicklable(program, value, 6)
        if local is not None:
            yield Hazard.LOCAL, local


def _class_hazards(owner: Definition, call: ast.Call) -> Iterator[tuple[Hazard, str]]:
    program, node = owner.program, owner.node
    name = node.name
    if is_subclass(owner, *ITERABLE) is True and not any(_shards(cls) for cls in lineage(owner)):
        yield Hazard.REPLAYED, name
    if program.tree.function(node) is not None:
        yield Hazard.LOCAL, name
    own = [(cls.program, function) for cls in lineage(owner) for function in methods(cls)]
    others = [function for _, function in own if function.name != "__init__"]
    for where, function in own:
        if function.name == "__init__":
            yield from _constructor_hazards(where, function, others)
    getter = method(owner, "__getitem__")
    if getter is not None and isinstance(getter.node, FUNCTIONS):
        yield from _reading_hazards(owner, getter.node, set())


def _shards(cls: Definition) -> bool:
    return any(
        isinstance(node, ast.Attribute | ast.Name | ast.alias)
        and (getattr(node, "attr", None) or getattr(node, "id", None) or getattr(node, "name", None))
        in ("get_worker_info", "worker_id")
        for node in walk(cls.node)
    )


def _constructor_hazards(
    program: Program, function: FunctionNode, others: list[FunctionNode]
) -> Iterator[tuple[Hazard, str]]:
    instance = self_name(function)
    for node in walk(function):
        if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
            continue
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            if (
                not isinstance(target, ast.Attribute)
                or not isinstance(target.value, ast.Name)
                or target.value.id != instance
            ):
                continue
            what = f"{instance}.{target.attr}"
            found = kept(program, node.value)
            if found is not None and not is_let_go(function, instance, target.attr):
                anew = any(is_opened_by(other, self_name(other), target.attr) for other in others)
                yield (Hazard.OWN if anew else _KEPT[found]), what
            if _unpicklable(program, node.value, 5) is not None:
                yield Hazard.LOCAL, what
            if _is_on_gpu(program, node.value):
                yield Hazard.CUDA, what


def _is_on_gpu(program: Program, expr: ast.expr) -> bool:
    return any(isinstance(node, ast.Call) and _moves_to_gpu(program, node) for node in walk(expr))


def _moves_to_gpu(program: Program, call: ast.Call) -> bool:
    if (
        isinstance(call.func, ast.Attribute)
        and call.func.attr == "cuda"
        and program.names.one(call.func) in (None, "?")
    ):
        return True
    target: ast.expr | None = None
    if isinstance(call.func, ast.Attribute) and call.func.attr == "to" and call.args:
        target = call.args[0]
    for word in call.keywords:
        if word.arg == "device":
            target = word.value
    if target is None or isinstance(target, ast.Starred):
        return False
    found = place(program, target)
    return found.device and not found.cpu


def _reading_hazards(owner: Definition, function: FunctionNode, seen: set[str]) -> Iterator[tuple[Hazard, str]]:
    """Hazards of ``__getitem__`` and of the methods it calls on the dataset."""
    seen.add(function.name)
    program = next((cls.program for cls in lineage(owner) if function in cls.program.tree.functions), owner.program)
    instance = self_name(function)
    for node in walk(function):
        if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                written = _own_attribute(target, instance)
                if written is not None:
                    yield Hazard.STATE, f"{instance}.{written}"
        elif isinstance(node, ast.Call):
            if _moves_to_gpu(program, node):
                yield Hazard.CUDA, function.name
            if isinstance(node.func, ast.Attribute):
                changed = _own_attribute(node.func.value, instance) if node.func.attr in _MUTATORS else None
                if changed is not None:
                    yield Hazard.STATE, f"{instance}.{changed}"
                if (
                    isinstance(node.func.value, ast.Name)
                    and node.func.value.id == instance
                    and node.func.attr not in seen
                ):
                    called = method(owner, node.func.attr)
                    if called is not None and isinstance(called.node, FUNCTIONS):
                        yield from _reading_hazards(owner, called.node, seen)


def _own_attribute(target: ast.expr, instance: str | None) -> str | None:
    """``x`` for ``self.x``, ``self.x[i]`` and ``self.x.y``; for a tuple the first of its own."""
    if isinstance(target, ast.Tuple | ast.List):
        return next((name for t in target.elts if (name := _own_attribute(t, instance)) is not None), None)
    while isinstance(target, ast.Subscript) or (
        isinstance(target, ast.Attribute) and not isinstance(target.value, ast.Name)
    ):
        target = target.value
    if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == instance:
        return target.attr
    return None


def _unpicklable(program: Program, expr: ast.expr, depth: int) -> str | None:
    """The lambda, or the function or class defined inside a function, that an expression keeps; None when it shows
    none.
    """
    if depth == 0:
        return None
    if isinstance(expr, ast.Lambda):
        return "lambda"
    if isinstance(expr, ast.Name):
        return _unpicklable_name(program, expr, depth)
    if isinstance(expr, ast.Call):
        if isinstance(expr.func, ast.Name) and expr.func.id in _EAGER:
            return None
        parts = [expr.func, *expr.args, *(word.value for word in expr.keywords if word.arg != "key")]
        if isinstance(expr.func, ast.Attribute):
            if program.names.one(expr.func) in (None, "?"):
                return _unpicklable(program, expr.func.value, depth - 1)  # data.map(f) has used f up when it returns
            parts = parts[1:]
        return next((found for part in parts if (found := _unpicklable(program, part, depth - 1)) is not None), None)
    if isinstance(expr, ast.List | ast.Tuple):
        return next(
            (found for part in expr.elts if (found := _unpicklable(program, part, depth - 1)) is not None), None
        )
    if isinstance(expr, ast.Dict):
        return next(
            (found for part in expr.values if (found := _unpicklable(program, part, depth - 1)) is not None), None
        )
    if isinstance(expr, ast.IfExp):
        return _unpicklable(program, expr.body, depth - 1) or _unpicklable(program, expr.orelse, depth - 1)
    if isinstance(expr, ast.Starred):
        return _unpicklable(program, expr.value, depth - 1)
    return None


def _unpicklable_name(program: Program, name: ast.Name, depth: int) -> str | None:
    for binding in program.scopes.reaching(name):
        if binding.kind in ("def", "class"):
            if program.tree.function(binding.node) is not None:
                return name.id
        elif binding.kind in ("assign", "unpack", "walrus") and binding.value is not None:
            found = _unpicklable(program, binding.value, depth - 1)
            if found is not None:
                return found
    return None
