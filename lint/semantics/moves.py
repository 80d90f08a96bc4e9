"""Moves of values between devices in one file, and which device expression can be written at a point."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchlint.semantics.classes import attribute_values, definition, lineage, method, outside_bases, self_name
from torchlint.semantics.devices import Place, named, place, place_of_name
from torchlint.semantics.names import UNKNOWN
from torchlint.semantics.project import Definition
from torchlint.semantics.scopes import Scope
from torchlint.semantics.tree import FUNCTIONS, FunctionNode, walk

if TYPE_CHECKING:
    from torchlint.semantics.program import Program

_PLAIN = (ast.Constant, ast.Name, ast.Attribute, ast.Subscript, ast.JoinedStr, ast.FormattedValue, ast.BinOp)
_FRAMEWORKS = ("pytorch_lightning", "lightning", "lightning_fabric", "pl")


@dataclass(frozen=True, slots=True)
class Choice:
    """A device expression that has a value at a point: its text, what is known of it, and how far out it is bound (0 nearest)."""

    text: str
    place: Place
    distance: int


def moves(program: Program) -> list[tuple[ast.Call, ast.expr]]:
    """The ``.to(<device>)`` calls of the file with their device; moves to the CPU and along with another tensor left out."""
    memo = program.memo("moves.to")
    if program.module not in memo:
        memo[program.module] = [
            (call, device)
            for call in program.tree.calls
            if (device := moved_to(call)) is not None
            and _is_accelerator(found_place := place(program, device))
            and not found_place.follows
        ]
    found: list[tuple[ast.Call, ast.expr]] = memo[program.module]
    return found


def moves_beside(program: Program, cuda: ast.Call) -> list[ast.expr]:
    """The devices the file moves to beside a ``.cuda()`` call.

    What a class's own ``to`` method does as it is told is the style of the file only for that method itself.
    """
    here = program.tree.function(cuda)
    return [
        device
        for call, device in moves(program)
        if not in_method(program, call, "to") or program.tree.function(call) is here
    ]


def moved_to(call: ast.Call) -> ast.expr | None:
    """The argument of a ``.to(...)`` call that may be a device."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "to":
        return None
    for keyword in call.keywords:
        if keyword.arg == "device":
            return keyword.value
    if call.args and not isinstance(call.args[0], ast.Starred):
        return call.args[0]
    return None


def _is_accelerator(found: Place) -> bool:
    return found.device and not found.cpu


def in_method(program: Program, node: ast.AST, name: str) -> bool:
    """Whether the node stands in a method of that name."""
    function = program.tree.function(node)
    while function is not None:
        if isinstance(function, FUNCTIONS) and function.name == name and program.tree.class_of(function) is not None:
            return True
        function = program.tree.function(function)
    return False


def cuda_calls(program: Program) -> Iterator[ast.Call]:
    """The ``.cuda(...)`` calls on tensors and modules: not functions of a package, not methods a class defines itself."""
    own = any(
        function.name == "cuda" and program.tree.class_of(function) is not None for function in program.tree.functions
    )
    for call in program.tree.calls:
        func = call.func
        if not isinstance(func, ast.Attribute) or func.attr != "cuda" or in_method(program, call, "cuda"):
            continue
        receiver = func.value
        dotted = program.names.one(receiver)
        if dotted is not None and dotted != UNKNOWN and not dotted.startswith("builtins."):
            if _is_package(program, receiver):
                continue
        if own and not _is_torch_value(program, receiver):
            continue
        if not own and _has_own_cuda(program, receiver):
            continue
        yield call


def _is_package(program: Program, receiver: ast.expr) -> bool:
    """Whether the receiver is an imported module (``tvm.cuda(0)``) as opposed to an object imported from one."""
    root = receiver
    while isinstance(root, ast.Attribute):
        root = root.value
    if not isinstance(root, ast.Name):
        return False
    bindings = program.scopes.reaching(root)
    if any(isinstance(b.statement, ast.Import) for b in bindings) or not bindings:
        return True
    return any(
        b.kind == "import" and b.target is not None and b.target.split(".")[0] in ("torch", "numba") for b in bindings
    )


