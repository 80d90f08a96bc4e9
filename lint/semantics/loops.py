"""What changes from one turn of a loop to the next, and what a loop runs over."""

from __future__ import annotations

import ast
import enum
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchlint.semantics.tree import children, last_name, walk
from torchlint.semantics.values import Known

if TYPE_CHECKING:
    from torchlint.semantics.bindings import Binding
    from torchlint.semantics.program import Program

Loop = ast.For | ast.AsyncFor | ast.While
_PURE = frozenset({"len", "int", "float", "str", "min", "max", "round", "abs", "range", "repr", "bool"})
_NAMED = frozenset({"named_parameters", "named_modules", "named_children", "named_buffers", "items"})
_UNNAMED = frozenset({"parameters", "children", "modules", "buffers", "values"})
_KEYS = frozenset({"keys", "state_dict"})
# Last words of iterables whose elements have a curve each.
_SERIES = frozenset(
    {"names", "classes", "categories", "layers", "tasks", "heads", "metrics", "phases", "splits", "keys"}
)


class Varies(enum.Enum):
    """Whether a value differs between two turns of a loop."""

    NO = 0
    MAYBE = 1
    YES = 2


def varies(program: Program, expr: ast.expr, loop: Loop, depth: int = 8) -> Varies:
    """Whether an expression inside a loop may have another value in the next turn of that loop.

    A call is MAYBE unless its function is known to depend on its arguments alone.
    """
    if isinstance(expr, ast.Constant | ast.Lambda):
        return Varies.NO
    if depth == 0:
        return Varies.MAYBE
    if isinstance(expr, ast.Name):
        return _most(_through(program, binding, loop, depth) for binding in program.scopes.reaching(expr))
    if isinstance(expr, ast.Attribute):
        inner = varies(program, expr.value, loop, depth - 1)
        return inner if inner is Varies.YES else _most([inner, _touched(expr, loop)])
    if isinstance(expr, ast.Subscript):
        parts = [varies(program, expr.value, loop, depth - 1), varies(program, expr.slice, loop, depth - 1)]
        return _most([*parts, _touched(expr, loop)])
    if isinstance(expr, ast.Call):
        return _call(program, expr, loop, depth)
    parts = [varies(program, child, loop, depth - 1) for child in children(expr) if isinstance(child, ast.expr)]
    return _most(parts)


def _call(program: Program, call: ast.Call, loop: Loop, depth: int) -> Varies:
    given = [*call.args, *(k.value for k in call.keywords)]
    parts = [varies(program, value, loop, depth - 1) for value in given]
    if isinstance(call.func, ast.Name) and call.func.id in _PURE and not program.scopes.reaching(call.func):
        return _most(parts)
    if isinstance(call.func, ast.Attribute):
        if call.func.attr == "format" and isinstance(call.func.value, ast.Constant):
            return _most(parts)
        parts.append(varies(program, call.func.value, loop, depth - 1))
    return _most([*parts, Varies.MAYBE])


def _through(program: Program, binding: Binding, loop: Loop, depth: int) -> Varies:
    statement = binding.statement
    if binding.kind in ("import", "def", "class", "param") or statement is None:
        return Varies.NO
    if statement is not loop and loop not in program.tree.ancestors(statement):
        return Varies.NO
    if binding.kind == "augment" or statement is loop:
        return Varies.YES
    if binding.value is None:
        return Varies.MAYBE
    if any(isinstance(node, ast.Name) and node.id == binding.name for node in walk(binding.value)):
        return Varies.YES  # counted on from the turn before
    start = _starts_from(program, binding)
    if start is not None:
        return _most(varies(program, value, loop, depth - 1) for value in start)
    return varies(program, binding.value, loop, depth - 1)


def _starts_from(program: Program, binding: Binding) -> list[ast.expr] | None:
    """What the first value of a counter depends on: the variable of ``range(…)`` or the number of ``enumerate(…)``."""
    call = binding.value
    if binding.kind != "for" or not isinstance(call, ast.Call):
        return None
    if _is(call, "range") and binding.index is None:
        return call.args[:1] if len(call.args) > 1 else []
    target = program.tree.parent(binding.node)
    if (
        _is(call, "enumerate")
        and binding.index == 0
        and not isinstance(program.tree.parents.get(target or call), ast.Tuple)
    ):
        return [*call.args[1:], *(k.value for k in call.keywords)]
    return None


def _is(call: ast.Call, name: str) -> bool:
    return isinstance(call.func, ast.Name) and call.func.id == name


def _most(parts: Iterable[Varies]) -> Varies:
    return max(parts, key=lambda part: part.value, default=Varies.NO)


