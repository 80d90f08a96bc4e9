"""Models that are traced or exported while they may be in train mode."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchlint.semantics.modes import Mode
from torchlint.semantics.receivers import dependence, is_module
from torchlint.semantics.requirements import torch_ceiling
from torchlint.semantics.torch_layers import Dependence
from torchlint.semantics.training import trains
from torchlint.semantics.tree import walk_scope
from torchlint.semantics.unit_tests import in_unit_test
from torchlint.semantics.values import ABSENT

if TYPE_CHECKING:
    from torchlint.semantics.frames import Event
    from torchlint.semantics.program import Program

_NEW_EXPORTER = (2, 9)  # the first PyTorch whose torch.onnx.export follows the mode unless told otherwise
TRACE, EXPORT, ONNX = "torch.jit.trace", "torch.export.export", "torch.onnx.export"


@dataclass(frozen=True, slots=True)
class Exported:
    """A call that freezes ``model`` as it runs at that moment. ``row`` is that of the ``train()`` call, if there is
    one; ``seen`` whether a layer that depends on the mode is in sight.
    """

    call: ast.Call
    model: ast.expr
    row: int | None
    seen: bool


def exported_in_train_mode(program: Program) -> Iterator[Exported]:
    """The exports of this file whose model may be in train mode, each once."""
    found: dict[ast.Call, Exported] = {}
    for event in program.flow.events:
        if event.kind != "export" or event.program is not program or event.node in found:
            continue
        model = _model(event.node)
        if model is None or in_unit_test(program, event.node) or _trains_on(program, event.node, model):
            continue
        if _freezes_mode(program, event.node) and not _is_scripted(program, model):
            exported = _judge(program, event, model)
            if exported is not None:
                found[event.node] = exported
    yield from found.values()


def _is_scripted(program: Program, model: ast.expr) -> bool:
    """Whether the name was given a script before: ``self.net = torch.jit.script(self.net)``."""
    function = program.tree.function(model)
    return any(
        isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Call)
        and program.names.matches(node.value.func, "torch.jit.script", "torch.jit.load")
        and any(ast.unparse(target) == ast.unparse(model) for target in node.targets)
        and node.lineno < model.lineno
        for node in walk_scope(function if function is not None else program.module)
    )


def _trains_on(program: Program, call: ast.Call, model: ast.expr) -> bool:
    """Whether a traced network takes the place of the network in a file that trains: ``net = torch.jit.trace(net, x)``."""
    statement = program.tree.statement(call)
    if not isinstance(statement, ast.Assign) or statement.value is not call or not trains(program, program.module):
        return False
    if not any(ast.unparse(target) == ast.unparse(model) for target in statement.targets):
        return False
    name = ast.unparse(model)
    saves = (
        (c.func.value, *c.args)
        for c in program.tree.calls
        if isinstance(c.func, ast.Attribute) and c.func.attr == "save"
    )
    return not any(ast.unparse(part) == name for parts in saves for part in parts)


def _judge(program: Program, event: Event, model: ast.expr) -> Exported | None:
    for obj, status in event.receivers:
        mode = status.mode
        if not mode & (Mode.TRAIN | Mode.FRESH) or mode & (Mode.OPAQUE | Mode.PARTIAL):
            continue
        if mode & Mode.TRAIN and mode & Mode.EVAL and not mode & Mode.FRESH:
            continue  # switched either way on purpose
        if not is_module(event, obj):
            continue
        layers = dependence(obj)
        if layers is Dependence.INDEPENDENT:
            continue
        rows = [s.lineno for s in status.sources if isinstance(s, ast.Call)] if mode & Mode.TRAIN else []
        return Exported(event.node, model, max(rows, default=None), layers is Dependence.DEPENDS)
    return None


def _model(call: ast.Call) -> ast.expr | None:
    if call.args:
        return None if isinstance(call.args[0], ast.Starred) else call.args[0]
    return next((word.value for word in call.keywords if word.arg in ("func", "mod", "model")), None)


def _freezes_mode(program: Program, call: ast.Call) -> bool:
    """Whether the mode at the call is the mode of the result: scripts keep both, the older ONNX exporter evaluates."""
    if program.names.matches(call.func, TRACE, EXPORT):
        return True
    if not program.names.matches(call.func, ONNX):
        return False
    if program.values.argument(call, "training") != (ABSENT,) or len(call.args) > 5:
        return False
    dynamo = program.values.keyword(call, "dynamo")
    if dynamo is None:
        newest = torch_ceiling(program)
        return newest is None or newest >= _NEW_EXPORTER
    return isinstance(dynamo.value, ast.Constant) and dynamo.value.value is True
