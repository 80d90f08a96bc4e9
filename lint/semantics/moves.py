"""Moves of values between devices in one file: which calls move what where."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchlint.semantics.classes import definition, method, outside_bases
from torchlint.semantics.devices import Place, place
from torchlint.semantics.names import UNKNOWN
from torchlint.semantics.tree import FUNCTIONS, last_name

if TYPE_CHECKING:
    from torchlint.semantics.program import Program

_FACTORIES = tuple(
    f"torch.{name}"
    for name in ("zeros", "ones", "full", "empty", "arange", "linspace", "logspace", "eye", "tensor", "as_tensor")
)
_SETTERS = ("torch.cuda.set_device", "torch.accelerator.set_device_index", "torch.accelerator.set_device_idx")


def moves(program: Program) -> list[tuple[ast.Call, ast.expr]]:
    """The ``.to(<device>)`` calls of the file with their device; moves to the CPU and along with another tensor left
    out.
    """
    memo = program.memo("moves.to")
    if program.module not in memo:
        memo[program.module] = [
            (call, device)
            for call in program.tree.calls
            if (device := moved_to(call)) is not None
            and is_accelerator(found_place := place(program, device))
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


def is_accelerator(found: Place) -> bool:
    """Whether a value is a device and not surely the CPU."""
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
    """The ``.cuda(...)`` calls on tensors and modules: not functions of a package, not methods a class defines
    itself.
    """
    own = any(
        function.name == "cuda" and program.tree.class_of(function) is not None for function in program.tree.functions
    )
    for call in program.tree.calls:
        func = call.func
        if not isinstance(func, ast.Attribute) or func.attr != "cuda" or in_method(program, call, "cuda"):
            continue
        receiver = func.value
        dotted = program.names.one(receiver) or UNKNOWN
        if dotted != UNKNOWN and not dotted.startswith("builtins.") and _is_package(program, receiver):
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


def index_argument(call: ast.Call) -> ast.expr | None:
    """The device that ``.cuda(...)`` is given; None for the current one."""
    given = next((word.value for word in call.keywords if word.arg == "device"), call.args[0] if call.args else None)
    return None if isinstance(given, ast.Constant) and given.value is None else given


def may_be_none(index: ast.expr) -> bool:
    """Whether an index may be left out: a number or a rank is always there, an option such as ``args.gpu`` is not."""
    name = last_name(index)
    return not isinstance(index, ast.Constant | ast.Call) and not name.lower().endswith("rank")


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
