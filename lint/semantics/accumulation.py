"""Training loops whose gradients pile up from step to step, because nothing in the file clears them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchlint.semantics.backward import backwards
from torchlint.semantics.callers import callee
from torchlint.semantics.tree import walk, walk_scope

if TYPE_CHECKING:
    from torchlint.semantics.loops import Loop
    from torchlint.semantics.program import Program

# Any sign that the file clears or handles gradients by itself.
_CLEARED = re.compile(r"zero_grad|^grad$|(reset|clear|zero)_?grads?|set_to_none|functional_call|manual_backward")
_OPTIMIZER = re.compile(r"(^|_)(optim\w*|opt|opt_\w+|sgd|adamw?)(_|\d*$)", re.IGNORECASE)
_NOT_ONE = re.compile(r"sched|scaler|engine|model|env|trainer", re.IGNORECASE)
_ENGINES = re.compile(r"engine|fabric|booster|strategy|trainer|model", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Uncleared:
    """A back-propagation in a loop, and the optimizer that steps in the same loop."""

    backward: ast.Call
    optimizer: ast.expr


def uncleared(program: Program) -> Iterator[Uncleared]:
    """The back-propagations of a file after which nothing clears the gradients, in source order."""
    found = backwards(program)
    if not found or any(_clears(node) for node in program.tree.nodes):
        return
    for backward in found:
        if _by_engine(backward.call):
            continue
        for loop in program.tree.loops(backward.call):
            optimizer = _stepped(program, loop)
            if optimizer is None:
                continue
            if not _made_in(program, optimizer, loop) and not _handed_on(program, optimizer, loop):
                yield Uncleared(backward.call, optimizer)
            break


def _clears(node: ast.AST) -> bool:
    """Whether a name, attribute, function or import speaks of gradients being cleared or handled by hand."""
    if isinstance(node, ast.Attribute):
        return _CLEARED.search(node.attr) is not None
    if isinstance(node, ast.Name):
        return _CLEARED.search(node.id) is not None
    return isinstance(node, ast.alias) and _CLEARED.search(node.name) is not None


def _by_engine(call: ast.Call) -> bool:
    """Engines (DeepSpeed and others) clear the gradients in their own ``step``."""
    func = call.func
    assert isinstance(func, ast.Attribute)
    return bool(call.args) and _ENGINES.search(ast.unparse(func.value).rpartition(".")[2]) is not None


def _stepped(program: Program, loop: Loop) -> ast.expr | None:
    """The one optimizer that steps in a loop; None when there is none, several, or a closure does the work."""
    found: dict[str, ast.expr] = {}
    for node in walk_scope(loop):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr != "step":
            continue
        holder = node.func.value
        if "scaler" in ast.unparse(holder).lower() and node.args:
            found[ast.unparse(node.args[0])] = node.args[0]
        elif _is_optimizer(program, holder):
            if node.args or node.keywords:
                return None
            found[ast.unparse(holder)] = holder
    return next(iter(found.values())) if len(found) == 1 else None


def _is_optimizer(program: Program, expr: ast.expr) -> bool:
    if isinstance(expr, ast.Name):
        values = program.values.alternatives(expr)
        if values and all(isinstance(v, ast.Call) and program.names.under(v.func, "torch.optim") for v in values):
            return not any(
                program.names.under(v.func, "torch.optim.lr_scheduler") for v in values if isinstance(v, ast.Call)
            )
    if not isinstance(expr, ast.Name | ast.Attribute):
        return False
    name = expr.attr if isinstance(expr, ast.Attribute) else expr.id
    return _OPTIMIZER.search(name) is not None and not _NOT_ONE.search(name)


def _made_in(program: Program, optimizer: ast.expr, loop: Loop) -> bool:
    """Whether each turn of the loop makes an optimizer of its own, as for a fresh model."""
    root = optimizer
    while isinstance(root, ast.Attribute):
        root = root.value
    if not isinstance(root, ast.Name):
        return True
    inside = {id(n) for n in walk(loop)}
    return any(id(b.statement) in inside for b in program.scopes.reaching(root))


def _handed_on(program: Program, optimizer: ast.expr, loop: Loop) -> bool:
    """Whether the loop hands the optimizer, or what holds it, to code out of sight that may clear the gradients."""
    text = ast.unparse(optimizer)
    root = text.partition(".")[0]
    for node in walk_scope(loop):
        if not isinstance(node, ast.Call):
            continue
        target = callee(program, node)
        if target is not None and target.program is program:
            continue
        given = [ast.unparse(a) for a in (*node.args, *(k.value for k in node.keywords))]
        scaler = isinstance(node.func, ast.Attribute) and "scaler" in ast.unparse(node.func.value).lower()
        if text in given and not scaler:
            return True
        own = isinstance(node.func, ast.Attribute) and ast.unparse(node.func.value) == root and root != text
        if own and target is None and node.func.attr not in ("model", "net", "criterion", "loss_fn", "loss", "log"):  # type: ignore[attr-defined]
            return True
    return False
