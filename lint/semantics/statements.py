"""Statements in the mode analysis: branches, loops, ``with``, ``try`` and assignments, and how states meet behind them."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from torchlint.semantics.bindings import terminates
from torchlint.semantics.calls import Calls
from torchlint.semantics.conditions import condition_text, restored
from torchlint.semantics.frames import Frame, Region
from torchlint.semantics.gradients import Gradient, switch
from torchlint.semantics.modes import (
    NOTHING,
    Const,
    Func,
    Several,
    State,
    Value,
    objects,
)
from torchlint.semantics.tree import FUNCTIONS

if TYPE_CHECKING:
    pass

_PASSES = 3


class Statements(Calls):
    """Runs statements. :class:`~torchlint.semantics.flow.Flow` completes it with where to start and what to note."""

    _spent: bool

    def block(self, body: Iterable[ast.stmt], state: State, frame: Frame) -> State | None:
        """Run statements; None when control does not come out at the end."""
        for statement in body:
            self._left -= 1
            if self._left <= 0:
                self._spent = True
                return state
            after = self.statement(statement, state, frame)
            if after is None:
                return None
            state = after
        return state

    def statement(self, node: ast.stmt, state: State, frame: Frame) -> State | None:
        """Run one statement."""
        if isinstance(node, ast.Expr):
            if isinstance(node.value, ast.Yield) and frame.on_yield is not None:
                return frame.on_yield(state)
            self.evaluate(node.value, state, frame)
        elif isinstance(node, ast.Assign):
            value = self.evaluate(node.value, state, frame)
            for target in node.targets:
                self.assign(target, value, state, frame)
        elif isinstance(node, ast.AnnAssign):
            if node.value is not None:
                self.assign(node.target, self.evaluate(node.value, state, frame), state, frame)
        elif isinstance(node, ast.AugAssign):
            self.evaluate(node.value, state, frame)
            self.assign(node.target, NOTHING, state, frame)
        elif isinstance(node, ast.If):
            return self._if(node, state, frame)
        elif isinstance(node, ast.For | ast.AsyncFor):
            return self._for(node, state, frame)
        elif isinstance(node, ast.While):
            return self._while(node, state, frame)
        elif isinstance(node, ast.With | ast.AsyncWith):
            return self._with(node, 0, state, frame)
        elif isinstance(node, ast.Try) or node.__class__.__name__ == "TryStar":
            return self._try(node, state, frame)  # type: ignore[arg-type]
        elif isinstance(node, ast.Return):
            value = self.evaluate(node.value, state, frame) if node.value is not None else Const(None)
            frame.returns.append((state, value))
            return None
        elif isinstance(node, ast.Raise):
            return None
        elif isinstance(node, ast.Break):
            frame.breaks.append(state)
            return None
        elif isinstance(node, ast.Continue):
            frame.continues.append(state)
            return None
        elif isinstance(node, ast.Match):
            return self._match(node, state, frame)
        elif isinstance(node, FUNCTIONS):
            scope = frame.program.scopes.scope_of(node)
            state.bind(scope, node.name, Func(frame.program, node))
        elif isinstance(node, ast.Assert):
            self.evaluate(node.test, state, frame)
            if terminates(node):
                return None
        return state

    def _if(self, node: ast.If, state: State, frame: Frame) -> State | None:
        self.evaluate(node.test, state, frame)
        outcome = self.truth(node.test, state, frame)
        if outcome is not None:
            return self.block(node.body if outcome else node.orelse, state, frame)
        other = state.copy()
        self.refine(state, node.test, True, frame)
        self.refine(other, node.test, False, frame)
        earlier = self.earlier_mode(node.test, state, frame)
        first = self.block(node.body, state, frame)
        second = self.block(node.orelse, other, frame)
        if first is None or second is None:
            return first or second
        back = {} if earlier is None else restored(first, second, *earlier)
        joined = self.join(first, second, condition_text(node.test))
        for obj, status in back.items():
            joined.turn(obj, status)
        return joined

    def _for(self, node: ast.For | ast.AsyncFor, state: State, frame: Frame) -> State | None:
        source = self.evaluate(node.iter, state, frame)
        if isinstance(source, Several) and len(source.items) <= 6:
            return self._unrolled(node, source.items, state, frame)
        element = self.element(node.iter, source, state, frame)
        out, left = self._repeat(node.body, state, frame, lambda turn: self.assign(node.target, element, turn, frame))
        finished = out if out is not None else (None if left else state)
        if finished is not None and node.orelse:
            finished = self.block(node.orelse, finished, frame)
        return self.join_all([s for s in (finished, *left) if s is not None])

    def _repeat(
        self, body: list[ast.stmt], state: State, frame: Frame, begin: Callable[[State], object]
    ) -> tuple[State | None, list[State]]:
        """Run a loop body until nothing new is learnt: the state behind a turn, and those in which it was left by ``break``.

        A loop is taken to run at least once: what holds behind it is what a turn leaves.
        """
        outer, frame.breaks = frame.breaks, []
        entry, out = state, None
        for _ in range(_PASSES):
            turn = entry.copy()
            begin(turn)
            out = self._turn(body, turn, frame)
            if out is None:
                break
            again = self.join(entry.copy(), out.copy())
            if again.same(entry):
                break
            entry = again
        left, frame.breaks = frame.breaks, outer
        return out, left

    def _turn(self, body: list[ast.stmt], state: State, frame: Frame) -> State | None:
        """One turn of a loop, its ``continue`` statements included."""
        outer, frame.continues = frame.continues, []
        end = self.block(body, state, frame)
        ends = [s for s in (end, *frame.continues) if s is not None]
        frame.continues = outer
        return self.join_all(ends)

    def _unrolled(
        self, node: ast.For | ast.AsyncFor, items: tuple[Value, ...], state: State, frame: Frame
    ) -> State | None:
        outer, frame.breaks = frame.breaks, []
        current: State | None = state
        for item in items:
            if current is None:
                break
            self.assign(node.target, item, current, frame)
            current = self._turn(node.body, current, frame)
        left, frame.breaks = frame.breaks, outer
        return self.join_all([s for s in (current, *left) if s is not None])

    def _while(self, node: ast.While, state: State, frame: Frame) -> State | None:
        out, left = self._repeat(node.body, state, frame, lambda turn: self.evaluate(node.test, turn, frame))
        endless = isinstance(node.test, ast.Constant) and bool(node.test.value)
        finished = None if endless else (out if out is not None else (None if left else state))
        return self.join_all([s for s in (finished, *left) if s is not None])

    def _with(self, node: ast.With | ast.AsyncWith, index: int, state: State, frame: Frame) -> State | None:
        if index == len(node.items):
            return self.block(node.body, state, frame)
        item = node.items[index]
        found = switch(frame.program, item.context_expr)
        if found is not None:
            gradient, decider = found
            if gradient is Gradient.FLAG and decider is not None:
                known = self.truth(decider, state, frame) if not isinstance(decider, ast.IfExp) else None
                gradient = Gradient.FLAG if known is None else (Gradient.ON if known else Gradient.OFF)
            function = frame.node if isinstance(frame.node, FUNCTIONS) else None
            regions = frame.regions
            if gradient is Gradient.ON:
                frame.regions = ()
            else:
                frame.regions = (*regions, Region(frame.program, node, gradient, function))
            try:
                return self._with(node, index + 1, state, frame)
            finally:
                frame.regions = regions
        return self._manager(node, index, state, frame)

    def _manager(self, node: ast.With | ast.AsyncWith, index: int, state: State, frame: Frame) -> State | None:
        """Any other context manager: a generator of the project is followed, its ``yield`` being the body."""
        item = node.items[index]
        rest: list[State | None] = []

        def body(inner: State) -> State | None:
            out = self._with(node, index + 1, inner, frame)
            rest.append(out)
            return out

        target = self.generator(item.context_expr, state, frame)
        if target is not None:
            call, function = target
            self.follow(function, call, state, frame, on_yield=body)
            if rest:
                return state if any(s is not None for s in rest) else None
        value = self.evaluate(item.context_expr, state, frame)
        if item.optional_vars is not None:
            self.assign(item.optional_vars, value, state, frame)
        return self._with(node, index + 1, state, frame)

    def _try(self, node: ast.Try, state: State, frame: Frame) -> State | None:
        before = state.copy()
        returned = len(frame.returns)
        end = self.block(node.body, state, frame)
        if end is not None and node.orelse:
            end = self.block(node.orelse, end, frame)
        ends = [end] if end is not None else []
        for handler in node.handlers:
            start = before.copy()
            if end is not None:
                start = self.join(start, end.copy())
            out = self.block(handler.body, start, frame)
            if out is not None:
                ends.append(out)
        if not node.finalbody:
            return self.join_all(ends)
        leaving, frame.returns = frame.returns[returned:], frame.returns[:returned]
        for saved, value in leaving:
            out = self.block(node.finalbody, saved, frame)
            if out is not None:
                frame.returns.append((out, value))
        if not ends:
            return None
        joined = self.join_all(ends)
        return self.block(node.finalbody, joined, frame) if joined is not None else None

    def _match(self, node: ast.Match, state: State, frame: Frame) -> State | None:
        self.evaluate(node.subject, state, frame)
        ends: list[State] = []
        whole = False
        for case in node.cases:
            out = self.block(case.body, state.copy(), frame)
            if out is not None:
                ends.append(out)
            whole = whole or (
                isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None and case.guard is None
            )
        return self.join_all(ends if whole else [state, *ends])

    def assign(self, target: ast.expr, value: Value, state: State, frame: Frame) -> None:
        """Bind a target."""
        if isinstance(target, ast.Name):
            owner = self.owner(target, frame)
            if owner is not None:
                state.bind(owner, target.id, value)
            if state.linked:
                word = re.compile(rf"\b{re.escape(target.id)}\b")
                state.linked = {k: v for k, v in state.linked.items() if not word.search(k[0])}
        elif isinstance(target, ast.Attribute):
            for obj in objects(self.evaluate(target.value, state, frame)):
                state.store(obj, target.attr, value)
        elif isinstance(target, ast.Starred):
            self.assign(target.value, NOTHING, state, frame)
        elif isinstance(target, ast.Tuple | ast.List):
            items = value.items if isinstance(value, Several) and len(value.items) == len(target.elts) else None
            for index, element in enumerate(target.elts):
                part = items[index] if items is not None else NOTHING
                self.assign(element, part, state, frame)
        elif isinstance(target, ast.Subscript):
            held = self.evaluate(target.value, state, frame)
            new = objects(value)
            if new and isinstance(target.value, ast.Name) and isinstance(held, frozenset):
                self.assign(target.value, held | new, state, frame)
