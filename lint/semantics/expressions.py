"""Expressions in the mode analysis: what a name, an attribute or a condition stands for at a point."""

from __future__ import annotations

import abc
import ast
from typing import TYPE_CHECKING

from torchlint.semantics import classes
from torchlint.semantics.bindings import Scope
from torchlint.semantics.conditions import Conditions
from torchlint.semantics.modes import (
    NOTHING,
    Const,
    Func,
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
from torchlint.semantics.objects import class_of
from torchlint.semantics.tree import COMPREHENSIONS, FUNCTIONS, children

if TYPE_CHECKING:
    from torchlint.semantics.frames import Frame

# Methods of a network that hand out what it holds.
PARTS = frozenset({"modules", "children", "named_modules", "named_children"})


class Expressions(Conditions):
    """Evaluates expressions; calls are left to :class:`~torchlint.semantics.calls.Calls`."""

    _owners: dict[ast.Name, Scope | None]

    @abc.abstractmethod
    def _call(self, node: ast.Call, state: State, frame: Frame) -> Value:
        """The value of a call, which takes effect on the state."""

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

    def _arguments(self, node: ast.Call, state: State, frame: Frame) -> list[Value]:
        values = [self.evaluate(a, state, frame) for a in node.args]
        values.extend(self.evaluate(k.value, state, frame) for k in node.keywords)
        return values

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
        if isinstance(iterable, ast.Call) and isinstance(iterable.func, ast.Attribute) and iterable.func.attr in PARTS:
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

    def owner(self, node: ast.Name, frame: Frame) -> Scope | None:
        """The scope a name belongs to; None when nothing in the file binds it."""
        if node not in self._owners:
            scopes = frame.program.scopes
            self._owners[node] = scopes.owner(node.id, scopes.scope_of(node))
        return self._owners[node]

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
        owner = class_of(obj)
        if owner is not None:
            method = classes.method(owner, name)
            if method is not None and isinstance(method.node, FUNCTIONS):
                if any(isinstance(d, ast.Name) and d.id == "property" for d in method.node.decorator_list):
                    return NOTHING
                return Func(method.program, method.node, frozenset({obj}))
        if name in ("module", "_orig_mod", "_fsdp_wrapped_module") and obj.kind != "self":
            return frozenset({obj})
        return frozenset({make("attr", obj.node, obj.program, name, obj)})
