"""Where gradients are off: ``with torch.no_grad():`` and its relatives, as context managers and decorators."""

from __future__ import annotations

import ast
import enum
import re
from typing import TYPE_CHECKING

from torchlint.semantics.tree import FunctionNode, walk

if TYPE_CHECKING:
    from torchlint.semantics.program import Program

OFF = ("torch.no_grad", "torch.inference_mode")
FLAG = "torch.set_grad_enabled"
_SPOKEN_OF = re.compile(r"no_grad|inference_mode")


class Gradient(enum.Enum):
    """What a context manager or decorator does to gradient recording."""

    OFF = "off"
    FLAG = "flag"  # a value decides that is not known here
    ON = "on"


def flag_argument(call: ast.Call) -> ast.expr | None:
    """The value that decides in ``set_grad_enabled(mode)`` or ``inference_mode(mode)``."""
    if call.args:
        return call.args[0]
    return next((k.value for k in call.keywords if k.arg == "mode"), None)


def switch(program: Program, expr: ast.expr) -> tuple[Gradient, ast.expr | None] | None:
    """What a context expression or decorator does to gradients, with the deciding value; None when it does nothing to them."""
    if isinstance(expr, ast.IfExp):
        arms = [switch(program, expr.body), switch(program, expr.orelse)]
        return (Gradient.FLAG, expr) if any(a is not None and a[0] is not Gradient.ON for a in arms) else None
    if isinstance(expr, ast.Name):
        values = program.values.alternatives(expr)
        if len(values) == 1 and isinstance(values[0], ast.Call):
            return switch(program, values[0])
    callee = expr.func if isinstance(expr, ast.Call) else expr
    if program.names.matches(callee, *OFF):
        decider = flag_argument(expr) if isinstance(expr, ast.Call) else None
        if decider is None:
            return Gradient.OFF, None
        known = program.values.constant(decider)
        value = getattr(known, "value", None)
        if value is True:
            return Gradient.OFF, None
        return (Gradient.ON, None) if value is False else (Gradient.FLAG, ast.UnaryOp(ast.Not(), decider))
    if program.names.matches(callee, FLAG) and isinstance(expr, ast.Call):
        return Gradient.FLAG, flag_argument(expr)
    return None


def decorator_switch(program: Program, function: FunctionNode) -> ast.expr | None:
    """The decorator that turns gradients off for the whole function, directly or through a function of the project."""
    if not function.decorator_list:
        return None
    memo: dict[ast.AST, ast.expr | None] = program.memo("gradients.decorators")
    if function not in memo:
        memo[function] = _decorator_switch(program, function)
    return memo[function]


def _decorator_switch(program: Program, function: FunctionNode) -> ast.expr | None:
    for decorator in function.decorator_list:
        found = switch(program, decorator)
        if found is not None and found[0] is Gradient.OFF:
            return decorator
        callee = decorator.func if isinstance(decorator, ast.Call) else decorator
        target = program.definition(callee)
        if target is not None and isinstance(target.node, ast.FunctionDef | ast.AsyncFunctionDef):
            names = target.program.names
            if _SPOKEN_OF.search(target.program.source.text) and any(
                isinstance(n, ast.Attribute | ast.Name) and names.may_match(n, *OFF) for n in walk(target.node)
            ):
                return decorator
    return None
