"""The expression half of the mode analysis: what a call does to the models it touches, and what it gives back."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from torchlint.semantics import classes, layers
from torchlint.semantics.modes import (
    NOTHING,
    Const,
    Func,
    Mode,
    Obj,
    Objs,
    Saved,
    Several,
    State,
    Status,
    Value,
    join_values,
    make,
    objects,
)
from torchlint.semantics.project import Definition
from torchlint.semantics.scopes import Scope
from torchlint.semantics.tree import COMPREHENSIONS, FUNCTIONS, FunctionNode, children, walk

if TYPE_CHECKING:
    from torchlint.semantics.flow import Event, Frame, Region
    from torchlint.semantics.program import Program

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
_PARTS = frozenset({"modules", "children", "named_modules", "named_children"})
# Methods of a network that run it, when its class is not in reach.
FORWARD_METHODS = frozenset({
    "forward", "generate", "encode", "decode", "predict", "sample", "infer", "inference", "forward_features",
    "extract_features", "get_intermediate_layers", "reconstruct", "translate", "embed", "score", "training_step", "validation_step",
})  # fmt: skip
_UNPACKED = frozenset({"prepare", "setup", "prepare_model", "initialize", "setup_module"})
_SWITCHER = re.compile(r"(^|_)(eval|train|test|valid|val|mode|infer|predict|fit|freeze|finetune)", re.IGNORECASE)
_COPIES = ("copy.deepcopy", "copy.copy", "torch.optim.swa_utils.AveragedModel")
_EXPORTS = ("torch.jit.trace", "torch.export.export", "torch.onnx.export", "torch.jit.script")
_STORED = ("torch.load", "torch.jit.load", "torch.hub.load")
_RETURNS_EVAL = re.compile(r"(^|\.)(from_pretrained|pipeline)$")
_MANAGER = ("contextlib.contextmanager", "contextlib.asynccontextmanager")


class Caller:
    """Evaluates expressions. The statement half (:class:`~torchlint.semantics.flow.Flow`) completes it."""

    program: Program
    events: list[Event]
    evidence: dict[Obj, set[str]]
    followed: set[ast.AST]
    _left: int
    _owners: dict[ast.Name, object]

    def block(self, body: list[ast.stmt], state: State, frame: Frame) -> State | None:
        """Run statements."""
        raise NotImplementedError

    def assign(self, target: ast.expr, value: Value, state: State, frame: Frame) -> None:
        """Bind a target."""
        raise NotImplementedError

    def record(self, kind: str, node: ast.Call, receivers: Objs, state: State, frame: Frame) -> None:
        """Note an event."""
        raise NotImplementedError

    def join_all(self, states: list[State]) -> State | None:
        """One state for several paths."""
        raise NotImplementedError

    def enter_regions(self, function: Func, frame: Frame) -> tuple[Region, ...]:
        """Regions of a followed function."""
        raise NotImplementedError

    # -- expressions ----------------------------------------------------------------------------------------------------

    def evaluate(self, node: ast.expr, state: State, frame: Frame) -> Value:
        """The abstract value of an expression; calls inside it take effect on the state."""
        if isinstance(node, ast.Call):
            return self._call(node, state, frame)
        if isinstance(node, ast.Name):
            return self._name(node, state, frame)
        if isinstance(node, ast.Constant):
            return Const(node.value)
        if isinstance(node, ast.Attribute):
            return self._attribute(node, state, frame)
        if isinstance(node, ast.IfExp):
            return self._conditional(node, state, frame)
        if isinstance(node, ast.Tuple | ast.List | ast.Set):
            return Several(tuple(self.evaluate(e, state, frame) for e in node.elts)) if node.elts else NOTHING
        if isinstance(node, ast.Dict):
            found = NOTHING
            for value in node.values:
                found |= objects(self.evaluate(value, state, frame))
            return found
        if isinstance(node, ast.Subscript):
            held = self.evaluate(node.value, state, frame)
            self.evaluate(node.slice, state, frame)
            if isinstance(held, Several) and isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, int):
                if -len(held.items) <= node.slice.value < len(held.items):
                    return held.items[node.slice.value]
            return objects(held)
        if isinstance(node, COMPREHENSIONS):
            return self._comprehension(node, state, frame)
        if isinstance(node, ast.Lambda):
            return Func(frame.program, node)
        if isinstance(node, ast.NamedExpr):
            bound = self.evaluate(node.value, state, frame)
            self.assign(node.target, bound, state, frame)
            return bound
        if isinstance(node, ast.Compare | ast.BoolOp) or (
            isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
        ):
            return self._logical(node, state, frame)
        if isinstance(node, ast.BinOp):
            return self._arithmetic(node, state, frame)
        if isinstance(node, ast.Await | ast.Starred | ast.YieldFrom):
            return self.evaluate(node.value, state, frame)
        for child in children(node):
            if isinstance(child, ast.expr):
                self.evaluate(child, state, frame)
        return NOTHING

    def _arithmetic(self, node: ast.BinOp, state: State, frame: Frame) -> Value:
        spine: list[ast.expr] = []
        current: ast.expr = node
        while isinstance(current, ast.BinOp):  # long sums are deep on the left
            spine.append(current.right)
            current = current.left
        found = objects(self.evaluate(current, state, frame))
        for part in reversed(spine):
            found |= objects(self.evaluate(part, state, frame))
        return found if isinstance(node.op, ast.Add) else NOTHING

    def _logical(self, node: ast.expr, state: State, frame: Frame) -> Value:
        found = NOTHING
        for child in children(node):
            if isinstance(child, ast.expr):
                found |= objects(self.evaluate(child, state, frame))
        outcome = self.truth(node, state, frame)
        if outcome is not None:
            return Const(outcome)
        return found if isinstance(node, ast.BoolOp) else NOTHING

    def _conditional(self, node: ast.IfExp, state: State, frame: Frame) -> Value:
        self.evaluate(node.test, state, frame)
        outcome = self.truth(node.test, state, frame)
        if outcome is not None:
            return self.evaluate(node.body if outcome else node.orelse, state, frame)
        other = state.copy()
        first = self.evaluate(node.body, state, frame)
        second = self.evaluate(node.orelse, other, frame)
        joined = self.join_all([state, other])
        assert joined is state
        return join_values(first, second)

    def _comprehension(self, node: ast.expr, state: State, frame: Frame) -> Value:
        assert isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp)
        for generator in node.generators:
            source = self.evaluate(generator.iter, state, frame)
            self.assign(generator.target, self.element(generator.iter, source, state, frame), state, frame)
            for test in generator.ifs:
                self.evaluate(test, state, frame)
        if isinstance(node, ast.DictComp):
            self.evaluate(node.key, state, frame)
            return objects(self.evaluate(node.value, state, frame))
        return objects(self.evaluate(node.elt, state, frame))

    def element(self, iterable: ast.expr, source: Value, state: State, frame: Frame) -> Value:
        """What a loop over ``iterable`` binds."""
        if isinstance(iterable, ast.Call) and isinstance(iterable.func, ast.Attribute) and iterable.func.attr in _PARTS:
            parts = self._parts(iterable, state, frame)
            return Several((NOTHING, parts)) if iterable.func.attr.startswith("named_") else parts
        if (
            isinstance(iterable, ast.Call)
            and isinstance(iterable.func, ast.Name)
            and iterable.func.id == "enumerate"
            and iterable.args
        ):
            inner = self.element(iterable.args[0], self.evaluate(iterable.args[0], state, frame), state, frame)
            return Several((NOTHING, inner))
        return objects(source)

    def _parts(self, call: ast.Call, state: State, frame: Frame) -> Objs:
        assert isinstance(call.func, ast.Attribute)
        held = objects(self.evaluate(call.func.value, state, frame))
        return frozenset(make("part", call, frame.program, base=o) for o in held)

    # -- names and attributes --------------------------------------------------------------------------------------------

    def owner(self, node: ast.Name, frame: Frame) -> Scope | None:
        """The scope a name belongs to; a name that is only assigned through ``self`` analysis belongs to its own scope."""
        known = self._owners.get(node)
        if known is None:
            scopes = frame.program.scopes
            known = self._owners[node] = scopes.owner(node.id, scopes.scope_of(node)) or False
        return known if isinstance(known, Scope) else None

    def _name(self, node: ast.Name, state: State, frame: Frame) -> Value:
        owner = self.owner(node, frame)
        if owner is None:
            return NOTHING
        value = state.get(owner, node.id)
        if value is None:
            value = self._unset(node, owner, state, frame)
        return value

    def _unset(self, node: ast.Name, owner: Scope, state: State, frame: Frame) -> Value:
        """A name nothing followed so far has bound: a function, or something made before or elsewhere."""
        kinds = {b.kind for b in owner.bindings.get(node.id, ())}
        if kinds & {"import", "class", "except", "del"}:
            return NOTHING
        if kinds == {"def"}:
            function = owner.bindings[node.id][-1].node
            if isinstance(function, FUNCTIONS):
                return Func(frame.program, function)
        value: Value = frozenset({make("free", owner.node, frame.program, node.id)})
        state.bind(owner, node.id, value)
        return value

    def _attribute(self, node: ast.Attribute, state: State, frame: Frame) -> Value:
        base = self.evaluate(node.value, state, frame)
        held = objects(base)
        if not held:
            return NOTHING
        if node.attr == "training":
            found: Status | None = None
            for obj in held:
                one = self.status(obj, state)
                found = one if found is None else found | one
            return Saved(found) if found is not None else NOTHING
        result: Value | None = None
        for obj in held:
            value = state.attributes.get((obj, node.attr))
            if value is None:
                value = self._made_attribute(obj, node.attr, state)
            result = value if result is None else join_values(result, value)
        return result if result is not None else NOTHING

    def _made_attribute(self, obj: Obj, name: str, state: State) -> Value:
        owner = self.class_of(obj)
        if owner is not None:
            method = classes.method(owner, name)
            if method is not None and isinstance(method.node, FUNCTIONS):
                if any(isinstance(d, ast.Name) and d.id == "property" for d in method.node.decorator_list):
                    return NOTHING
                return Func(method.program, method.node, frozenset({obj}))
        if name in ("module", "_orig_mod", "_fsdp_wrapped_module") and obj.kind != "self":
            return frozenset({obj})
        return frozenset({make("attr", obj.node, obj.program, name, obj)})

    # -- modes ----------------------------------------------------------------------------------------------------------

    def status(self, obj: Obj, state: State) -> Status:
        """The mode of a model at this point."""
        known = state.modes.get(obj)
        return known if known is not None else self._initial(obj, state)

    def _initial(self, obj: Obj, state: State) -> Status:
        if obj.kind in ("attr", "part") and obj.base is not None:
            if obj.kind == "part" or obj.base in state.modes or self._is_network(obj.base):
                return self.status(obj.base, state)
            below = self.status(obj.base, state).mode if obj.base.kind in ("attr", "new") else Mode.ENTRY
            return Status(Mode.ENTRY if below is Mode.ENTRY else Mode.OPAQUE)
        if obj.kind == "new":
            assert isinstance(obj.node, ast.Call)
            return Status(_made_mode(obj.program, obj.node))
        return Status(Mode.ENTRY)

    def _is_network(self, obj: Obj) -> bool:
        owner = self.class_of(obj)
        return owner is not None and layers.is_module_class(owner) is True

    def effective(self, obj: Obj, state: State) -> Status:
        """The mode that matters when a model runs: a wrapper that makes no layers of its own runs in the mode of what it holds."""
        own = self.status(obj, state)
        if own.mode is not Mode.FRESH or obj.kind != "new":
            return own
        owner = self.class_of(obj)
        if owner is None:
            return own
        held: Status | None = None
        for (holder, _), value in state.attributes.items():
            if holder == obj:
                for inner in objects(value):
                    if (inner.kind == "new" and not _made_in(inner, owner)) or inner.kind in ("param", "copy", "free"):
                        one = self.status(inner, state)
                        held = one if held is None else held | one
        if held is None:
            return own
        return held

    def switch(self, held: Objs, status: Status, state: State) -> None:
        """Set the mode of models and of everything below them."""
        for obj in held:
            if obj.kind == "part":
                base = obj.base
                if base is not None:
                    state.turn(base, self.status(base, state) | Status(Mode.PARTIAL))
                continue
            several = len(held) > 1 and status.mode & (Mode.TRAIN | Mode.FRESH)
            state.turn(obj, (self.status(obj, state) | status) if several else status)
            self._switch_below(obj, status, state, 4)

    def _switch_below(self, obj: Obj, status: Status, state: State, depth: int) -> None:
        if depth == 0:
            return
        for inner in [o for o in state.modes if o.kind == "attr" and o.base == obj]:
            state.turn(inner, status)
        for (holder, _), value in list(state.attributes.items()):
            if holder == obj:
                for inner in objects(value):
                    if inner != obj:
                        state.turn(inner, status)
                        self._switch_below(inner, status, state, depth - 1)

    # -- conditions -----------------------------------------------------------------------------------------------------

    def truth(self, test: ast.expr, state: State, frame: Frame) -> bool | None:
        """Whether a condition holds, when this context decides it."""
        if isinstance(test, ast.Constant):
            return bool(test.value)
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            inner = self.truth(test.operand, state, frame)
            return None if inner is None else not inner
        if isinstance(test, ast.BoolOp):
            outcomes = [self.truth(v, state, frame) for v in test.values]
            if isinstance(test.op, ast.And):
                return False if False in outcomes else (True if all(o is True for o in outcomes) else None)
            return True if True in outcomes else (False if all(o is False for o in outcomes) else None)
        if isinstance(test, ast.Name):
            value = self._name(test, state, frame)
            return bool(value.value) if isinstance(value, Const) and not self._is_setting(test, frame) else None
        if isinstance(test, ast.Compare) and len(test.ops) == 1:
            return self._compare(test, state, frame)
        return None

    def _compare(self, test: ast.Compare, state: State, frame: Frame) -> bool | None:
        left, right = test.left, test.comparators[0]
        if isinstance(left, ast.Name) and left.id == "__name__" and isinstance(right, ast.Constant):
            return isinstance(test.ops[0], ast.Eq) == (right.value == "__main__")
        first, second = self._constant(left, state, frame), self._constant(right, state, frame)
        operator = test.ops[0]
        if isinstance(operator, ast.Is | ast.IsNot) and isinstance(second, Const) and second.value is None:
            if isinstance(first, Const):
                return (first.value is None) == isinstance(operator, ast.Is)
            return None
        if not (isinstance(first, Const) and isinstance(second, Const)):
            return None
        if isinstance(operator, ast.Eq):
            return bool(first.value == second.value)
        if isinstance(operator, ast.NotEq):
            return bool(first.value != second.value)
        return None

    def _constant(self, node: ast.expr, state: State, frame: Frame) -> Value:
        if isinstance(node, ast.Constant):
            return Const(node.value)
        if isinstance(node, ast.Name) and not self._is_setting(node, frame):
            return self._name(node, state, frame)
        return NOTHING

    def _is_setting(self, node: ast.Name, frame: Frame) -> bool:
        """Whether a name is a constant of the module: a setting that people edit, so both branches it guards count."""
        owner = self.owner(node, frame)
        return (
            owner is not None
            and isinstance(owner.node, ast.Module)
            and all(b.kind == "assign" for b in owner.bindings.get(node.id, ()))
        )

    # -- calls ----------------------------------------------------------------------------------------------------------

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
        elif not _picked(frame.program, callee):
            value = self.evaluate(callee, state, frame)
            if isinstance(value, Func):
                return self.follow(value, node, state, frame)
            if objects(value):
                self._arguments(node, state, frame)
                self._forward(node, objects(value), state, frame)
                return NOTHING
        return self._free_call(node, state, frame)

    def _instance_value(self, name: str, state: State, frame: Frame) -> Value:
        scope = frame.program.scopes.by_node.get(frame.node)
        return (state.get(scope, name) if scope is not None else None) or NOTHING

    def _arguments(self, node: ast.Call, state: State, frame: Frame) -> list[Value]:
        values = [self.evaluate(a, state, frame) for a in node.args]
        values.extend(self.evaluate(k.value, state, frame) for k in node.keywords)
        return values

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
                and _runs(owned)
                and not _switches(owned)
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
        if name in _PARTS:
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

    def _too_far(self, owned: Func, node: ast.Call, state: State, frame: Frame) -> bool:
        """Whether a method of another file is not worth following: long, silent about modes, and given no network."""
        target = Definition(owned.program, owned.node)  # type: ignore[arg-type]
        return (
            owned.program is not self.program
            and not _worth_following(target)
            and not self._given_network(node, state, frame)
        )

    def _owned(self, held: Objs, name: str) -> Func | None:
        """The method of the project's own class behind ``held.name``, if there is exactly one."""
        found: Func | None = None
        for obj in held:
            owner = self.class_of(obj)
            method = classes.method(owner, name) if owner is not None else None
            if method is None or not isinstance(method.node, FUNCTIONS):
                return None
            if found is not None and found.node is not method.node:
                return None
            found = Func(method.program, method.node, held)
        return found

    def _plain_switch(self, node: ast.Call, owned: Func) -> bool:
        """A network's own ``train``/``eval`` that still hands over to the inherited one switches the mode as usual."""
        assert not isinstance(owned.node, ast.Lambda)
        calls_super = any(
            isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id == "super" for n in walk(owned.node)
        )
        return calls_super

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
                owner = self.class_of(obj)
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
            self.enter(function, {_first_parameter(function): parts}, state, frame)

    def _note(self, held: Objs, method: str) -> None:
        for obj in held:
            self.evidence.setdefault(obj, set()).add(method)
            if obj.base is not None and obj.kind == "copy":
                self.evidence.setdefault(obj.base, set()).add(method)

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
                or _worth_following(target)
                or (_length(target) <= _LONG and self._given_network(node, state, frame))
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
        return frozenset({made})

    def _construct(self, target: Definition, node: ast.Call, state: State, frame: Frame) -> Value:
        made = make("new", node, frame.program, base=frame.site)
        state.turn(made, Status(_class_mode(target)))
        if any(k[0] is made for k in state.attributes):
            state.attributes = {k: v for k, v in state.attributes.items() if k[0] is not made}
        constructor = classes.method(target, "__init__")
        if (
            constructor is not None
            and isinstance(constructor.node, FUNCTIONS)
            and self._follows_constructor(target, constructor, node, state, frame)
        ):
            self.follow(Func(constructor.program, constructor.node, frozenset({made})), node, state, frame)
        else:
            self._arguments(node, state, frame)
        if constructor is not None and self.status(made, state).mode is Mode.FRESH and layers.is_module_class(target):
            if _evals(constructor):
                state.turn(made, Status(Mode.OPAQUE))  # it evals something it holds, by ways that are not followed
        return frozenset({made})

    def _follows_constructor(
        self, target: Definition, constructor: Definition, node: ast.Call, state: State, frame: Frame
    ) -> bool:
        """Whether making an object may matter for modes: not when a network only makes its own layers."""
        if layers.is_module_class(target):
            return _speaks_of_modes(constructor) or self._given_network(node, state, frame)
        return (
            target.program is self.program or _worth_following(constructor) or self._given_network(node, state, frame)
        )

    def _given_network(self, node: ast.Call, state: State, frame: Frame) -> bool:
        """Whether a constructor is handed a network, so that it may be a wrapper."""
        for argument in (*node.args, *(k.value for k in node.keywords)):
            if isinstance(argument, ast.Name | ast.Attribute | ast.Call):
                for obj in objects(self.evaluate(argument, state, frame)):
                    if obj in state.modes or obj in self.evidence or self._is_network(obj):
                        return True
        return False

    # -- following functions ---------------------------------------------------------------------------------------------

    def follow(
        self,
        function: Func,
        node: ast.Call,
        state: State,
        frame: Frame,
        on_yield: Callable[[State], State | None] | None = None,
    ) -> Value:
        """Run a function in reach with the arguments of a call."""
        bound: dict[str, Value] = {}
        owner = function.owner
        names = _parameter_names(function)
        if isinstance(function.node, FUNCTIONS) and _is_static(function.node):
            owner = None
        if owner is not None and names:
            names = names[1:]
        hidden = False
        for index, argument in enumerate(node.args):
            value = self.evaluate(argument, state, frame)
            if isinstance(argument, ast.Starred):
                hidden = True
            elif not hidden and index < len(names):
                bound[names[index]] = value
        for keyword in node.keywords:
            value = self.evaluate(keyword.value, state, frame)
            if keyword.arg is None:
                hidden = True
            else:
                bound[keyword.arg] = value
        return self.enter(
            Func(function.program, function.node, owner),
            bound,
            state,
            frame,
            unknown=hidden,
            on_yield=on_yield,
            site=node,
        )

    def enter(
        self,
        function: Func,
        bound: dict[str, Value],
        state: State,
        frame: Frame,
        *,
        unknown: bool = False,
        on_yield: Callable[[State], State | None] | None = None,
        site: ast.Call | None = None,
    ) -> Value:
        """Run a function body; ``unknown`` when parameters that are not bound may have been given all the same."""
        from torchlint.semantics.flow import _DEPTH, Frame

        node = function.node
        program = function.program
        if node in frame.stack or len(frame.stack) > _DEPTH or self._left <= 0:
            return NOTHING
        self.followed.add(node)
        scope = program.scopes.by_node[node]
        arguments = node.args
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        every.extend(a for a in (arguments.vararg, arguments.kwarg) if a is not None)
        instance = every[0].arg if every and function.owner is not None else None
        values: dict[str, Value] = {}
        for argument in every:
            name = argument.arg
            if name == instance and function.owner is not None:
                values[name] = function.owner
            elif name in bound:
                values[name] = bound[name]
            else:
                values[name] = self._default(function, argument, unknown)
        state.bind_all(scope, values)
        inner = Frame(program, node, self.enter_regions(function, frame), (*frame.stack, node), on_yield=on_yield)
        inner.site = make("site", site, frame.program, base=frame.site) if site is not None else frame.site
        if isinstance(node, ast.Lambda):
            return self.evaluate(node.body, state, inner)
        out = self.block(node.body, state, inner)
        ends = [s for s, _ in inner.returns]
        if out is not None:
            ends.append(out)
        joined = self.join_all(ends)
        if joined is not None and joined is not state:
            state.variables, state.attributes = joined.variables, joined.attributes
            state.modes, state.linked = joined.modes, joined.linked
        if not any(isinstance(v, Func) for _, v in inner.returns):  # a closure that is handed out keeps its variables
            state.drop(scope)
        result: Value | None = None
        for _, value in inner.returns:
            result = value if result is None else join_values(result, value)
        return result if result is not None else NOTHING

    def _default(self, function: Func, argument: ast.arg, unknown: bool) -> Value:
        node = function.node
        if not unknown and isinstance(node, FUNCTIONS):
            default = classes.default_of(node, argument.arg)
            if isinstance(default, ast.Constant):
                return Const(default.value)
        return frozenset({make("param", argument, function.program, argument.arg)})

    def generator(self, node: ast.expr, state: State, frame: Frame) -> tuple[ast.Call, Func] | None:
        """The ``@contextmanager`` function of the project a context expression calls."""
        if not isinstance(node, ast.Call):
            return None
        target: Definition | None = None
        owner: Objs | None = None
        if isinstance(node.func, ast.Attribute):
            held = objects(self.evaluate(node.func.value, state, frame))
            owned = self._owned(held, node.func.attr) if held else None
            if owned is not None and not isinstance(owned.node, ast.Lambda):
                target, owner = Definition(owned.program, owned.node), owned.owner
        target = target or frame.program.definition(node.func)
        if target is None or not isinstance(target.node, FUNCTIONS):
            return None
        if any(target.program.names.matches(d, *_MANAGER) for d in target.node.decorator_list):
            return node, Func(target.program, target.node, owner)
        return None

    # -- objects --------------------------------------------------------------------------------------------------------

    def class_of(self, obj: Obj) -> Definition | None:
        """The class of the project an object is an instance of."""
        if obj.kind == "self" and isinstance(obj.node, ast.ClassDef):
            return Definition(obj.program, obj.node)
        if obj.kind == "new" and isinstance(obj.node, ast.Call):
            found = obj.program.definition(obj.node.func)
            return found if found is not None and isinstance(found.node, ast.ClassDef) else None
        if obj.kind == "copy" and obj.base is not None:
            return self.class_of(obj.base)
        if obj.kind == "param" and isinstance(obj.node, ast.arg) and obj.node.annotation is not None:
            annotation = obj.node.annotation
            found = obj.program.definition(annotation) if isinstance(annotation, ast.Name | ast.Attribute) else None
            return found if found is not None and isinstance(found.node, ast.ClassDef) else None
        return None


