"""Calls in the mode analysis: what one does to the models it touches, and what it gives back."""

from __future__ import annotations

import abc
import ast
import re
from typing import TYPE_CHECKING

from torchlint.semantics import classes, layers
from torchlint.semantics.expressions import PARTS
from torchlint.semantics.following import Following
from torchlint.semantics.handed import CONTAINERS
from torchlint.semantics.modes import (
    NOTHING,
    Const,
    Func,
    Mode,
    Objs,
    Saved,
    Several,
    State,
    Status,
    Value,
    make,
    objects,
)
from torchlint.semantics.objects import class_of
from torchlint.semantics.reach import LONG, first_parameter, length, picked, runs, switches, worth_following
from torchlint.semantics.tree import FUNCTIONS

if TYPE_CHECKING:
    from torchlint.semantics.frames import Frame

# Methods that hand back the module they are called on.
_SAME = frozenset({
    "to", "cuda", "cpu", "float", "double", "half", "bfloat16", "type", "requires_grad_", "share_memory", "xpu", "to_empty",
    "compile", "with_format",
})  # fmt: skip
# Methods that only a module has: whoever gets one of these calls is taken for a module.
MODULE_METHODS = frozenset({
    "parameters", "named_parameters", "state_dict", "load_state_dict", "modules", "named_modules", "children",
    "named_children", "buffers", "zero_grad", "requires_grad_", "register_forward_hook", "add_module", "eval",
})  # fmt: skip
# Methods of a network that run it, when its class is not in reach.
FORWARD_METHODS = frozenset({
    "forward", "generate", "encode", "decode", "predict", "sample", "infer", "inference", "forward_features",
    "extract_features", "get_intermediate_layers", "reconstruct", "translate", "embed", "score", "training_step", "validation_step",
})  # fmt: skip
_UNPACKED = frozenset({"prepare", "setup", "prepare_model", "initialize", "setup_module"})
_SWITCHER = re.compile(r"(^|_)(eval|train|test|valid|val|mode|infer|predict|fit|freeze|finetune)", re.IGNORECASE)
_COPIES = ("copy.deepcopy", "copy.copy", "torch.optim.swa_utils.AveragedModel")
_EXPORTS = ("torch.jit.trace", "torch.export.export", "torch.onnx.export", "torch.jit.script")


