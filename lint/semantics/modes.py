"""The abstract values of the mode analysis: objects, their train/eval mode, and the state that flows through a program.

A mode is a set of possibilities, because several paths may lead to a point. ``OPAQUE`` means that something unseen may have
decided; a rule stays silent then.
"""

from __future__ import annotations

import ast
import enum
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from torchlint.semantics.bindings import Scope
from torchlint.semantics.tree import FunctionNode

if TYPE_CHECKING:
    from torchlint.semantics.program import Program


class Mode(enum.IntFlag):
    """What may be true of a module at a point."""

    NONE = 0
    TRAIN = 1  # train() was called
    FRESH = 2  # constructed and not switched since
    EVAL = 4  # eval() was called
    ENTRY = 8  # as whoever called the function left it
    OPAQUE = 16  # unseen code may have switched it
    PARTIAL = 32  # single layers were switched by hand (Monte Carlo dropout, frozen batch norm)


@dataclass(frozen=True, slots=True, eq=False)
class Obj:
    """One abstract object; :func:`make` gives the same one for the same origin, so that identity is equality.

    ``kind`` is new (made by the call ``node``; ``base`` is then the chain of calls that led there), param, self, attr
    (``base``.``name``), copy (of ``base``), part (some module inside ``base``), free (a name bound out of sight) or site.
    """

    kind: str
    node: ast.AST
    program: Program
    name: str = ""
    base: Obj | None = None


def make(kind: str, node: ast.AST, program: Program, name: str = "", base: Obj | None = None) -> Obj:
    """The object of that origin."""
    table: dict[ast.AST, dict[tuple[str, str, Obj | None], Obj]] = program.memo("modes.objects")
    of_node = table.setdefault(node, {})
    key = (kind, name, base)
    found = of_node.get(key)
    if found is None:
        found = of_node[key] = Obj(kind, node, program, name, base)
    return found


@dataclass(frozen=True, slots=True)
class Const:
    """A constant known in this context (arguments of the call that is followed, elements of a literal loop)."""

    value: object


@dataclass(frozen=True, slots=True)
class Saved:
    """The value of ``model.training`` read earlier."""

    status: Status


@dataclass(frozen=True, slots=True)
class Func:
    """A function or lambda as a value; ``owner`` is the instance a bound method belongs to."""

    program: Program
    node: FunctionNode | ast.Lambda
    owner: Objs | None = None

    def __hash__(self) -> int:
        return hash(id(self.node))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Func) and self.node is other.node and self.owner == other.owner


@dataclass(frozen=True, slots=True)
class Several:
    """A tuple whose elements are known one by one."""

    items: tuple[Value, ...]


Objs = frozenset[Obj]
Value = Objs | Const | Saved | Func | Several
NOTHING: Objs = frozenset()


@dataclass(frozen=True, slots=True)
class Status:
    """A mode with the calls that last switched it (empty for modes nobody set in sight)."""

    mode: Mode
    sources: frozenset[ast.AST] = frozenset()

    def __or__(self, other: Status) -> Status:
        return self if self == other else Status(self.mode | other.mode, self.sources | other.sources)


@dataclass(slots=True)
class Linked:
    """A mode that depended on a condition when two branches met: valid as long as the mode is still ``joined``."""

    when_true: Status
    when_false: Status
    joined: Status


@dataclass(slots=True)
class State:
    """Everything known at one point: variables, attributes, modes, and modes tied to conditions.

    The mappings are never changed, only replaced: a copy costs nothing, and two states that share one need no joining.
    """

    variables: dict[Scope, dict[str, Value]] = field(default_factory=dict)
    attributes: dict[tuple[Obj, str], Value] = field(default_factory=dict)
    modes: dict[Obj, Status] = field(default_factory=dict)
    linked: dict[tuple[str, Obj], Linked] = field(default_factory=dict)

    def copy(self) -> State:
        """A state that can be changed without changing this one."""
        return State(self.variables, self.attributes, self.modes, self.linked)

    def same(self, other: State) -> bool:
        """Whether both know the same."""
        return (
            (self.modes is other.modes or self.modes == other.modes)
            and (self.variables is other.variables or self.variables == other.variables)
            and (self.attributes is other.attributes or self.attributes == other.attributes)
        )

    def get(self, scope: Scope, name: str) -> Value | None:
        """The value of a variable."""
        known = self.variables.get(scope)
        return known.get(name) if known is not None else None

    def bind(self, scope: Scope, name: str, value: Value) -> None:
        """Set a variable."""
        known = self.variables.get(scope)
        if known is not None and known.get(name) == value:
            return
        self.variables = {**self.variables, scope: {**known, name: value} if known is not None else {name: value}}

    def bind_all(self, scope: Scope, values: dict[str, Value]) -> None:
        """Begin a scope with these variables."""
        self.variables = {**self.variables, scope: values}

    def drop(self, scope: Scope) -> None:
        """Forget the variables of a scope that was left."""
        if scope in self.variables:
            self.variables = {k: v for k, v in self.variables.items() if k is not scope}

    def store(self, obj: Obj, name: str, value: Value) -> None:
        """Set an attribute."""
        if self.attributes.get((obj, name)) != value:
            self.attributes = {**self.attributes, (obj, name): value}

    def turn(self, obj: Obj, status: Status) -> None:
        """Set a mode."""
        if self.modes.get(obj) != status:
            self.modes = {**self.modes, obj: status}


def join_values(first: Value, second: Value) -> Value:
    """What a name may be when two paths meet."""
    if first == second:
        return first
    if isinstance(first, frozenset) and isinstance(second, frozenset):
        return first | second
    if isinstance(first, frozenset) and isinstance(second, Const) and second.value is None:
        return first  # ``model = None`` before the real thing
    if isinstance(second, frozenset) and isinstance(first, Const) and first.value is None:
        return second
    if isinstance(first, Several) and isinstance(second, Several) and len(first.items) == len(second.items):
        return Several(tuple(join_values(a, b) for a, b in zip(first.items, second.items, strict=True)))
    if isinstance(first, Saved) and isinstance(second, Saved):
        return Saved(first.status | second.status)
    return NOTHING


def objects(value: Value) -> Objs:
    """The objects a value may be, or hold."""
    if isinstance(value, frozenset):
        return value
    if isinstance(value, Several):
        found: Objs = NOTHING
        for item in value.items:
            found |= objects(item)
        return found
    return NOTHING