def _is_torch_value(program: Program, expr: ast.expr, depth: int = 5) -> bool:
    """Whether an expression is visibly a tensor or a module of torch."""
    if depth == 0:
        return False
    if isinstance(expr, ast.Call):
        if program.names.under(expr.func, "torch"):
            return True
        found = definition(program, expr.func)
        if found is not None and isinstance(found.node, ast.ClassDef):
            return method(found, "cuda") is None and any((n or "").startswith("torch.nn") for n in outside_bases(found))
        return isinstance(expr.func, ast.Attribute) and _is_torch_value(program, expr.func.value, depth - 1)
    if isinstance(expr, ast.Subscript):
        return _is_torch_value(program, expr.value, depth - 1)
    if isinstance(expr, ast.Name):
        bindings = program.scopes.reaching(expr)
        return bool(bindings) and all(
            b.kind == "assign" and b.value is not None and _is_torch_value(program, b.value, depth - 1)
            for b in bindings
        )
    return False


def _has_own_cuda(program: Program, receiver: ast.expr) -> bool:
    """Whether the receiver is built from a class of the project that defines ``cuda`` itself."""
    for value in program.values.alternatives(receiver):
        if isinstance(value, ast.Call):
            found = definition(program, value.func)
            if found is not None and isinstance(found.node, ast.ClassDef) and method(found, "cuda") is not None:
                return True
    return False


# -- what can be written at a point ---------------------------------------------------------------------------------------


def choices(program: Program, at: ast.AST) -> list[Choice]:
    """Device expressions that surely have a value when ``at`` runs, nearest first, each text once."""
    pool = [device for _, device in moves(program)]
    found: dict[str, Choice] = {}
    for choice in (*_names(program, at, pool), *_attributes(program, at, pool), *_other(program, at, pool)):
        if _is_accelerator(choice.place):
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
            by_name = named(name)
            if name not in used and not (by_name.device and "device" in name.lower() and not by_name.number):
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
    """Whether an instance surely has the attribute when ``at`` runs: set before in this method, or by the constructor."""
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
                if _sets(statement, name):
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
    """``args.device``, ``f"cuda:{rank}"``, ``"cuda"``: expressions the file moves to whose names mean the same at ``at``."""
    instance = method_around(program, at)
    own = self_name(instance[0]) if instance else None
    for device in pool:
        roots = [node for node in walk(device) if isinstance(node, ast.Name)]
        if isinstance(device, ast.Name) or not _is_plain(program, device) or any(root.id == own for root in roots):
            continue
        if all(_means_the_same(program, root, at) for root in roots) and not _set_later(program, device, at):
            yield Choice(program.code(device), place(program, device), 3 if roots else 4)


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


# -- the call itself -------------------------------------------------------------------------------------------------------

_FACTORIES = tuple(
    f"torch.{name}"
    for name in ("zeros", "ones", "full", "empty", "arange", "linspace", "logspace", "eye", "tensor", "as_tensor")
)
_SETTERS = ("torch.cuda.set_device", "torch.accelerator.set_device_index", "torch.accelerator.set_device_idx")


def index_argument(call: ast.Call) -> ast.expr | None:
    """The device that ``.cuda(...)`` is given; None for the current one."""
    given = next((word.value for word in call.keywords if word.arg == "device"), call.args[0] if call.args else None)
    return None if isinstance(given, ast.Constant) and given.value is None else given


def is_factory(program: Program, call: ast.Call) -> bool:
    """Whether the receiver is a call that makes a tensor with the same content on every device, a leaf either way.

    Random numbers differ between devices, and a tensor that requires gradients stops being a leaf when it is moved.
    """
    made = call.func.value if isinstance(call.func, ast.Attribute) else None
    if not isinstance(made, ast.Call) or not program.names.matches(made.func, *_FACTORIES):
        return False
    return not any(word.arg in ("requires_grad", "pin_memory", "out") for word in made.keywords)


def sets_current_device(program: Program) -> bool:
    """Whether the file chooses the current GPU, so that "the current GPU" need not be the first."""
    return any(True for _ in program.calls_to(*_SETTERS)) or any(
        program.names.matches(item.context_expr.func, "torch.cuda.device")
        for with_ in program.tree.withs
        for item in with_.items
        if isinstance(item.context_expr, ast.Call)
    )


def is_free(program: Program, name: str, at: ast.AST) -> bool:
    """Whether a module-level ``name`` could be introduced and would be what ``at`` reads."""
    scopes = program.scopes
    return scopes.owner(name, scopes.scope_of(at)) is None and name not in scopes.module.bindings
