"""Tensors that a network makes on the CPU in ``forward`` and then combines with what it was given."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchlint.semantics.bindings import Binding
from torchlint.semantics.classes import attribute_values, self_name
from torchlint.semantics.factories import FACTORIES
from torchlint.semantics.module_classes import is_module_class
from torchlint.semantics.project import Definition
from torchlint.semantics.tree import FUNCTIONS, FunctionNode, walk
from torchlint.semantics.values import ABSENT

if TYPE_CHECKING:
    from torchlint.semantics.program import Program

_DEFAULT = ("torch.set_default_device", "torch.set_default_tensor_type")
_MOVING = frozenset(
    {"to", "cuda", "type", "type_as", "cpu", "numpy", "tolist", "item", "xpu", "new_tensor", "expand_as_"}
)
_COMBINERS = (
    "torch.cat",
    "torch.stack",
    "torch.where",
    "torch.matmul",
    "torch.bmm",
    "torch.mul",
    "torch.add",
    "torch.concat",
)
_RECURRENT = tuple(f"torch.nn.{name}{cell}" for name in ("RNN", "LSTM", "GRU") for cell in ("", "Cell"))
_SIZES = re.compile(r"len|size|num|count|shape|idx|index|mask|device|^n$|^k$", re.IGNORECASE)
_TENSOR_USE = frozenset(
    {"shape", "size", "view", "unsqueeze", "permute", "dim", "transpose", "reshape", "squeeze", "device", "dtype"}
)


@dataclass(frozen=True, slots=True)
class Stray:
    """The call that makes a tensor on the CPU, and the argument of ``forward`` whose device it has to share."""

    call: ast.Call
    partner: str


def strays(program: Program) -> Iterator[Stray]:
    """The tensors made on the CPU in the ``forward`` methods of a file, in source order."""
    if any(True for _ in program.calls_to(*_DEFAULT)):
        return
    for call in program.calls_to(*(f"torch.{name}" for name in FACTORIES)):
        forward = _forward_around(program, call)
        if forward is None or not _is_placed_by_default(program, call):
            continue
        scene = _Scene(program, forward)
        if scene.inputs and scene.meets(call):
            yield Stray(call, scene.inputs[0])


def _forward_around(program: Program, node: ast.AST) -> FunctionNode | None:
    function = program.tree.function(node)
    if not isinstance(function, FUNCTIONS) or function.name != "forward" or self_name(function) is None:
        return None
    owner = program.tree.class_of(function)
    known = owner is not None and is_module_class(Definition(program, owner)) is True
    return function if known else None


def _is_placed_by_default(program: Program, call: ast.Call) -> bool:
    """Whether nothing says where a tensor of at least one dimension is made: scalars may meet any device."""
    if program.values.argument(call, "device") != (ABSENT,) or program.values.argument(call, "out") != (ABSENT,):
        return False
    first = call.args[0] if call.args else None
    if first is None or isinstance(first, ast.Starred) or (isinstance(first, ast.Tuple) and not first.elts):
        return False
    if program.names.matches(call.func, "torch.tensor") and not isinstance(first, ast.List | ast.Tuple):
        return False
    for ancestor in program.tree.ancestors(call):
        if isinstance(ancestor, ast.With) and any("device" in ast.unparse(i.context_expr) for i in ancestor.items):
            return False
        if isinstance(ancestor, FUNCTIONS):
            break
    return True


class _Scene:
    """One ``forward``: its tensor arguments, and what is computed from them."""

    def __init__(self, program: Program, forward: FunctionNode) -> None:
        self.program = program
        self.forward = forward
        self.owner = program.tree.class_of(forward)
        self.instance = self_name(forward)
        self.inputs = [a.arg for a in forward.args.args[1:] if self._is_tensor_argument(a)]

    def _is_tensor_argument(self, argument: ast.arg) -> bool:
        if argument.annotation is not None:
            return re.match(r"^(torch\.)?Tensor$", ast.unparse(argument.annotation)) is not None
        if _SIZES.search(argument.arg) is not None:
            return False
        for node in walk(self.forward):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == argument.arg:
                if node.attr in _TENSOR_USE:
                    return True
        return False

    def meets(self, call: ast.Call) -> bool:
        """Whether the new tensor, where it has not been moved, is combined with one that came in."""
        whole = self._chain(call)
        if whole is None:
            return False
        if self._combined(whole):
            return True
        parent = self.program.tree.parent(whole)
        if (
            not isinstance(parent, ast.Assign)
            or len(parent.targets) != 1
            or not isinstance(parent.targets[0], ast.Name)
        ):
            return False
        name = parent.targets[0].id
        for node in walk(self.forward):
            if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load):
                bindings = self.program.scopes.reaching(node)
                used = self._chain(node)
                made_here = any(b.statement is parent for b in bindings)
                if made_here and used is not None and self._combined(used):
                    return True
        return False

    def _chain(self, expr: ast.expr) -> ast.expr | None:
        """The expression with the methods and subscripts behind it; None when one of them moves it."""
        current: ast.expr = expr
        while True:
            parent = self.program.tree.parent(current)
            if isinstance(parent, ast.Attribute) and parent.value is current:
                above = self.program.tree.parent(parent)
                if parent.attr in _MOVING or not isinstance(above, ast.Call) or above.func is not parent:
                    return None
                current = above
            elif (isinstance(parent, ast.Subscript) and parent.value is current) or isinstance(parent, ast.UnaryOp):
                current = parent
            else:
                return current

    def _combined(self, expr: ast.expr) -> bool:
        parent = self.program.tree.parent(expr)
        if self._is_state(expr):
            return True
        if isinstance(parent, ast.BinOp):
            return self.comes_in(parent.right if parent.left is expr else parent.left)
        if isinstance(parent, ast.List | ast.Tuple):
            others, call = [e for e in parent.elts if e is not expr], self.program.tree.parent(parent)
        elif isinstance(parent, ast.Call):
            others, call = [a for a in parent.args if a is not expr], parent
        else:
            return False
        combines = isinstance(call, ast.Call) and self.program.names.matches(call.func, *_COMBINERS)
        return combines and any(self.comes_in(other) for other in others)

    def _is_state(self, expr: ast.expr) -> bool:
        """Whether a value is the first state of a recurrent layer that runs on what came in: ``self.rnn(x, h0)``."""
        state: ast.expr = expr
        parent = self.program.tree.parent(state)
        if isinstance(parent, ast.Tuple):
            state, parent = parent, self.program.tree.parent(parent)
        if isinstance(parent, ast.keyword):
            named, parent = parent.arg == "hx", self.program.tree.parent(parent)
        else:
            named = isinstance(parent, ast.Call) and len(parent.args) > 1 and parent.args[1] is state
        if not named or not isinstance(parent, ast.Call) or not isinstance(parent.func, ast.Attribute):
            return False
        return bool(parent.args) and self._is_layer(parent.func, _RECURRENT) and self.comes_in(parent.args[0])

    def comes_in(self, expr: ast.expr, depth: int = 8) -> bool:
        """Whether a value lives where the arguments or the layers live, and has dimensions."""
        if depth == 0:
            return False
        if isinstance(expr, ast.Name):
            bindings = self.program.scopes.reaching(expr)
            return bool(bindings) and all(self._bound(b, depth) for b in bindings)
        if isinstance(expr, ast.BinOp):
            return self.comes_in(expr.left, depth - 1) or self.comes_in(expr.right, depth - 1)
        if isinstance(expr, ast.UnaryOp):
            return self.comes_in(expr.operand, depth - 1)
        if isinstance(expr, ast.Subscript):
            return self.comes_in(expr.value, depth - 1)
        if isinstance(expr, ast.Call) and isinstance(expr.func, ast.Name):
            return self._is_one_of_layers(expr.func) and any(self.comes_in(a, depth - 1) for a in expr.args)
        if isinstance(expr, ast.Call) and isinstance(expr.func, ast.Attribute):
            if self._is_layer(expr.func):
                return any(self.comes_in(a, depth - 1) for a in expr.args)
            if expr.func.attr in _MOVING | {"size", "dim", "numel", "argmax", "ndimension", "detach", "keys", "items"}:
                return False
            if self.program.names.under(expr.func, "torch.nn.functional"):
                return bool(expr.args) and self.comes_in(expr.args[0], depth - 1)
            return self.comes_in(expr.func.value, depth - 1)
        return False

    def _bound(self, binding: Binding, depth: int) -> bool:
        if binding.kind == "param":
            return binding.name in self.inputs
        value = binding.value
        if binding.kind == "unpack":  # ``y, state = self.rnn(x)``
            layered = (
                isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and self._is_layer(value.func)
            )
            return layered and value is not None and self.comes_in(value, depth - 1)
        return binding.kind == "assign" and value is not None and self.comes_in(value, depth - 1)

    def _is_one_of_layers(self, name: ast.Name) -> bool:
        """``for layer in self.layers: layer(x)``."""
        bindings = self.program.scopes.reaching(name)
        loops = [b.value for b in bindings if b.kind == "for"]
        return (
            bool(loops)
            and len(loops) == len(bindings)
            and all(
                isinstance(v, ast.Attribute) and isinstance(v.value, ast.Name) and v.value.id == self.instance
                for v in loops
            )
        )

    def _is_layer(self, func: ast.Attribute, kinds: tuple[str, ...] = ()) -> bool:
        """``self.layer(...)`` of a layer that the class makes; of one of these kinds, if some are given."""
        if not isinstance(func.value, ast.Name) or func.value.id != self.instance or self.owner is None:
            return False
        values = attribute_values(Definition(self.program, self.owner), func.attr)
        return bool(values) and all(
            isinstance(v, ast.Call)
            and (where.names.matches(v.func, *kinds) if kinds else where.names.under(v.func, "torch.nn"))
            for where, v in values
        )
