"""Arguments of a loader that contradict each other."""

from __future__ import annotations

import ast
import enum
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchlint.semantics.configured import defaults
from torchlint.semantics.loaders import Loader, loaders
from torchlint.semantics.tree import last_name
from torchlint.semantics.values import ABSENT, Known

if TYPE_CHECKING:
    from torchlint.semantics.program import Program

_POSITIONS = {
    "batch_size": 1, "shuffle": 2, "sampler": 3, "batch_sampler": 4, "drop_last": 8, "timeout": 9,
    "multiprocessing_context": 11,
}  # fmt: skip
NEED_WORKERS = ("prefetch_factor", "persistent_workers", "multiprocessing_context", "timeout")
_VALIDATION = re.compile(r"(?:^|_)(?:val|valid|validation|test|eval|dev)(?:_|\d|$)", re.I)


class Conflict(enum.Enum):
    """What is wrong with an argument."""

    NO_WORKERS = "needs workers"
    BATCH_SAMPLER = "is the batch sampler's affair"
    SAMPLER = "is the sampler's affair"
    VALIDATION = "leaves out validation data"


@dataclass(frozen=True, slots=True)
class Contradiction:
    """An argument of a loader that cannot stand beside the others; ``name`` is the parameter."""

    loader: Loader
    name: str
    conflict: Conflict


def contradictions(program: Program) -> Iterator[Contradiction]:
    """For each loader the first argument that contradicts another one."""
    for loader in loaders(program):
        found = next(_of(program, loader), None)
        if found is not None:
            yield found


def _of(program: Program, loader: Loader) -> Iterator[Contradiction]:
    if _given(program, loader, "batch_sampler"):
        for name in ("shuffle", "sampler", "drop_last"):
            if _given(program, loader, name):
                yield Contradiction(loader, name, Conflict.BATCH_SAMPLER)
        size = _value(program, loader, "batch_size")
        if isinstance(size, Known) and size.value != 1:
            yield Contradiction(loader, "batch_size", Conflict.BATCH_SAMPLER)
    if _given(program, loader, "sampler") and _given(program, loader, "shuffle"):
        yield Contradiction(loader, "shuffle", Conflict.SAMPLER)
    if loader.no_workers:
        for name in NEED_WORKERS:
            if _given(program, loader, name):
                yield Contradiction(loader, name, Conflict.NO_WORKERS)
    if (
        _given(program, loader, "drop_last")
        and _is_validation(program, loader.call)
        and not _is_single(program, loader)
    ):
        yield Contradiction(loader, "drop_last", Conflict.VALIDATION)


def asks_for_workers(program: Program, loader: Loader) -> bool:
    """Whether a loader without workers has an argument that only makes sense with some."""
    return loader.no_workers and any(_given(program, loader, name) for name in NEED_WORKERS)


def _value(program: Program, loader: Loader, name: str) -> object:
    values = program.values.argument(loader.call, name, _POSITIONS.get(name))
    if len(values) != 1:
        return None
    return program.values.constant(values[0]) if isinstance(values[0], ast.expr) else values[0]


def _given(program: Program, loader: Loader, name: str) -> bool:
    """Whether an argument certainly has a value that switches something on."""
    value = _value(program, loader, name)
    if isinstance(value, Known):
        return bool(value.value)
    if value is None or value is ABSENT or name not in ("sampler", "batch_sampler", "multiprocessing_context"):
        return False
    return all(_is_object(program, each) for each in _alternatives(program, loader, name))


def _is_single(program: Program, loader: Loader) -> bool:
    """Whether a batch is one sample, so that nothing is left over."""
    size = _value(program, loader, "batch_size")
    if size is ABSENT or (isinstance(size, Known) and size.value in (1, None)):
        return True
    values = program.values.argument(loader.call, "batch_size", _POSITIONS["batch_size"])
    configured = [v for value in values if isinstance(value, ast.Attribute) for v in defaults(program, value)]
    return bool(configured) and all(value == 1 for value in configured)


def _alternatives(program: Program, loader: Loader, name: str) -> tuple[object, ...]:
    (value,) = program.values.argument(loader.call, name, _POSITIONS.get(name))
    return program.values.alternatives(value) if isinstance(value, ast.expr) else (value,)


def _is_object(program: Program, value: object) -> bool:
    """Whether a value surely is something and not None: a construction."""
    return isinstance(value, ast.Call) and (program.names.one(value.func) or "?") != "?"


def _is_validation(program: Program, call: ast.Call) -> bool:
    """Whether a loader is bound to a name that says it is for validation, as the whole value."""
    parent = program.tree.parent(call)
    if not isinstance(parent, ast.Assign) or len(parent.targets) != 1:
        return False
    target = parent.targets[0]
    name = last_name(target)
    return _VALIDATION.search(name) is not None and "train" not in name.lower()
