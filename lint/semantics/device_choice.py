"""Which device expression can be written at a point: one that surely has a value when the point is reached."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchlint.semantics.bindings import Scope
from torchlint.semantics.classes import attribute_values, lineage, method, outside_bases, self_name
from torchlint.semantics.devices import Place, named, place, place_of_name
from torchlint.semantics.moves import is_accelerator, moves, sets_current_device
from torchlint.semantics.project import Definition
from torchlint.semantics.tree import FUNCTIONS, FunctionNode, walk

if TYPE_CHECKING:
    from torchlint.semantics.program import Program

_SPOKEN = re.compile(r"\w*device\d*", re.I)  # a name that says it, used in ``.to`` or not
_PLAIN = (ast.Constant, ast.Name, ast.Attribute, ast.Subscript, ast.JoinedStr, ast.FormattedValue, ast.BinOp)
INLINE = 4  # the distance of an expression that names nothing: ``"cuda"``
_FRAMEWORKS = ("pytorch_lightning", "lightning", "lightning_fabric", "pl")


@dataclass(frozen=True, slots=True)
class Choice:
    """A device expression that has a value at a point: its text, what is known of it, and how far out it is bound (0
    nearest).
    """

    text: str
    place: Place
    distance: int


def choices(program: Program, at: ast.AST) -> list[Choice]:
    """Device expressions that surely have a value when ``at`` runs, nearest first, each text once."""
    pool = [device for _, device in moves(program)]
    found: dict[str, Choice] = {}
    for choice in (*_names(program, at, pool), *_attributes(program, at, pool), *_other(program, at, pool)):
        if is_accelerator(choice.place):
            found.setdefault(choice.text, choice)
    return sorted(found.values(), key=lambda choice: choice.distance)


def _names(program: Program, at: ast.AST, pool: list[ast.expr]) -> Iterator[Choice]:
    scopes = program.scopes
    start = scopes.scope_of(at)
    used = {device.id for device in pool if isinstance(device, ast.Name)}
    scope: Scope | None = start
    distance = 0
    while scope is not None:
        for name in [*scope.bindings, *(n for n, how in scope.outside.items() if how == "global")]:
            if name not in used and not _SPOKEN.fullmatch(name):
                continue
            if scopes.owner(name, start) not in (scope, scopes.module) or not scopes.bound_on_every_path(name, at):
                continue
            found = place_of_name(program, name, scopes.reaching_at(name, at))
            if name in used or not found.number:
                yield Choice(name, found, distance)
        scope, distance = scope.parent, distance + 1


def _attributes(program: Program, at: ast.AST, pool: list[ast.expr]) -> Iterator[Choice]:
    """``self.device`` in a method of a class that sets it."""
    found = method_around(program, at)
    if found is None:
        return
    function, cls = found
    instance = self_name(function)
    owner = Definition(program, cls)
    used = [
        d for d in pool if isinstance(d, ast.Attribute) and isinstance(d.value, ast.Name) and d.value.id == instance
    ]
    names = dict.fromkeys([d.attr for d in used], True)
    names.setdefault("device", False)
    for name, moved in names.items():
        if not _attribute_is_set(program, owner, function, name, at, moved):
            continue
        example = next((d for d in used if d.attr == name), None)
        values = [place(where, value, 4) for where, value in attribute_values(owner, name)]
        known = place(program, example) if example is not None else named(name)
        if values and all(value.cpu for value in values):
            continue
        yield Choice(f"{instance}.{name}", known, 2)


def method_around(program: Program, at: ast.AST) -> tuple[FunctionNode, ast.ClassDef] | None:
    """The method (nested functions belong to it) and the class in which a node stands."""
    function = program.tree.function(at)
    while function is not None:
        cls = program.tree.class_of(function)
        if cls is not None and isinstance(function, FUNCTIONS):
            return function, cls
        function = program.tree.function(function)
    return None


def _attribute_is_set(
    program: Program, owner: Definition, function: FunctionNode, name: str, at: ast.AST, moved: bool
) -> bool:
    """Whether an instance surely has the attribute when ``at`` runs: set before in this method, or by the
    constructor.
    """
    instance = self_name(function)
    here = [
        program.tree.statement(node)
        for node in walk(function)
        if isinstance(node, ast.Attribute)
        and node.attr == name
        and isinstance(node.ctx, ast.Store)
        and isinstance(node.value, ast.Name)
        and node.value.id == instance
    ]
    if any(_runs_before(program, statement, at) for statement in here):
        return True
    if here and function.name == "__init__":
        return False
    if method(owner, name) is not None:
        return True
    for cls in lineage(owner):
        for statement in cls.node.body:
            if isinstance(statement, ast.Assign | ast.AnnAssign) and _class_sets(statement, name):
                return True
            if isinstance(statement, FUNCTIONS) and statement.name == "__init__" and statement is not function:
                found = _sets(statement, name)
                if found:
                    return True
    if any((base or "").split(".")[0] in _FRAMEWORKS for base in outside_bases(owner)) and name == "device":
        return True
    return moved and function.name != "__init__" and _moves_in(program, function, name)


def _class_sets(statement: ast.Assign | ast.AnnAssign, name: str) -> bool:
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target] if statement.value else []
    return any(isinstance(target, ast.Name) and target.id == name for target in targets)


def _sets(function: FunctionNode, name: str) -> bool:
    instance = self_name(function)
    return any(
        isinstance(node, ast.Attribute)
        and node.attr == name
        and isinstance(node.ctx, ast.Store)
        and isinstance(node.value, ast.Name)
        and node.value.id == instance
        for node in walk(function)
    )


def _moves_in(program: Program, function: FunctionNode, name: str) -> bool:
    return any(
        isinstance(device, ast.Attribute) and device.attr == name and function in program.tree.ancestors(call)
        for call, device in moves(program)
    )


def _runs_before(program: Program, statement: ast.stmt, at: ast.AST) -> bool:
    """Whether a statement has surely run when ``at`` does: it stands earlier in a block around ``at``."""
    block, index = program.tree.blocks[statement]
    for ancestor in (at, *program.tree.ancestors(at)):
        if isinstance(ancestor, ast.stmt) and ancestor in program.tree.blocks:
            other, position = program.tree.blocks[ancestor]
            if other is block:
                return index < position
    return False


def _other(program: Program, at: ast.AST, pool: list[ast.expr]) -> Iterator[Choice]:
    """``args.device``, ``f"cuda:{rank}"``, ``"cuda"``: expressions the file moves to whose names mean the same at
    ``at``.
    """
    instance = method_around(program, at)
    own = self_name(instance[0]) if instance else None
    for device in pool:
        roots = [node for node in walk(device) if isinstance(node, ast.Name)]
        if isinstance(device, ast.Name) or not _is_plain(program, device) or any(root.id == own for root in roots):
            continue
        if all(_means_the_same(program, root, at) for root in roots) and not _set_later(program, device, at):
            yield Choice(program.code(device), place(program, device), INLINE - 1 if roots else INLINE)


def _is_plain(program: Program, expr: ast.expr) -> bool:
    """Whether evaluating the expression once more is free and gives the same."""
    for node in walk(expr):
        if isinstance(node, ast.Call):
            if not program.names.matches(node.func, "torch.device", "builtins.str", "builtins.int"):
                return False
        elif isinstance(node, ast.expr) and not isinstance(node, _PLAIN):
            return False
    return True


def _means_the_same(program: Program, root: ast.Name, at: ast.AST) -> bool:
    scopes = program.scopes
    here = scopes.owner(root.id, scopes.scope_of(at))
    there = scopes.owner(root.id, scopes.scope_of(root))
    if here is None:
        return there is None
    same = here is there and not any(b.kind == "for" for b in here.bindings[root.id])
    both_parameters = (
        here is not there and there is not None and _is_parameter(here, root.id) and _is_parameter(there, root.id)
    )
    return (same or both_parameters) and scopes.bound_on_every_path(root.id, at)


def _is_parameter(scope: Scope, name: str) -> bool:
    return all(binding.kind == "param" for binding in scope.bindings[name])


def _set_later(program: Program, device: ast.expr, at: ast.AST) -> bool:
    """Whether ``args.device`` is assigned in the function of ``at``, but not surely before it."""
    if not isinstance(device, ast.Attribute):
        return False
    text = ast.dump(device.value)
    around = program.tree.function(at)
    stores = [
        node
        for node in walk(around if around is not None else program.module)
        if isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Store)
        and node.attr == device.attr
        and ast.dump(node.value) == text
        and program.tree.function(node) is around
    ]
    return bool(stores) and not any(_runs_before(program, program.tree.statement(node), at) for node in stores)


def is_free(program: Program, name: str, at: ast.AST) -> bool:
    """Whether a module-level ``name`` could be introduced and would be what ``at`` reads."""
    scopes = program.scopes
    return scopes.owner(name, scopes.scope_of(at)) is None and name not in scopes.module.bindings


def meant(program: Program, at: ast.AST, found: list[Choice]) -> tuple[Choice, bool]:
    """Of several devices the one that is most likely meant, and whether it surely is.

    ``found`` must hold one that is not a bare index. It is sure when it is the only one bound, or the only one that the
    same function moves to; but not when the file chooses the current device itself and the device is another by name.
    """
    found = [choice for choice in found if not choice.place.number]
    bound = [choice for choice in found if choice.distance < INLINE] or found
    around = program.tree.function(at)
    texts = {program.code(device) for call, device in moves(program) if program.tree.function(call) is around}
    beside = [choice for choice in bound if choice.text in texts]
    nearest = beside or [choice for choice in bound if choice.distance == bound[0].distance]
    best = next((choice for choice in nearest if choice.text == "device"), nearest[0])
    fixed = best.place.index not in (None, "none")
    return best, 1 in (len(bound), len(beside)) and not (fixed and sets_current_device(program))


def location(program: Program, at: ast.AST) -> str | None:
    """The one device bound at a point that can be a ``map_location``; None when there is none or several."""
    found = [c for c in choices(program, at) if not c.place.number and c.distance < INLINE]
    nearest = [choice.text for choice in found if choice.distance == found[0].distance]
    if "device" in nearest:
        return "device"
    return nearest[0] if len(nearest) == 1 else None
