"""Follows the train/eval mode of every model through a program: statements, branches, loops, calls, other files.

An abstract interpreter. It runs the module body, then every function nobody in sight calls, with unknown arguments; calls of
functions in reach are followed with what is known of their arguments. What a rule may want to know is recorded as events.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchlint.semantics import classes
from torchlint.semantics.bindings import Scope
from torchlint.semantics.frames import Event, Frame, Region
from torchlint.semantics.gradients import Gradient, decorator_switch
from torchlint.semantics.modes import (
    Func,
    Mode,
    Obj,
    Objs,
    State,
    Status,
    make,
    objects,
)
from torchlint.semantics.project import Definition
from torchlint.semantics.roots import functions_of_interest
from torchlint.semantics.statements import Statements
from torchlint.semantics.tree import FUNCTIONS, FunctionNode

if TYPE_CHECKING:
    from torchlint.semantics.program import Program

# Statements followed per file, and at least for each function nobody calls; what lies beyond is unknown, so nothing is noted there.
_BUDGET = 8_000
_FOR_A_FUNCTION = 800


class Flow(Statements):
    """The mode analysis of one file. ``events`` is complete after construction.

    ``names`` are functions and classes of other files: whatever leads to one of them is followed as well.
    """

    def __init__(self, program: Program, names: frozenset[str] = frozenset()) -> None:
        self.program = program
        self.names = names
        self.events: list[Event] = []
        self.evidence: dict[Obj, set[str]] = {}
        self.followed: set[ast.AST] = set()
        self._left = _BUDGET
        self._spent = False
        self._owners: dict[ast.Name, Scope | None] = {}
        self._built: dict[ast.ClassDef, State | None] = {}
        self._run()

    # -- roots ----------------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        program = self.program
        self.final = State()
        frame = Frame(program, program.module, (), (program.module,))
        out = self.block(program.module.body, self.final, frame)
        self.final = out if out is not None else self.final
        if self._spent:
            self.final = State()  # what the unseen rest of the module does to its objects is unknown
        called = _called_names(program)
        pending = [f for f in functions_of_interest(program, self.names) if f not in self.followed]
        pending.sort(key=lambda f: (f.name in called, f.name.startswith("_") and not f.name.startswith("__"), f.lineno))
        for function in pending:
            if function not in self.followed:
                self._root(function)

    def _root(self, function: FunctionNode) -> None:
        """Follow a function that nothing in sight calls, with arguments as its unseen callers left them."""
        program = self.program
        owner = program.tree.class_of(function)
        instance: Objs | None = None
        state: State | None
        if owner is None:
            state = self._start()
        else:
            instance = frozenset({make("self", owner, program)})
            state = self._start() if function.name == "__init__" else self._constructed(owner, instance)
            if state is None:
                return
            if function.name != "__init__":
                self._blur(owner, function, state)
        self._begin()
        self.enter(Func(program, function, instance), {}, state, self._outermost(), unknown=True)

    def _start(self) -> State:
        """What the module left, except that unseen code may have switched every mode since."""
        state = self.final.copy()
        state.modes = {o: Status(s.mode | Mode.ENTRY, s.sources) for o, s in state.modes.items()}
        return state

    def _constructed(self, owner: ast.ClassDef, instance: Objs) -> State | None:
        """The state in which the constructor leaves an object; None when it could not be followed to its end."""
        if owner not in self._built:
            state = self._start()
            constructor = classes.method(Definition(self.program, owner), "__init__")
            if constructor is not None and isinstance(constructor.node, FUNCTIONS):
                self._begin()
                function = Func(constructor.program, constructor.node, instance)
                self.enter(function, {}, state, self._outermost(), unknown=True)
                self._built[owner] = None if self._spent else state
            else:
                self._built[owner] = state
        built = self._built[owner]
        return None if built is None else built.copy()

    def _begin(self) -> None:
        self._left = max(self._left, _FOR_A_FUNCTION)
        self._spent = False

    def _outermost(self) -> Frame:
        return Frame(self.program, self.program.module, (), (self.program.module,))

    def _blur(self, owner: ast.ClassDef, function: FunctionNode, state: State) -> None:
        """Between the constructor and a method other methods may have run: what they switch to eval is no longer certain."""
        for name, inside in self._switched_attributes(owner):
            if inside is function or (isinstance(inside, FUNCTIONS) and inside.name == "__init__"):
                continue
            for (obj, attribute), value in list(state.attributes.items()):
                if attribute == name and obj.node is owner:
                    for model in objects(value):
                        state.turn(model, self.status(model, state) | Status(Mode.OPAQUE))

    def _switched_attributes(self, owner: ast.ClassDef) -> list[tuple[str, ast.AST | None]]:
        """The attributes on which a class calls ``eval()``, each with the function in which it does."""
        memo: dict[ast.AST, list[tuple[str, ast.AST | None]]] = self.program.memo("flow.switched")
        if owner not in memo:
            memo[owner] = [
                (node.func.value.attr, self.program.tree.function(node))
                for node in self.program.tree.within(owner, ast.Call)
                if isinstance(node.func, ast.Attribute)
                and node.func.attr == "eval"
                and isinstance(node.func.value, ast.Attribute)
            ]
        return memo[owner]

    # -- what rules read -------------------------------------------------------------------------------------------------

    def record(self, kind: str, node: ast.Call, receivers: Objs, state: State, frame: Frame) -> None:
        """Note an event, unless code that was left unseen may have come before it."""
        if self._spent:
            return
        with_modes = tuple((o, self.effective(o, state)) for o in sorted(receivers, key=_order))
        region = frame.regions[-1] if frame.regions else None
        self.events.append(
            Event(kind, frame.program, node, region, with_modes, state.modes, frame.stack, self.evidence)
        )

    def enter_regions(self, function: Func, frame: Frame) -> tuple[Region, ...]:
        """The regions a followed function runs in: the caller's, and its own decorator."""
        if isinstance(function.node, ast.Lambda):
            return frame.regions
        decorator = decorator_switch(function.program, function.node)
        if decorator is None:
            return frame.regions
        return (*frame.regions, Region(function.program, decorator, Gradient.OFF, function.node))


def _order(obj: Obj) -> tuple[str, str, int, int]:
    return obj.kind, obj.name, getattr(obj.node, "lineno", 0), getattr(obj.node, "col_offset", 0)


def _called_names(program: Program) -> set[str]:
    found: set[str] = set()
    for call in program.tree.calls:
        if isinstance(call.func, ast.Name):
            found.add(call.func.id)
        elif isinstance(call.func, ast.Attribute):
            found.add(call.func.attr)
    return found
