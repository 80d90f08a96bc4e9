"""Models that a training loop puts in eval mode and never back: from the next turn on they train as if evaluated."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchlint.semantics.backward import backwards
from torchlint.semantics.callers import calls_of
from torchlint.semantics.frames import Event
from torchlint.semantics.modes import Mode, Obj, Status
from torchlint.semantics.receivers import dependence, is_module
from torchlint.semantics.torch_layers import Dependence
from torchlint.semantics.tree import FUNCTIONS, walk

if TYPE_CHECKING:
    from torchlint.semantics.loops import Loop
    from torchlint.semantics.program import Program

_TRAINING = Mode.TRAIN | Mode.FRESH | Mode.ENTRY


@dataclass(frozen=True, slots=True)
class Stuck:
    """The ``eval()`` that is not undone, and the call of the model that then trains in eval mode."""

    switch: ast.Call
    training: ast.Call


def stuck(program: Program) -> Iterator[Stuck]:
    """The calls of ``eval()`` of this file after which training goes on in eval mode, in source order."""
    found: dict[ast.Call, Stuck] = {}
    if not any(True for _ in backwards(program)):
        return
    for event in program.flow.events:
        if event.kind != "forward" or event.region is not None or event.program is not program:
            continue
        turns = _training_turns(program, event)
        if not turns:
            continue
        whole = turns[-1].loop
        if len(event.receivers) > 1 and _switches_to_train(program, whole, event.node.func):
            continue  # which of several models was switched back is not certain
        for obj, status in event.receivers:
            if not _may_be_both(status) or not is_module(event, obj) or dependence(obj) is Dependence.INDEPENDENT:
                continue
            for source in _evals(program, status):
                if source in found or (status.mode & Mode.OPAQUE and _handed_on(program, whole, source)):
                    continue
                if any(_evaluates_in(program, turn, source, obj) for turn in turns):
                    found[source] = Stuck(source, event.node)
    yield from sorted(found.values(), key=lambda each: (each.switch.lineno, each.switch.col_offset))


def _may_be_both(status: Status) -> bool:
    """In eval mode on one path, as it should be for training on another: not put there for good."""
    return bool(status.mode & Mode.EVAL) and bool(status.mode & _TRAINING) and not status.mode & Mode.PARTIAL


@dataclass(frozen=True, slots=True)
class _Turn:
    """A loop in which a model trains: in each turn by the call ``place``, or by what that leads to."""

    loop: Loop
    place: ast.Call


def _training_turns(program: Program, event: Event) -> list[_Turn]:
    """The loops around a call of a model in which something is back-propagated, innermost first, callers' loops last."""
    inside = {id(each.call) for each in backwards(program)}

    def trains(node: ast.AST) -> bool:
        return any(id(n) in inside for n in walk(node))

    found = [_Turn(loop, event.node) for loop in program.tree.loops(event.node) if trains(loop)]
    function = program.tree.function(event.node)
    if not isinstance(function, FUNCTIONS) or not trains(function):
        return found
    for outer, inner in reversed(list(zip(event.frames, event.frames[1:], strict=False))):
        for call in calls_of(program, outer, 1).get(inner, []):
            found.extend(_Turn(loop, call) for loop in program.tree.loops(call))
    return found


def _switches_to_train(program: Program, loop: Loop, model: ast.expr) -> bool:
    """Whether a loop, or a function of the file that it calls, calls ``train`` on something that may be ``model``."""
    around: ast.AST = program.tree.function(loop) or program.module
    inside = {id(n) for n in walk(loop)}
    run = [f for f, calls in calls_of(program, around).items() if any(id(call) in inside for call in calls)]
    return any(
        isinstance(n, ast.Attribute) and n.attr == "train" and not _are_two(n.value, model)
        for node in (loop, *run)
        for n in walk(node)
    )


def _are_two(one: ast.expr, other: ast.expr) -> bool:
    """Whether two expressions are different attributes of one object (``self.encoder`` and ``self.head``)."""
    return (
        isinstance(one, ast.Attribute)
        and isinstance(other, ast.Attribute)
        and ast.dump(one.value) == ast.dump(other.value)
        and one.attr != other.attr
    )


def _evals(program: Program, status: Status) -> list[ast.Call]:
    """The plain ``eval()`` calls of this file among what switched the mode."""
    return [
        source
        for source in status.sources
        if isinstance(source, ast.Call)
        and isinstance(source.func, ast.Attribute)
        and source.func.attr == "eval"
        and source in program.tree.parents
    ]


def _handed_on(program: Program, loop: Loop, source: ast.Call) -> bool:
    """Whether the loop hands the model to unseen code; other methods can only have run before the loop."""
    assert isinstance(source.func, ast.Attribute)
    model = source.func.value
    if not isinstance(model, ast.Attribute):
        return True
    text = ast.unparse(model)
    given = [a for n in walk(loop) if isinstance(n, ast.Call) for a in (*n.args, *(k.value for k in n.keywords))]
    return any(ast.unparse(argument) == text for argument in given)


def _evaluates_in(program: Program, turn: _Turn, source: ast.Call, obj: Obj) -> bool:
    """Whether a turn of the loop, having trained, switches to eval mode in order to evaluate.

    The switch stands behind the training call, or in a function that the loop calls and that runs the model itself.
    """
    function = program.tree.function(turn.place)
    here = program.tree.function(source)
    if here is function:
        return source.lineno > turn.place.lineno and turn.loop in program.tree.ancestors(source)
    if not isinstance(here, FUNCTIONS):
        return False
    inside = {id(n) for n in walk(turn.loop)}
    around: ast.AST = function if function is not None else program.module
    if not any(id(call) in inside for call in calls_of(program, around).get(here, [])):
        return False
    inner = [e for e in program.flow.events if e.kind == "forward" and here in e.frames]
    return any(o is obj for e in inner for o, _ in e.receivers)
