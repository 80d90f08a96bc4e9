"""Train mode that is wanted in a region without gradients, as far as the code around it shows."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from torchlint.semantics.bindings import Binding
from torchlint.semantics.frames import Event, Region
from torchlint.semantics.modes import Mode, Obj, Status
from torchlint.semantics.objects import class_of
from torchlint.semantics.receivers import dependence
from torchlint.semantics.torch_layers import Dependence
from torchlint.semantics.tree import FUNCTIONS, last_name, walk

if TYPE_CHECKING:
    from torchlint.semantics.program import Program


def is_wanted(region: Region, event: Event, obj: Obj, status: Status) -> bool:
    program = event.program
    if program is not region.program:
        return _wanted_in(region, event, obj, status)
    statement = program.tree.statement(event.node)
    if isinstance(statement, ast.Expr) and statement.value is event.node:
        return True  # a dry run: shapes of lazy layers, warm-up, batch-norm recalibration
    return _wanted_in(region, event, obj, status)


def _wanted_in(region: Region, event: Event, obj: Obj, status: Status) -> bool:
    program = region.program
    if _training_decides(program, region) or _chosen_by_flag(obj.program, status):
        return True
    scope = region.function if region.function is not None else program.module
    text_nodes = list(walk(scope))
    names = {n.attr for n in text_nodes if isinstance(n, ast.Attribute)}
    if "reset_running_stats" in names:
        return True
    if _loads_out_of_sight(obj, status):
        return True
    if _noisy(obj) or (dependence(obj) is Dependence.UNKNOWN and _rollout(event)):
        return True
    if _detector_losses(event):
        return True
    explicit = bool(status.mode & Mode.TRAIN) and not status.mode & Mode.FRESH
    return explicit and feeds_backward(event, region)


def _training_decides(program: Program, region: Region) -> bool:
    for ancestor in program.tree.ancestors(region.node):
        if isinstance(ancestor, ast.If | ast.IfExp):
            if any(isinstance(n, ast.Attribute) and n.attr == "training" for n in walk(ancestor.test)):
                return True
        if isinstance(ancestor, FUNCTIONS):
            break
    return False


def _chosen_by_flag(program: Program, status: Status) -> bool:
    """``if flag: model.train() else: model.eval()``: whoever sets the flag chose the mode."""
    if not status.mode & Mode.EVAL or status.mode & Mode.FRESH:
        return False
    arms: dict[ast.If, set[bool]] = {}
    for source in status.sources:
        child: ast.AST = source
        for ancestor in program.tree.ancestors(source):
            if isinstance(ancestor, ast.If) and isinstance(child, ast.stmt):
                arms.setdefault(ancestor, set()).add(child in ancestor.body)
            child = ancestor
    return any(len(sides) == 2 for sides in arms.values())


def _loads_out_of_sight(obj: Obj, status: Status) -> bool:
    """A class of the project that was never switched and whose networks come from out of sight, in whatever mode."""
    return (
        status.mode is Mode.FRESH
        and obj.kind == "new"
        and class_of(obj) is not None
        and dependence(obj) is Dependence.UNKNOWN
    )


def _noisy(obj: Obj) -> bool:
    owner = class_of(obj)
    if owner is None:
        return False
    return any(
        (isinstance(n, ast.Name) and "noisy" in n.id.lower())
        or (isinstance(n, ast.Attribute) and n.attr == "reset_noise")
        for n in walk(owner.node)
    )


def _rollout(event: Event) -> bool:
    """Whether the code around steps an environment: agents whose layers are not in sight are taken for plain networks."""
    program = event.program
    function = program.tree.function(event.node)
    scope: ast.AST = function if function is not None else program.module
    for node in walk(scope):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in ("step", "step_async")
        ):
            held = node.func.value
            name = last_name(held)
            if re.search(r"env", name, re.IGNORECASE):
                return True
    return False


def _detector_losses(event: Event) -> bool:
    """``losses = detector(images, targets)`` and then the parts of ``losses``: detectors return losses in train mode only."""
    call = event.node
    if len(call.args) + len(call.keywords) < 2:
        return False
    target = call.args[1] if len(call.args) > 1 else call.keywords[-1].value
    named = next((n.id for n in walk(target) if isinstance(n, ast.Name)), "")
    if not re.search(r"target|label|annot|gt|box", named, re.IGNORECASE):
        return False
    results = _result_names(event)
    function = event.program.tree.function(call)
    scope: ast.AST = function if function is not None else event.program.module
    for node in walk(scope):
        if isinstance(node, ast.Attribute) and node.attr in ("values", "items") and isinstance(node.value, ast.Name):
            if node.value.id in results:
                return True
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id in results:
            if (
                isinstance(node.slice, ast.Constant)
                and isinstance(node.slice.value, str)
                and "loss" in node.slice.value
            ):
                return True
    return False


def _result_names(event: Event) -> set[str]:
    statement = event.program.tree.statement(event.node)
    found: set[str] = set()
    if isinstance(statement, ast.Assign):
        for target in statement.targets:
            found.update(n.id for n in walk(target) if isinstance(n, ast.Name))
    return found


def feeds_backward(event: Event, region: Region) -> bool:
    """Whether the outputs flow, through assignments of the same function, into something that is back-propagated later."""
    program = event.program
    function = program.tree.function(event.node)
    scope: ast.AST = function if function is not None else program.module
    statement = program.tree.statement(event.node)
    bindings = _bindings_by_statement(program, scope)
    tainted = set(bindings.get(statement, ()))
    if not tainted:
        return False
    for _ in range(4):
        before = len(tainted)
        for node, made in bindings.items():
            value = getattr(node, "value", None)
            if isinstance(value, ast.expr) and not tainted.issuperset(made) and _reads(program, value, tainted):
                tainted.update(made)
        if len(tainted) == before:
            break
    inside = set(walk(region.node)) if isinstance(region.node, ast.With | ast.AsyncWith) else set()
    for call in walk(scope):
        if call not in inside and isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
            if call.func.attr == "backward" and _reads(program, call, tainted):
                return True
    return False


def _bindings_by_statement(program: Program, scope: ast.AST) -> dict[ast.stmt, list[Binding]]:
    found: dict[ast.stmt, list[Binding]] = {}
    for bindings in program.scopes.by_node[scope].bindings.values():
        for binding in bindings:
            if binding.statement is not None:
                found.setdefault(binding.statement, []).append(binding)
    return found


def _reads(program: Program, node: ast.AST, wanted: set[Binding]) -> bool:
    return any(
        isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load) and not wanted.isdisjoint(program.scopes.reaching(n))
        for n in walk(node)
    )
