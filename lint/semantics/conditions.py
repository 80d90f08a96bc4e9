"""Conditions in the mode analysis: which outcome this context decides, and what a branch tells."""

from __future__ import annotations

import abc
import ast
from typing import TYPE_CHECKING

from torchlint.semantics.bindings import Scope
from torchlint.semantics.joins import Joins
from torchlint.semantics.modes import NOTHING, Const, Mode, Obj, Saved, State, Status, Value, objects

if TYPE_CHECKING:
    from torchlint.semantics.frames import Frame


class Conditions(Joins):
    """Decides conditions, and refines a state by the branch that was taken."""

    @abc.abstractmethod
    def evaluate(self, node: ast.expr, state: State, frame: Frame) -> Value:
        """The abstract value of an expression; calls inside it take effect on the state."""

    @abc.abstractmethod
    def assign(self, target: ast.expr, value: Value, state: State, frame: Frame) -> None:
        """Bind a target."""

    @abc.abstractmethod
    def owner(self, node: ast.Name, frame: Frame) -> Scope | None:
        """The scope a name belongs to; None when nothing in the file binds it."""

    @abc.abstractmethod
    def _name(self, node: ast.Name, state: State, frame: Frame) -> Value:
        """What a name stands for."""

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
            if isinstance(value, Saved):
                return _was_on(value.status.mode)
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

    def _forget(self, test: ast.expr, state: State, frame: Frame) -> None:
        """Where a name is None, what it is on other paths was not made: its mode there says nothing here."""
        assert isinstance(test, ast.Compare)
        gone = {obj for obj in objects(self.evaluate(test.left, state, frame)) if obj.kind in ("new", "copy")}
        if gone:
            state.modes = {obj: status for obj, status in state.modes.items() if obj not in gone}

    def earlier_mode(self, test: ast.expr, state: State, frame: Frame) -> tuple[Status, bool] | None:
        """The mode that ``was_training = model.training`` kept, when a condition asks for it, and whether it asks for True."""
        wanted = True
        while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            test, wanted = test.operand, not wanted
        value = self._name(test, state, frame) if isinstance(test, ast.Name) else None
        return (value.status, wanted) if isinstance(value, Saved) else None

    def refine(self, state: State, test: ast.expr, outcome: bool, frame: Frame) -> None:
        """Use what a branch tells: ``if model.training``, and conditions that decided a mode before."""
        while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            test, outcome = test.operand, not outcome
        if isinstance(test, ast.Attribute) and test.attr == "training":
            for obj in objects(self.evaluate(test.value, state, frame)):
                state.turn(obj, Status(Mode.TRAIN if outcome else Mode.EVAL, self.status(obj, state).sources))
        if (
            isinstance(test, ast.Call)
            and isinstance(test.func, ast.Name)
            and test.func.id == "isinstance"
            and len(test.args) == 2
            and not outcome
            and frame.program.names.matches(test.args[1], "torch.nn.Module")
        ):
            self.assign(test.args[0], NOTHING, state, frame)
            return
        if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) and outcome:
            for value in test.values:
                self.refine(state, value, True, frame)
            return
        if _finds_none(test, outcome):
            self._forget(test, state, frame)
        text = condition_text(test)
        if text is None:
            return
        text, outcome = _positive(text, outcome)
        left = text.partition(" == ")[0]
        for (known, obj), link in state.linked.items():
            wanted: bool | None = None
            name, positive = _positive(known, True)
            if name == text:
                wanted = outcome is positive
            elif outcome and " == " in name and name.partition(" == ")[0] == left and " == " in text:
                wanted = not positive  # another constant than the one that decided
            if wanted is not None and state.modes.get(obj) == link.joined:
                state.turn(obj, link.when_true if wanted else link.when_false)


def _was_on(mode: Mode) -> bool | None:
    """What ``model.training`` was in a mode; None when both are possible."""
    if mode and not mode & ~(Mode.TRAIN | Mode.FRESH):
        return True
    return False if mode is Mode.EVAL else None


def _finds_none(test: ast.expr, outcome: bool) -> bool:
    """Whether a branch knows that a name is None: ``x is None``, the ``else`` of ``x is not None``."""
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not isinstance(test.left, ast.Name):
        return False
    right = test.comparators[0]
    return (
        isinstance(right, ast.Constant)
        and right.value is None
        and isinstance(test.ops[0], ast.Is if outcome else ast.IsNot)
    )


def restored(first: State, second: State, earlier: Status, wanted: bool) -> dict[Obj, Status]:
    """The models that two branches give their earlier mode back: train() where it was on, eval() where it was not."""
    on, off = (first, second) if wanted else (second, first)
    return {
        obj: earlier
        for obj, status in on.modes.items()
        if status.mode is Mode.TRAIN and obj in off.modes and off.modes[obj].mode is Mode.EVAL
    }


def condition_text(test: ast.expr) -> str | None:
    """The text of a condition simple enough to be met again; None otherwise."""
    inner = test.operand if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) else test
    if isinstance(inner, ast.Name | ast.Attribute) or (
        isinstance(inner, ast.Compare)
        and len(inner.ops) == 1
        and isinstance(inner.ops[0], ast.Eq | ast.NotEq | ast.Is | ast.IsNot)
    ):
        return ast.unparse(test)
    return None


def _positive(text: str, outcome: bool) -> tuple[str, bool]:
    """A condition without its negation."""
    if text.startswith("not "):
        text, outcome = text[4:], not outcome
    for negative, positive in ((" != ", " == "), (" is not ", " is ")):
        if negative in text:
            return text.replace(negative, positive), not outcome
    return text, outcome