_SMALL = 25
_LONG = 400
_TOKENS = (".eval(", ".train(", "no_grad", "inference_mode", "set_grad_enabled")


def _speaks_of_modes(target: Definition) -> bool:
    memo = target.program.memo("calls.tokens")
    if target.node not in memo:
        source = target.program.source
        rows = range(target.node.lineno, (target.node.end_lineno or target.node.lineno) + 1)
        memo[target.node] = any(token in source.line(row) for row in rows for token in _TOKENS)
    return bool(memo[target.node])


def make_result(node: ast.Call, frame: Frame) -> Objs:
    """The object a call that is not followed gives back."""
    return frozenset({make("new", node, frame.program, base=frame.site)})


def _evals(target: Definition, depth: int = 2) -> bool:
    """Whether a function calls ``eval()`` on something, itself or through a loading function it calls."""
    memo = target.program.memo(f"calls.evals{depth}")
    if target.node not in memo:
        memo[target.node] = False
        memo[target.node] = any(_evals_here(target, n, depth) for n in walk(target.node) if isinstance(n, ast.Call))
    return bool(memo[target.node])


def _evals_here(target: Definition, call: ast.Call, depth: int) -> bool:
    if isinstance(call.func, ast.Attribute) and call.func.attr == "eval":
        return True
    if depth == 0 or not (isinstance(call.func, ast.Name) and call.func.id.islower()):
        return False
    function = target.program.definition(call.func)
    return function is not None and isinstance(function.node, FUNCTIONS) and _evals(function, depth - 1)


