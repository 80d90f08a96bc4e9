"""What a file back-propagates: the calls of ``backward`` and the values that therefore certainly carry a graph."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchlint.semantics.bindings import Binding
from torchlint.semantics.branches import exclusive
from torchlint.semantics.callers import callee
from torchlint.semantics.classes import definition
from torchlint.semantics.tree import FUNCTIONS, FunctionNode, last_name, walk_scope

if TYPE_CHECKING:
    from torchlint.semantics.program import Program

# Objects whose ``backward`` takes the loss as argument, as opposed to being it.
_ENGINE = re.compile(
    r"accelerator|fabric|engine|scaler|optim|amp|strategy|booster|manager|model|trainer", re.IGNORECASE
)
# Tensor methods whose result carries the graph of the tensor.
_CARRYING = frozenset({
    "mean", "sum", "clone", "view", "reshape", "squeeze", "unsqueeze", "float", "double", "half", "cpu", "cuda", "to",
    "sqrt", "log", "exp", "pow", "square", "div", "mul", "add", "sub", "neg", "flatten", "abs",
    "contiguous", "max", "min", "norm",
})  # fmt: skip
_REDUCING = frozenset({"mean", "sum", "max", "min", "norm"})
_CARRYING_CALLS = tuple(
    f"torch.{name}" for name in ("mean", "sum", "sqrt", "exp", "log", "abs", "stack", "cat", "square", "neg", "pow")
)
_PLAIN_NUMBERS = frozenset({"item", "detach", "tolist", "numpy", "detach_", "float", "int", "len", "get_lr"})


@dataclass(frozen=True, slots=True)
class Backward:
    """One back-propagation: the call, what it starts from, whether the graph outlives it or the loss is no scalar."""

    call: ast.Call
    loss: ast.expr
    retains: bool


@dataclass(frozen=True, slots=True)
class Carrier:
    """Why a value carries a graph: the back-propagation that runs through it; ``scalar`` when it has one element."""

    backward: Backward
    scalar: bool


def backwards(program: Program) -> list[Backward]:
    """The calls of ``backward`` of a file: methods of the loss, and of engines that are handed it."""
    memo = program.memo("backward.calls")
    if program.module not in memo:
        memo[program.module] = [found for call in program.tree.calls if (found := _backward(program, call)) is not None]
    result: list[Backward] = memo[program.module]
    return result


def _backward(program: Program, call: ast.Call) -> Backward | None:
    func = call.func
    if not isinstance(func, ast.Attribute) or func.attr not in ("backward", "manual_backward"):
        return None
    holder = last_name(func.value)
    retained = any(k.arg in ("retain_graph", "create_graph") and not _is_false(k.value) for k in call.keywords)
    if call.args and (func.attr == "manual_backward" or _ENGINE.search(holder)):
        return None if isinstance(call.args[0], ast.Starred) else Backward(call, call.args[0], retained)
    if func.attr == "manual_backward" or program.names.one(func) in ("torch.autograd.backward",):
        return None
    return Backward(call, _started(program, func.value), retained or bool(call.args))


def _is_false(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and not value.value


def _started(program: Program, expr: ast.expr) -> ast.expr:
    """The loss behind what ``backward`` is called on: ``scaler.scale(loss)``, ``scale_loss(loss, …) as scaled``."""
    if isinstance(expr, ast.Call) and isinstance(expr.func, ast.Attribute) and expr.func.attr == "scale" and expr.args:
        return expr.args[0]
    if isinstance(expr, ast.Name):
        bindings = program.scopes.reaching(expr)
        if len(bindings) == 1 and bindings[0].kind == "with" and isinstance(bindings[0].value, ast.Call):
            made = bindings[0].value
            name = last_name(made.func)
            if name == "scale_loss" and made.args:
                return made.args[0]
    return expr


class Graphs:
    """The values of one file that certainly carry a graph, because something is back-propagated through them."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._bindings: dict[int, list[Carrier]] = {}
        self._places: dict[str, list[Carrier]] = {}
        for backward in backwards(program):
            self._mark(backward.loss, Carrier(backward, scalar=True))

    def carrier(self, expr: ast.expr, at: ast.AST, depth: int = 6) -> Carrier | None:
        """Why the value of ``expr`` carries a graph when ``at`` runs; None when it need not."""
        if depth == 0:
            return None
        if isinstance(expr, ast.Name):
            return self._name(expr, at, depth)
        if isinstance(expr, ast.Attribute | ast.Subscript):
            return self._place(expr, at)
        if isinstance(expr, ast.BinOp):
            sides = [self.carrier(side, at, depth - 1) for side in (expr.left, expr.right)]
            found = next((side for side in sides if side is not None), None)
            whole = found is not None and all(
                s is not None or _is_number(e) for s, e in zip(sides, (expr.left, expr.right), strict=True)
            )
            return found if found is None or whole else Carrier(found.backward, False)
        if isinstance(expr, ast.UnaryOp):
            return self.carrier(expr.operand, at, depth - 1)
        if isinstance(expr, ast.IfExp):
            arms = [self.carrier(expr.body, at, depth - 1), self.carrier(expr.orelse, at, depth - 1)]
            return arms[0] if None not in arms else None
        if isinstance(expr, ast.Call):
            return self._call(expr, at, depth)
        return None

    def leaves(self, expr: ast.expr, at: ast.AST) -> Iterator[tuple[ast.expr, Carrier]]:
        """The parts of an arithmetic expression, or of a collection, that carry a graph."""
        parts: list[ast.expr] = []
        if isinstance(expr, ast.BinOp):
            parts = [expr.left, expr.right]
        elif isinstance(expr, ast.UnaryOp):
            parts = [expr.operand]
        elif isinstance(expr, ast.Tuple | ast.List):
            parts = expr.elts
        elif isinstance(expr, ast.Dict):
            parts = expr.values
        if parts:
            for part in parts:
                yield from self.leaves(part, at)
            return
        found = self.carrier(expr, at)
        if found is not None:
            yield expr, found

    # -- what backward runs through -----------------------------------------

    def _mark(self, expr: ast.expr, carrier: Carrier, depth: int = 8) -> None:
        if depth == 0:
            return
        if isinstance(expr, ast.Name):
            for binding in self.program.scopes.reaching(expr):
                known = self._bindings.setdefault(id(binding), [])
                if carrier in known:
                    continue
                known.append(carrier)
                if binding.kind in ("assign", "augment", "walrus") and binding.value is not None:
                    self._mark_sum(binding.value, carrier, depth - 1)
        elif isinstance(expr, ast.Attribute | ast.Subscript):
            self._places.setdefault(ast.dump(expr), []).append(carrier)
        else:
            self._mark_sum(expr, carrier, depth)

    def _mark_sum(self, expr: ast.expr, carrier: Carrier, depth: int) -> None:
        """Go down through sums to the terms: if the sum is back-propagated, so is every term that comes from a call."""
        if isinstance(expr, ast.BinOp) and isinstance(expr.op, ast.Add | ast.Sub):
            for side in (expr.left, expr.right):
                self._mark_term(side, carrier, depth)
        elif isinstance(expr, ast.BinOp) and isinstance(expr.op, ast.Div):
            self._mark_term(expr.left, carrier, depth)
        elif isinstance(expr, ast.BinOp) and isinstance(expr.op, ast.Mult):
            for side in (expr.left, expr.right):
                self._mark_factor(side, carrier, depth)
        elif isinstance(expr, ast.UnaryOp):
            self._mark_term(expr.operand, carrier, depth)
        elif isinstance(expr, ast.Call) and isinstance(expr.func, ast.Attribute) and expr.func.attr in _REDUCING:
            if not self.program.names.under(expr.func, "torch"):
                self._mark(expr.func.value, Carrier(carrier.backward, False), depth - 1)
        elif isinstance(expr, ast.Name) or (isinstance(expr, ast.Attribute) and expr.attr.startswith("loss")):
            self._mark(expr, carrier, depth - 1)

    def _mark_term(self, expr: ast.expr, carrier: Carrier, depth: int) -> None:
        if isinstance(expr, ast.Name):
            made = [b.value for b in self.program.scopes.reaching(expr) if b.kind in ("assign", "unpack", "augment")]
            if made and all(isinstance(v, ast.Call | ast.BinOp) and not _gives_number(v) for v in made):
                self._mark(expr, carrier, depth - 1)
        elif not isinstance(expr, ast.Attribute | ast.Subscript):
            self._mark_sum(expr, carrier, depth - 1)

    def _mark_factor(self, expr: ast.expr, carrier: Carrier, depth: int) -> None:
        """Of a product only a factor that calls itself a loss: the other one may be a weight or a mask."""
        if isinstance(expr, ast.Name) and re.search(r"loss", expr.id, re.IGNORECASE):
            self._mark_term(expr, carrier, depth)

    # -- looking up -----------------------------------------

    def _name(self, name: ast.Name, at: ast.AST, depth: int) -> Carrier | None:
        bindings = self.program.scopes.reaching_at(name.id, at)
        found: Carrier | None = None
        for binding in bindings:
            one = self._binding(binding, at, depth)
            if one is None:
                return None
            found = one if found is None or found.scalar else found
        return found

    def _binding(self, binding: Binding, at: ast.AST, depth: int) -> Carrier | None:
        if (
            binding.kind in ("assign", "walrus")
            and isinstance(binding.value, ast.Call)
            and _gives_number(binding.value)
        ):
            return None
        for carrier in self._bindings.get(id(binding), ()):
            if self._meets(carrier, at):
                return carrier
        if binding.kind in ("assign", "walrus") and binding.value is not None and binding.statement is not None:
            return self.carrier(binding.value, binding.statement, depth - 1)
        if binding.kind == "unpack" and isinstance(binding.value, ast.Call) and binding.index is not None:
            return self._returned(binding.value, binding.index, depth)
        return None

    def _place(self, expr: ast.Attribute | ast.Subscript, at: ast.AST) -> Carrier | None:
        """``outputs.loss``: the same words as in a back-propagation of the same function, and not assigned after it."""
        text = ast.dump(expr)
        function = self.program.tree.function(at)
        for carrier in self._places.get(text, ()):
            call = carrier.backward.call
            if self.program.tree.function(call) is not function or not self._meets(carrier, at):
                continue
            around = walk_scope(function if function is not None else self.program.module)
            later = [n for n in around if isinstance(n, ast.Attribute | ast.Subscript) and n.lineno > call.lineno]
            stores = [n for n in later if isinstance(n.ctx, ast.Store)]
            if not any(_same_place(n, expr) for n in stores):
                return carrier
        return None

    def _call(self, call: ast.Call, at: ast.AST, depth: int) -> Carrier | None:
        if _gives_number(call):
            return None
        if self.program.names.matches(call.func, *_CARRYING_CALLS) and call.args:
            first = call.args[0]
            parts = first.elts if isinstance(first, ast.List | ast.Tuple) else [first]
            found = next((c for p in parts if (c := self.carrier(p, at, depth - 1)) is not None), None)
            return None if found is None else Carrier(found.backward, False)
        if isinstance(call.func, ast.Attribute) and call.func.attr in _CARRYING:
            return self.carrier(call.func.value, at, depth - 1)
        return self._returned(call, None, depth)

    def _returned(self, call: ast.Call, index: int | None, depth: int) -> Carrier | None:
        """What a function of the file gives back, when every ``return`` of it gives something that carries a graph."""
        target = callee(self.program, call) or definition(self.program, call.func)
        if depth <= 1 or target is None or target.program is not self.program or not isinstance(target.node, FUNCTIONS):
            return None
        found: Carrier | None = None
        for value in returned(target.node):
            if index is not None:
                value = value.elts[index] if isinstance(value, ast.Tuple) and index < len(value.elts) else None
            one = None if value is None else self.carrier(value, value, depth - 2)
            if one is None:
                return None
            found = one
        return found

    def _meets(self, carrier: Carrier, at: ast.AST) -> bool:
        return not carrier.backward.retains and not exclusive(self.program, carrier.backward.call, at)


