"""Models that run without gradients while they may be in train mode, and what speaks for that being wanted."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchlint.semantics import classes, layers
from torchlint.semantics.calls import FORWARD_METHODS
from torchlint.semantics.frames import Event, Region
from torchlint.semantics.gradients import FLAG, Gradient, flag_argument, switch
from torchlint.semantics.layers import Dependence
from torchlint.semantics.modes import Mode, Obj, Status
from torchlint.semantics.project import Definition
from torchlint.semantics.regions import regions_of_interest
from torchlint.semantics.scopes import Binding
from torchlint.semantics.tree import FUNCTIONS, FunctionNode, walk
from torchlint.semantics.values import Known

if TYPE_CHECKING:
    from torchlint.semantics.program import Program

VALIDATION = re.compile(
    r"(^|_)(val|valid|validate|validation|test|tests|eval|evaluate|evaluation|infer|inference|predict|prediction|predictions"
    r"|accuracy|score|check_accuracy|estimate_loss|run_eval|evaluator|tester|validator)(_|$|\d)|validat|evaluat",
    re.IGNORECASE,
)
_MODEL_NAME = re.compile(
    r"(^|_)(model|net|network|cnn|rnn|lstm|gru|mlp|classifier|generator|discriminator|encoder|decoder|backbone|teacher|student"
    r"|unet|resnet\d*|vgg\d*|vit|bert|gpt|vae|autoencoder|gan|transformer|detector|segmentor|module)(_|\d*$)|model$|net$",
    re.IGNORECASE,
)
_NO_MODEL = re.compile(r"loss|criterion|metric|optim|sched|loader|transform|^fn$|func", re.IGNORECASE)
_MOST_FILES = 6


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
        if not any(note(_judge(region, event, False)) for event in decided) and not decided:
            any(note(_judge_unknown(program, region, event)) for event in open_ended)
    return exposed


def _receiver(region: Region, event: Event, obj: Obj) -> ast.expr | None:
    """The expression that names the model, if it means the same at the region as where the model runs."""
    program = region.program
    if event.program is not program or program.tree.function(event.node) is not _home(program, region):
        return None
    func = event.node.func
    if isinstance(func, ast.Attribute):
        owner = _class_of(obj)
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


def _judge(region: Region, event: Event, callers_unknown: bool) -> Exposure | None:
    for obj, status in event.receivers:
        mode = status.mode
        if not mode & (Mode.TRAIN | Mode.FRESH) or mode & (Mode.OPAQUE | Mode.PARTIAL):
            continue
        if region.gradient is Gradient.FLAG and mode & (Mode.EVAL | Mode.ENTRY):
            continue
        if _is_measure(obj) or not is_module(event, obj):
            continue
        depends = dependence(obj)
        if depends is Dependence.INDEPENDENT or _wanted(region, event, obj, status):
            continue
        return Exposure(region, event, obj, status, callers_unknown, depends, _receiver(region, event, obj))
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
        if obj.kind != "param" or _is_measure(obj) or not is_module(event, obj):
            continue
        arguments = function.args
        own = any(obj.node is a for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs))
        if not own or not _trained_beside(program, function, obj.name):
            continue
        depends = dependence(obj)
        if depends is Dependence.INDEPENDENT or _wanted(region, event, obj, status):
            continue
        return Exposure(region, event, obj, status, True, depends, _receiver(region, event, obj))
    return None


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


# -- callers in other files ------------------------------------------------------------------------------------------------


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
        for other in callers(program, name, wanted):
            found.extend(e for e in other.flow.events if e.kind == "forward" and e.region == region)
    return [e for e in found if not all(s.mode is Mode.ENTRY for _, s in e.receivers)]


def callers(program: Program, name: str, wanted: ast.AST) -> list[Program]:
    """Other files of the project with a call that certainly means the function or class ``wanted`` of this one."""
    project = program.project
    if project is None:
        return []
    memo: dict[ast.AST, list[Program]] = program.memo("evalmode.callers")
    if wanted not in memo:
        memo[wanted] = []
        for other in project.mentions(name, program.source.path):
            if any(_last(call.func) == name and _means(other, call.func, wanted) for call in other.tree.calls):
                memo[wanted].append(other)
                if len(memo[wanted]) == _MOST_FILES:
                    break
    return memo[wanted]


def _last(func: ast.expr) -> str:
    return func.attr if isinstance(func, ast.Attribute) else (func.id if isinstance(func, ast.Name) else "")


def _means(program: Program, func: ast.expr, wanted: ast.AST) -> bool:
    found = program.definition(func)
    return found is not None and found.node is wanted


# -- what a receiver is --------------------------------------------------------------------------------------------------


def _is_measure(obj: Obj) -> bool:
    """Whether an object is a loss, a metric or the like by its name or that of its class."""
    name = _last(obj.node.func) if obj.kind == "new" and isinstance(obj.node, ast.Call) else obj.name
    return bool(_NO_MODEL.search(name))


def is_module(event: Event, obj: Obj) -> bool:
    """Whether an object certainly is a network: by its class, its constructor, its annotation, or what is done with it."""
    owner = _class_of(obj)
    if owner is not None:
        known = layers.is_module_class(owner)
        if known is not None:
            return known
    if obj.kind == "copy" and obj.base is not None and is_module(event, obj.base):
        return True
    if obj.kind == "new" and isinstance(obj.node, ast.Call):
        names = obj.program.names.of(obj.node.func)
        if any(
            n.startswith(("torch.nn.", "torchvision.models.", "timm.", "segmentation_models_pytorch.")) for n in names
        ):
            return True
        if any(
            n != "builtins.eval"
            and n.startswith(("torch.", "builtins.", "numpy.", "torchmetrics.", "torchvision.transforms"))
            for n in names
        ):
            return False
    if obj.kind == "param" and isinstance(obj.node, ast.arg) and obj.node.annotation is not None:
        names = obj.program.names.of(obj.node.annotation)
        if any(n.startswith("torch.nn.") for n in names):
            return True
        if any(n in ("typing.Callable", "collections.abc.Callable", "torch.Tensor") for n in names):
            return False
    evidence = _evidence(event, obj)
    if evidence:
        return True
    name = obj.name or _last(event.node.func)  # what is made elsewhere is known by the name it is called under
    return obj.kind in ("param", "attr", "free", "new", "copy") and bool(_MODEL_NAME.search(name))


def _evidence(event: Event, obj: Obj) -> set[str]:
    found: set[str] = set()
    flow = event.program.flow
    found |= flow.evidence.get(obj, set())
    for program in {obj.program, event.program}:
        found |= program.flow.evidence.get(obj, set())
    return found


def _class_of(obj: Obj) -> Definition | None:
    return obj.program.flow.class_of(obj)


def dependence(obj: Obj) -> Dependence:
    """What is known of the layers of an object."""
    if obj.kind == "copy" and obj.base is not None:
        return dependence(obj.base)
    owner = _class_of(obj)
    if owner is not None:
        if obj.kind == "new" and isinstance(obj.node, ast.Call):
            return layers.of_call(obj.program, obj.node)
        return layers.of_class(owner)
    if obj.kind == "new" and isinstance(obj.node, ast.Call):
        return layers.of_call(obj.program, obj.node)
    if obj.kind == "attr" and obj.base is not None:
        holder = _class_of(obj.base)
        if holder is not None:
            if layers.of_class(holder) is Dependence.INDEPENDENT:
                return Dependence.INDEPENDENT
            values = classes.attribute_values(holder, obj.name)
            if values:
                return max(layers.of_expression(p, v) for p, v in values)
    if obj.kind == "free":
        scope = obj.program.scopes.by_node.get(obj.node)
        bindings = scope.bindings.get(obj.name, []) if scope is not None else []
        values = [(obj.program, b.value) for b in bindings if b.kind == "assign" and b.value is not None]
        if values and len(values) == len(bindings):
            return max(layers.of_expression(p, v) for p, v in values)
    return Dependence.UNKNOWN


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


def is_network_class(owner: Definition) -> bool:
    """Whether a class is a network that runs: a module without ``forward`` only holds networks, like any other class."""
    known = layers.is_module_class(owner)
    runs = any(m.name == "forward" for cls in classes.lineage(owner) for m in classes.methods(cls))
    outside = classes.outside_bases(owner) - {layers.MODULE}
    return known is not False and (runs or (known is True and bool(outside - {"builtins.object", "abc.ABC"})))


def _out_of_scope(program: Program, region: Region) -> bool:
    return _in_framework(program, region) or _in_unit_test(program, region)


def _in_framework(program: Program, region: Region) -> bool:
    node: ast.AST = region.node
    for ancestor in program.tree.ancestors(node):
        if isinstance(ancestor, ast.ClassDef) and layers.is_framework_class(Definition(program, ancestor)):
            return True
    return False


def _in_unit_test(program: Program, region: Region) -> bool:
    """Whether the region stands in a test of a test module: freshly built networks are run there to compare numbers."""
    file = os.path.basename(program.source.path)
    if not (file.startswith("test_") or file.endswith("_test.py") or file == "conftest.py"):
        return False
    return any(
        (isinstance(a, FUNCTIONS) and a.name.startswith("test")) or (isinstance(a, ast.ClassDef) and "Test" in a.name)
        for a in program.tree.ancestors(region.node)
    )


# -- train mode that is wanted -------------------------------------------------------------------------------------------


def _wanted(region: Region, event: Event, obj: Obj, status: Status) -> bool:
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
        and _class_of(obj) is not None
        and dependence(obj) is Dependence.UNKNOWN
    )


def _noisy(obj: Obj) -> bool:
    owner = _class_of(obj)
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
            name = held.attr if isinstance(held, ast.Attribute) else (held.id if isinstance(held, ast.Name) else "")
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