def _touched(expr: ast.Attribute | ast.Subscript, loop: Loop) -> Varies:
    """Whether the loop stores to such an attribute or item, or calls something that may."""
    root = _root(expr)
    held = ast.dump(expr.value)
    found = Varies.NO
    for node in walk(loop):
        if isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store):
            if isinstance(expr, ast.Attribute) and isinstance(node, ast.Attribute) and node.attr == expr.attr:
                return Varies.YES
            if isinstance(expr, ast.Subscript) and isinstance(node, ast.Subscript) and ast.dump(node.value) == held:
                return Varies.YES
        elif isinstance(node, ast.Call) and root is not None:
            method = (
                isinstance(node.func, ast.Attribute)
                and isinstance(node.func.value, ast.Name)
                and node.func.value.id == root
            )
            if method or any(isinstance(a, ast.Name) and a.id == root for a in node.args):
                found = Varies.MAYBE
    return found


def _root(expr: ast.expr) -> str | None:
    while isinstance(expr, ast.Attribute | ast.Subscript):
        expr = expr.value
    return expr.id if isinstance(expr, ast.Name) else None


@dataclass(frozen=True, slots=True)
class SeriesLoop:
    """A loop over things that each have a curve of their own: parameters, entries of a dict, phases, classes.

    ``key`` is the variable that tells them apart, None when the loop has none.
    """

    loop: ast.For | ast.AsyncFor
    key: ast.Name | None


def series_loop(program: Program, loop: Loop) -> SeriesLoop | None:
    """The loop as one over series, when its header says so; batches, epochs, steps and environments are none."""
    if isinstance(loop, ast.While):
        return None
    target, iterable = loop.target, loop.iter
    counter: ast.Name | None = None
    while isinstance(iterable, ast.Call) and isinstance(iterable.func, ast.Name) and iterable.args:
        function = iterable.func.id
        if function == "enumerate" and isinstance(target, ast.Tuple) and len(target.elts) == 2:
            counter = _key(target.elts[0])
            target = target.elts[1]
        elif function not in ("sorted", "list", "tuple", "reversed", "tqdm"):
            break
        iterable = iterable.args[0]
    if isinstance(iterable, ast.BinOp) and isinstance(iterable.op, ast.Sub):
        iterable = iterable.left  # stats.keys() - {"lr"}
    first = target.elts[0] if isinstance(target, ast.Tuple) and target.elts else target
    key = _key(first)
    if isinstance(iterable, ast.Call) and isinstance(iterable.func, ast.Attribute):
        method = iterable.func.attr
        if method in _NAMED:
            return SeriesLoop(loop, key if first is not target else None)
        if method in _KEYS:
            return SeriesLoop(loop, key)
        return SeriesLoop(loop, counter) if method in _UNNAMED else None
    if isinstance(iterable, ast.Call) and _is(iterable, "zip") and first is not target:
        assert isinstance(target, ast.Tuple)
        for element, names in zip(target.elts, iterable.args, strict=False):
            if _words(program, names) or _named_after_series(names):
                return SeriesLoop(loop, _key(element))
        return None
    if _words(program, iterable):
        return SeriesLoop(loop, key)
    if isinstance(iterable, ast.Attribute) and iterable.attr == "param_groups":
        return SeriesLoop(loop, counter) if counter is not None else None  # mostly there is one group
    if key is not None and _is_indexed_by(loop, iterable, key):
        return SeriesLoop(loop, key)
    return SeriesLoop(loop, key) if _named_after_series(iterable) else None


def _key(target: ast.expr) -> ast.Name | None:
    return target if isinstance(target, ast.Name) and target.id != "_" else None


def _named_after_series(iterable: ast.expr) -> bool:
    """Whether the name says that each element is a series.

    ``class_names``, ``range(num_classes)``, ``range(len(tasks))``.
    """
    while (
        isinstance(iterable, ast.Call) and isinstance(iterable.func, ast.Name) and iterable.func.id in ("range", "len")
    ):
        if len(iterable.args) != 1:
            return False
        iterable = iterable.args[0]
    if isinstance(iterable, ast.BinOp):
        iterable = iterable.left
    name = last_name(iterable)
    return name.lower().rpartition("_")[2] in _SERIES


def _words(program: Program, iterable: ast.expr) -> bool:
    """Whether an iterable is a written-out collection of strings (or of pairs that begin with one, or a dict)."""
    for value in program.values.alternatives(iterable):
        if isinstance(value, ast.Dict):
            items: list[ast.expr | None] = list(value.keys)
        elif isinstance(value, ast.List | ast.Tuple | ast.Set):
            items = [e.elts[0] if isinstance(e, ast.Tuple) and e.elts else e for e in value.elts]
        else:
            return False
        known = [program.values.constant(item) for item in items if item is not None]
        if len(known) < 2 or not all(isinstance(k, Known) and isinstance(k.value, str) for k in known):
            return False
    return True


def _is_indexed_by(loop: ast.For | ast.AsyncFor, iterable: ast.expr, key: ast.Name) -> bool:
    """Whether the body reads ``iterable[key]``, which makes the iterable a dict and ``key`` its key."""
    if not isinstance(iterable, ast.Name | ast.Attribute):
        return False
    wanted = ast.dump(iterable)
    return any(
        isinstance(node, ast.Subscript)
        and isinstance(node.slice, ast.Name)
        and node.slice.id == key.id
        and ast.dump(node.value) == wanted
        for node in walk(loop)
    )