def _worth_following(target: Definition) -> bool:
    """Whether a function of another file may switch modes, or is short enough to see what it hands back."""
    length = _length(target)
    return length <= _SMALL or (length <= _LONG and _speaks_of_modes(target))


def _length(target: Definition) -> int:
    return (target.node.end_lineno or target.node.lineno) - target.node.lineno


def _made_mode(program: Program, call: ast.Call) -> Mode:
    """The mode of what a call out of reach gives back."""
    names = program.names.of(call.func)
    callee = (
        call.func.attr
        if isinstance(call.func, ast.Attribute)
        else (call.func.id if isinstance(call.func, ast.Name) else "")
    )
    if _RETURNS_EVAL.search(callee) or any(
        n.startswith(layers.FRAMEWORK_BASES) and not n.startswith("pl") for n in names
    ):
        return Mode.EVAL
    if any(n in _STORED or n.startswith("torch.jit.") for n in names):
        return Mode.OPAQUE
    if any(
        n.startswith(
            ("torch.nn.", "torchvision.models.", "timm.create_model", "timm.models", "segmentation_models_pytorch.")
        )
        for n in names
    ):
        return Mode.FRESH
    if callee[:1].isupper() or callee == "create_model" or _picked(program, call.func):
        return Mode.FRESH
    target = program.definition(call.func)
    if target is not None and isinstance(target.node, FUNCTIONS) and not _evals(target):
        if layers.of_function(target) is layers.DEPENDS:
            return Mode.FRESH  # a factory of the project that was not followed
    return Mode.OPAQUE