def graphs(program: Program) -> Graphs:
    """The graphs of a file, computed once."""
    memo = program.memo("backward.graphs")
    if program.module not in memo:
        memo[program.module] = Graphs(program)
    result: Graphs = memo[program.module]
    return result


def returned(function: FunctionNode) -> list[ast.expr | None]:
    """The values of the ``return`` statements of a function."""
    return [node.value for node in walk_scope(function) if isinstance(node, ast.Return)]


def _gives_number(expr: ast.expr | None) -> bool:
    """``x.item()``, ``float(x)``, ``x.detach()``: whatever went in, what comes out carries no graph."""
    if not isinstance(expr, ast.Call):
        return isinstance(expr, ast.Attribute) and expr.attr == "data"
    while isinstance(expr, ast.Call) and isinstance(expr.func, ast.Attribute):
        if expr.func.attr in _PLAIN_NUMBERS - {"float", "int"}:
            return True
        inner: ast.expr = expr.func.value
        while isinstance(inner, ast.Attribute | ast.Subscript):
            if isinstance(inner, ast.Attribute) and inner.attr == "data":
                return True
            inner = inner.value
        expr = inner
    return (
        isinstance(expr, ast.Call)
        and isinstance(expr.func, ast.Name)
        and expr.func.id in ("float", "int", "len", "round", "str")
    )


def _is_number(expr: ast.expr) -> bool:
    """An operand that does not change the number of elements."""
    if isinstance(expr, ast.Constant):
        return True
    if isinstance(expr, ast.Call) and isinstance(expr.func, ast.Attribute):
        return expr.func.attr == "size" and bool(expr.args)
    return isinstance(expr, ast.Call) and isinstance(expr.func, ast.Name) and expr.func.id in ("len", "float", "int")


def _same_place(one: ast.expr, other: ast.expr) -> bool:
    """Whether two attributes or items are written alike, whether they are read or assigned."""
    return ast.unparse(one) == ast.unparse(other)
