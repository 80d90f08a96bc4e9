"""Page-locked host memory: whether a loader pins its batches, and whether a copy to the device waits."""

from __future__ import annotations

import ast
import enum
from typing import TYPE_CHECKING

from torchlint.semantics.loaders import loader_argument
from torchlint.semantics.tree import walk
from torchlint.semantics.values import ABSENT, Known

if TYPE_CHECKING:
    from torchlint.semantics.program import Program

COLLATE_POSITION, PIN_POSITION = 6, 7
_DEVICE_QUESTIONS = ("torch.cuda.is_available", "torch.accelerator.is_available")


class Pinned(enum.Enum):
    """What a loader says about ``pin_memory``."""

    OMITTED = "left out"
    YES = "pinned wherever there is a GPU"
    OTHER = "off, or not known"


def pinned(program: Program, loader: ast.Call) -> Pinned:
    """Whether a call that builds a loader asks for pinned batches."""
    values = program.values.argument(loader, "pin_memory", PIN_POSITION)
    if values == (ABSENT,):
        return Pinned.OMITTED
    return Pinned.YES if values and all(_asks(program, value) for value in values) else Pinned.OTHER


def _asks(program: Program, value: object) -> bool:
    if not isinstance(value, ast.expr):
        return False
    constant = program.values.constant(value)
    if isinstance(constant, Known):
        return bool(constant.value)
    for one in program.values.alternatives(value):
        if not isinstance(one, ast.expr):
            return False
        if isinstance(one, ast.Call) and program.names.matches(one.func, *_DEVICE_QUESTIONS):
            continue
        if isinstance(one, ast.Compare) and "cuda" in ast.unparse(one) and isinstance(one.ops[0], ast.Eq):
            continue
        return False
    return True


def waits(program: Program, call: ast.Call) -> bool:
    """Whether a ``.to(...)`` or ``.cuda(...)`` certainly leaves ``non_blocking`` off."""
    position = 1 if isinstance(call.func, ast.Attribute) and call.func.attr == "cuda" else 2
    values = program.values.argument(call, "non_blocking", position)
    if position == 2 and any(isinstance(arg, ast.Constant) and isinstance(arg.value, bool) for arg in call.args):
        return False  # to(other, non_blocking)
    return values == (ABSENT,)


def is_collated(loader: ast.Call) -> bool:
    """Whether a collate function of the project makes the batches of a loader, or may."""
    return len(loader.args) > COLLATE_POSITION or any(word.arg in ("collate_fn", None) for word in loader.keywords)


def collates_on_device(program: Program, loader: ast.Call) -> bool | None:
    """Whether the collate function of a loader moves what it makes to a device; None when it is out of sight."""
    function = loader_argument(program, loader, "collate_fn")
    if function is None:
        values = program.values.argument(loader, "collate_fn", COLLATE_POSITION)
        return False if values == (ABSENT,) else None
    if isinstance(function, ast.Constant) and function.value is None:
        return False
    for value in program.values.alternatives(function):
        if isinstance(value, ast.Call) and program.names.matches(value.func, "functools.partial") and value.args:
            if any(word.arg is not None and "device" in word.arg for word in value.keywords):
                return True
            function = value.args[0]
    body: ast.AST | None = function if isinstance(function, ast.Lambda) else None
    if body is None:
        found = program.definition(function)
        body = found.node if found is not None else None
    if body is None:
        return None
    return any(isinstance(node, ast.Attribute) and node.attr in ("to", "cuda") for node in walk(body))