def _picked(program: Program, func: ast.expr) -> bool:
    """Whether a constructor is picked by name: ``models.__dict__[arch]()``, ``getattr(models, arch)()``, ``eval(name)``."""
    if isinstance(func, ast.Subscript) and isinstance(func.value, ast.Attribute):
        return func.value.attr == "__dict__"
    if isinstance(func, ast.Call) and isinstance(func.func, ast.Name) and func.func.id in ("getattr", "eval"):
        return True
    return isinstance(func, ast.Name) and func.id == "eval" and not program.scopes.reaching(func)


def _class_mode(target: Definition) -> Mode:
    return (
        Mode.EVAL
        if layers.is_framework_class(target)
        and not any(
            n is not None and n.startswith(("pytorch_lightning", "lightning")) for n in classes.outside_bases(target)
        )
        else Mode.FRESH
    )


def _made_in(obj: Obj, owner: Definition) -> bool:
    return (
        owner.node.lineno <= getattr(obj.node, "lineno", 0) <= (owner.node.end_lineno or 0)
        and obj.program is owner.program
    )


def _instance(frame: Frame) -> str | None:
    node = frame.node
    return classes.self_name(node) if isinstance(node, FUNCTIONS) else None


def _parameter_names(function: Func) -> list[str]:
    arguments = function.node.args
    return [a.arg for a in (*arguments.posonlyargs, *arguments.args)]