class Calls(Following):
    """Evaluates calls. :class:`~torchlint.semantics.flow.Flow` completes it with statements."""

    @abc.abstractmethod
    def record(self, kind: str, node: ast.Call, receivers: Objs, state: State, frame: Frame) -> None:
        """Note an event."""

    def _call(self, node: ast.Call, state: State, frame: Frame) -> Value:
        callee = node.func
        if isinstance(callee, ast.Attribute):
            result = self._method(node, callee, state, frame)
            if result is not None:
                return result
        elif isinstance(callee, ast.Name) and callee.id == "super":
            instance = _instance(frame)
            return self._instance_value(instance, state, frame) if instance is not None else NOTHING
        elif isinstance(callee, ast.Name):
            value = self._name(callee, state, frame)
            if isinstance(value, Func):
                return self.follow(value, node, state, frame)
            if objects(value):
                arguments = self._arguments(node, state, frame)
                self._forward(node, objects(value), state, frame)
                del arguments
                return NOTHING
        elif not picked(frame.program, callee):
            value = self.evaluate(callee, state, frame)
            if isinstance(value, Func):
                return self.follow(value, node, state, frame)
            if objects(value):
                self._arguments(node, state, frame)
                self._forward(node, objects(value), state, frame)
                return NOTHING
        return self._free_call(node, state, frame)

    def _method(self, node: ast.Call, callee: ast.Attribute, state: State, frame: Frame) -> Value | None:
        """A call ``receiver.name(...)``; None when the receiver is no object (a module of the import system, say)."""
        held = objects(self.evaluate(callee.value, state, frame))
        if not held:
            return None
        name = callee.attr
        owned = self._owned(held, name)
        if owned is not None and self._too_far(owned, node, state, frame):
            self._arguments(node, state, frame)
            return make_result(node, frame)
        if owned is not None and not (name in ("eval", "train") and self._plain_switch(node, owned)):
            result = self.follow(owned, node, state, frame)
            if (
                name not in ("eval", "train")
                and self._is_network(next(iter(held)))
                and runs(owned)
                and not switches(owned)
            ):
                self._forward(node, held, state, frame)
            return result
        stored = self._stored_call(held, name, node, state, frame)
        if stored is not None:
            return stored
        if name == "eval" and not node.args and not node.keywords:
            self._note(held, name)
            self.switch(held, Status(Mode.EVAL, frozenset({node})), state)
            return held
        if name == "train" and self._switches_mode(node):
            return self._train(node, held, state, frame)
        arguments = self._arguments(node, state, frame)
        if name in MODULE_METHODS:
            self._note(held, name)
        if name in _SAME:
            return held
        if name == "apply" and node.args:
            self._apply(node, held, arguments[0], state, frame)
            return held
        if name in PARTS:
            return frozenset(make("part", node, frame.program, base=o) for o in held)
        if name == "backward":
            self.record("backward", node, held, state, frame)
            return NOTHING
        if name == "step":
            self.record("step", node, held, state, frame)
            return NOTHING
        if name in _UNPACKED and arguments:
            return Several(tuple(arguments)) if len(arguments) > 1 else arguments[0]
        if name in FORWARD_METHODS:
            self._forward(node, held, state, frame)
        self._unseen(name, arguments, state)
        if name in ("items", "values", "keys", "get", "pop", "copy"):
            return held
        return frozenset({make("new", node, frame.program, base=frame.site)})

    def _stored_call(self, held: Objs, name: str, node: ast.Call, state: State, frame: Frame) -> Value | None:
        """``self.model(x)``: the attribute holds an object or a function, and the call runs it."""
        result: Value | None = None
        ran: Objs = NOTHING
        for obj in held:
            value = state.attributes.get((obj, name))
            if isinstance(value, Func):
                result = self.follow(value, node, state, frame)
            elif value is not None and objects(value):
                ran |= objects(value)
            elif (
                value is None
                and name not in FORWARD_METHODS
                and name not in MODULE_METHODS
                and name not in ("train", "to")
            ):
                owner = class_of(obj)
                if owner is not None and classes.attribute_values(owner, name):
                    ran |= frozenset({make("attr", obj.node, obj.program, name, obj)})
        if ran:
            self._arguments(node, state, frame)
            self._forward(node, ran, state, frame)
            return NOTHING
        return result

    def _switches_mode(self, node: ast.Call) -> bool:
        """Whether ``x.train(...)`` has the arguments of ``Module.train``."""
        if len(node.args) + len(node.keywords) > 1:
            return False
        if node.keywords:
            return node.keywords[0].arg == "mode"
        if not node.args:
            return True
        argument = node.args[0]
        if isinstance(argument, ast.Constant):
            return isinstance(argument.value, bool)
        if isinstance(argument, ast.Name | ast.Attribute):
            last = argument.id if isinstance(argument, ast.Name) else argument.attr
            return bool(re.search(r"train|mode|state|was|flag|prev|old|is_|status", last, re.IGNORECASE))
        return isinstance(argument, ast.Compare | ast.UnaryOp | ast.BoolOp)

    def _train(self, node: ast.Call, held: Objs, state: State, frame: Frame) -> Value:
        self._note(held, "train")
        argument = node.args[0] if node.args else (node.keywords[0].value if node.keywords else None)
        status = Status(Mode.TRAIN, frozenset({node}))
        if argument is not None:
            value = self.evaluate(argument, state, frame)
            outcome = self.truth(argument, state, frame)
            if isinstance(value, Saved):
                status = value.status
            elif isinstance(value, Const):
                status = Status(Mode.TRAIN if value.value else Mode.EVAL, frozenset({node}))
            elif outcome is not None:
                status = Status(Mode.TRAIN if outcome else Mode.EVAL, frozenset({node}))
            else:
                status = Status(Mode.OPAQUE | Mode.EVAL, frozenset({node}))
        self.switch(held, status, state)
        return held

    def _apply(self, node: ast.Call, held: Objs, function: Value, state: State, frame: Frame) -> None:
        if isinstance(function, Func):
            parts = frozenset(make("part", node, frame.program, base=o) for o in held)
            self.enter(function, {first_parameter(function): parts}, state, frame)

    def _forward(self, node: ast.Call, held: Objs, state: State, frame: Frame) -> None:
        self.record("forward", node, held, state, frame)

    def _unseen(self, name: str, arguments: list[Value], state: State) -> None:
        """A function out of reach got models: if its name speaks of modes, nothing is certain about them any more."""
        if _SWITCHER.search(name):
            for value in arguments:
                for obj in objects(value):
                    if obj in state.modes or obj.kind in ("new", "copy"):
                        state.turn(obj, self.status(obj, state) | Status(Mode.OPAQUE))

    def _free_call(self, node: ast.Call, state: State, frame: Frame) -> Value:
        """A call of something imported, built in, or defined in this project."""
        program = frame.program
        target = program.definition(node.func)
        if target is not None:
            if isinstance(target.node, ast.ClassDef):
                return self._construct(target, node, state, frame)
            if (
                target.program is program
                or worth_following(target)
                or (length(target) <= LONG and self._given_network(node, state, frame))
            ):
                return self.follow(Func(target.program, target.node), node, state, frame)
        arguments = self._arguments(node, state, frame)
        names = program.names
        if layers.is_wrapper(program, node) and arguments:
            inner = objects(arguments[0])
            if names.matches(node.func, *_COPIES):
                copies = set()
                for obj in inner:
                    duplicate = make("copy", node, program, base=obj)
                    state.turn(duplicate, self.status(obj, state))
                    copies.add(duplicate)
                return frozenset(copies)
            if inner:
                return inner
        if names.matches(node.func, *_EXPORTS) and arguments:
            self.record("export", node, objects(arguments[0]), state, frame)
        if (
            isinstance(node.func, ast.Name)
            and node.func.id in ("list", "tuple", "iter", "reversed", "sorted", "zip")
            and arguments
        ):
            return objects(arguments[0])
        if isinstance(node.func, ast.Name | ast.Attribute):
            name = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
            self._unseen(name, arguments, state)
            if name in _UNPACKED and len(arguments) > 1:
                return Several(tuple(arguments))
        made = make("new", node, program, base=frame.site)
        if made in state.modes:
            state.modes = {k: v for k, v in state.modes.items() if k is not made}
        if names.matches(node.func, *CONTAINERS):
            for position, argument in enumerate(arguments):
                state.store(made, f"[{position}]", objects(argument))
        return frozenset({made})

    def _instance_value(self, name: str, state: State, frame: Frame) -> Value:
        scope = frame.program.scopes.by_node.get(frame.node)
        return (state.get(scope, name) if scope is not None else None) or NOTHING


def make_result(node: ast.Call, frame: Frame) -> Objs:
    """The object a call that is not followed gives back."""
    return frozenset({make("new", node, frame.program, base=frame.site)})


def _instance(frame: Frame) -> str | None:
    node = frame.node
    return classes.self_name(node) if isinstance(node, FUNCTIONS) else None
