"""Models that run without gradients while they may be in train mode, and what speaks for that being wanted."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchlint.semantics import classes, module_classes
from torchlint.semantics.callers import files_calling
from torchlint.semantics.calls import FORWARD_METHODS
from torchlint.semantics.frames import Event, Region
from torchlint.semantics.gradients import FLAG, Gradient, flag_argument, switch
from torchlint.semantics.modes import Mode, Obj, Status
from torchlint.semantics.objects import class_of
from torchlint.semantics.project import Definition
from torchlint.semantics.receivers import dependence, is_measure, is_module, is_network_class
from torchlint.semantics.regions import regions_of_interest
from torchlint.semantics.torch_layers import Dependence
from torchlint.semantics.tree import FUNCTIONS, FunctionNode
from torchlint.semantics.unit_tests import in_unit_test
from torchlint.semantics.values import Known
from torchlint.semantics.wanted import is_wanted

if TYPE_CHECKING:
    from torchlint.semantics.program import Program

VALIDATION = re.compile(
    r"(^|_)(val|valid|validate|validation|test|tests|eval|evaluate|evaluation|infer|inference|predict|prediction|predictions"
    r"|accuracy|score|check_accuracy|estimate_loss|run_eval|evaluator|tester|validator)(_|$|\d)|validat|evaluat",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Exposure:
    """A model that may run in train mode inside a region.

    ``receiver`` is the expression that names the model in the region; None when the model runs in a function called from
    there and has no name in the region.
    """

    region: Region
    event: Event
    obj: Obj
    status: Status
    callers_unknown: bool
    dependence: Dependence
    receiver: ast.expr | None = None

    @property
    def train_row(self) -> int | None:
        """The row of the ``train()`` call, when it stands in the file of the region."""
        rows = [getattr(s, "lineno", 0) for s in self.status.sources if self.obj.program is self.region.program]
        return min(rows) if rows and self.status.mode & Mode.TRAIN else None


def exposures(program: Program) -> Iterator[list[Exposure]]:
    """For each region of this file the models that may run there in train mode, the first to run first; no empty lists."""
    if any(not _out_of_scope(program, Region(program, *found)) for found in regions_of_interest(program)):
        yield from followed_exposures(program)


def followed_exposures(program: Program) -> Iterator[list[Exposure]]:
    """The same without the cheap look that spares most files: every model is followed through the file."""
    events = [
        e for e in program.flow.events if e.kind == "forward" and e.region is not None and e.region.program is program
    ]
    by_region: dict[Region, list[Event]] = {}
    for event in events:
        assert event.region is not None
        by_region.setdefault(event.region, []).append(event)
    for region, inside in sorted(by_region.items(), key=lambda item: item[0].node.lineno):
        found = _exposed(program, region, inside)
        if found:
            yield found


def _exposed(program: Program, region: Region, events: list[Event]) -> list[Exposure]:
    if _out_of_scope(program, region):
        return []
    exposed: list[Exposure] = []
    named: set[str] = set()

    def note(found: Exposure | None) -> bool:
        if found is None:
            return False
        name = ast.dump(found.receiver) if found.receiver is not None else ""
        if name not in named:
            named.add(name)
            exposed.append(found)
        return True

    foreign: list[Event] | None = None
    grouped: dict[ast.Call, list[Event]] = {}
    for event in events:
        if not _own_method(event):
            grouped.setdefault(event.node, []).append(event)
    for _, group in sorted(grouped.items(), key=lambda item: (item[0].lineno, item[0].col_offset)):
        decided = [e for e in group if not all(s.mode is Mode.ENTRY for _, s in e.receivers)]
        open_ended = [e for e in group if e not in decided]
        if not decided and open_ended:
            if foreign is None:
                foreign = _from_callers(program, region, open_ended)
            decided = [e for e in foreign if e.node is group[0].node]
        if decided and all(_switched_by_caller(region, e) for e in decided):
            if foreign is None:
                foreign = _from_callers(program, region, group)
            decided = [*decided, *(e for e in foreign if e.node is group[0].node)]
        if not any(note(_judge(region, event)) for event in decided) and not decided:
            any(note(_judge_unknown(program, region, event)) for event in open_ended)
    return exposed


def _receiver(region: Region, event: Event, obj: Obj) -> ast.expr | None:
    """The expression that names the model, if it means the same at the region as where the model runs."""
    program = region.program
    if event.program is not program or program.tree.function(event.node) is not _home(program, region):
        return None
    func = event.node.func
    if isinstance(func, ast.Attribute):
        owner = class_of(obj)
        if func.attr in FORWARD_METHODS or (owner is not None and classes.method(owner, func.attr) is not None):
            func = func.value
    root: ast.expr = func
    while isinstance(root, ast.Attribute):
        root = root.value
    if not isinstance(root, ast.Name):
        return None
    inside = region.node if isinstance(region.node, ast.With | ast.AsyncWith) else region.function
    for binding in program.scopes.reaching(root):
        if binding.kind != "param" and binding.statement is not None and inside is not None:
            if any(a is inside for a in program.tree.ancestors(binding.statement)):
                return None
    return func


def gradient_flag(program: Program, region: Region) -> ast.expr | None:
    """The flag in ``set_grad_enabled(flag)`` when the region is one whose gradients the flag decides."""
    if not isinstance(region.node, ast.With | ast.AsyncWith):
        return None
    for item in region.node.items:
        found = switch(program, item.context_expr)
        if found is not None and found[0] is Gradient.FLAG and isinstance(item.context_expr, ast.Call):
            flag = flag_argument(item.context_expr)
            known = program.values.constant(flag) if flag is not None else None
            if (
                flag is not None
                and not isinstance(known, Known)
                and program.names.matches(item.context_expr.func, FLAG)
            ):
                return flag
    return None


def trains(program: Program) -> bool:
    """Whether anything in the file trains: a backward pass or an optimizer step."""
    return any(isinstance(c.func, ast.Attribute) and c.func.attr in ("backward", "step") for c in program.tree.calls)


def _home(program: Program, region: Region) -> ast.AST | None:
    """The function in which the names of a region are looked up."""
    if isinstance(region.node, ast.With | ast.AsyncWith):
        return program.tree.function(region.node)
    return region.function


def _switched_by_caller(region: Region, event: Event) -> bool:
    """Whether all the eval mode there is comes from outside the function that holds the region."""
    function = region.function
    if function is None or not VALIDATION.search(function.name):
        return False
    for _, status in event.receivers:
        for source in status.sources:
            row = getattr(source, "lineno", 0)
            if function.lineno <= row <= (function.end_lineno or 0):
                return False
    return True


def _judge(region: Region, event: Event) -> Exposure | None:
    for obj, status in event.receivers:
        mode = status.mode
        if not mode & (Mode.TRAIN | Mode.FRESH) or mode & (Mode.OPAQUE | Mode.PARTIAL):
            continue
        if region.gradient is Gradient.FLAG and mode & (Mode.EVAL | Mode.ENTRY):
            continue
        found = _exposure(region, event, obj, status, callers_unknown=False)
        if found is not None:
            return found
    return None


def _judge_unknown(program: Program, region: Region, event: Event) -> Exposure | None:
    """A function that looks like validation and whose callers are out of sight.

    Most networks handed to such functions have no layer that depends on the mode, or were switched by the caller. So this
    speaks only when another function of the file switches the parameter of the same name to train mode.
    """
    function = region.function
    if function is None or region.gradient is Gradient.FLAG or not VALIDATION.search(function.name):
        return None
    for obj, status in event.receivers:
        arguments = function.args
        own = any(obj.node is a for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs))
        if not own or not _trained_beside(program, function, obj.name):
            continue
        found = _exposure(region, event, obj, status, callers_unknown=True)
        if found is not None:
            return found
    return None


def _exposure(region: Region, event: Event, obj: Obj, status: Status, *, callers_unknown: bool) -> Exposure | None:
    """What is reported of a model that may be in train mode: nothing when its mode does not matter or is wanted."""
    if is_measure(obj) or not is_module(event, obj):
        return None
    depends = dependence(obj)
    if depends is Dependence.INDEPENDENT or is_wanted(region, event, obj, status):
        return None
    return Exposure(region, event, obj, status, callers_unknown, depends, _receiver(region, event, obj))


def _trained_beside(program: Program, function: FunctionNode, name: str) -> bool:
    for other in program.tree.functions:
        if other is function or not any(
            a.arg == name for a in (*other.args.posonlyargs, *other.args.args, *other.args.kwonlyargs)
        ):
            continue
        for call in program.tree.within(other, ast.Call):
            callee = call.func
            if isinstance(callee, ast.Attribute) and callee.attr == "train" and isinstance(callee.value, ast.Name):
                if callee.value.id == name and not call.args and not call.keywords:
                    return True
    return False


def _from_callers(program: Program, region: Region, events: list[Event]) -> list[Event]:
    """The same forwards as seen when other files of the project are followed into this one."""
    project = program.project
    if project is None:
        return []
    entries = {e.frames[1] for e in events if len(e.frames) > 1}
    found: list[Event] = []
    for entry in sorted((e for e in entries if isinstance(e, FUNCTIONS)), key=lambda e: e.lineno):
        owner = program.tree.class_of(entry)
        wanted: ast.AST = owner if owner is not None else entry
        name = owner.name if owner is not None else entry.name
        for other in files_calling(program, name, wanted):
            events = other.flow_to(frozenset({name, entry.name})).events
            found.extend(e for e in events if e.kind == "forward" and e.region == region)
    return [e for e in found if not all(s.mode is Mode.ENTRY for _, s in e.receivers)]


def _own_method(event: Event) -> bool:
    """Whether the code of a network runs itself or its parts: the mode is the affair of whoever calls the network."""
    program = event.program
    function: ast.AST | None = program.tree.function(event.node)
    while function is not None:
        owner = program.tree.class_of(function)
        if owner is not None:
            return is_network_class(Definition(program, owner))
        function = program.tree.function(function)
    return False


def _out_of_scope(program: Program, region: Region) -> bool:
    return _in_framework(program, region) or in_unit_test(program, region.node)


def _in_framework(program: Program, region: Region) -> bool:
    node: ast.AST = region.node
    for ancestor in program.tree.ancestors(node):
        if isinstance(ancestor, ast.ClassDef) and module_classes.is_framework_class(Definition(program, ancestor)):
            return True
    return False