def _first_parameter(function: Func) -> str:
    names = _parameter_names(function)
    return names[0] if names else ""


def _is_static(node: FunctionNode) -> bool:
    return any(isinstance(d, ast.Name) and d.id == "staticmethod" for d in node.decorator_list)


def _runs(function: Func) -> bool:
    """Whether a method of a network runs the network: it calls the instance or something the instance holds."""
    if isinstance(function.node, ast.Lambda):
        return False
    memo = function.program.memo("calls.runs")
    if function.node not in memo:
        memo[function.node] = _runs_here(function.node)
    return bool(memo[function.node])


def _runs_here(node: FunctionNode) -> bool:
    instance = classes.self_name(node)
    if node.name == "forward":
        return True
    quiet = {
        "parameters",
        "state_dict",
        "load_state_dict",
        "named_parameters",
        "modules",
        "apply",
        "register_buffer",
        "append",
    }
    for call in walk(node):
        if isinstance(call, ast.Call):
            root, hops = call.func, 0
            while isinstance(root, ast.Attribute | ast.Subscript):
                root, hops = root.value, hops + 1
            last = call.func.attr if isinstance(call.func, ast.Attribute) else ""
            if isinstance(root, ast.Name) and root.id == instance and last not in quiet and hops <= 2:
                return True
    return False


def _switches(function: Func) -> bool:
    """Whether a method sets the mode itself."""
    return any(
        isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute) and n.func.attr in ("eval", "train")
        for n in walk(function.node)
    )
