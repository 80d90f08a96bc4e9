"""What the mode analysis keeps of its own way: the functions it is in, the regions without gradients, and what it noted."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from torchlint.semantics.gradients import Gradient
from torchlint.semantics.modes import Obj, State, Status, Value
from torchlint.semantics.tree import FunctionNode

if TYPE_CHECKING:
    from torchlint.semantics.program import Program

DEEPEST = 7  # calls within calls that are followed


@dataclass(frozen=True, slots=True)
class Region:
    """A stretch that runs without gradients: the ``with`` statement or the decorator that makes it so."""

    program: Program
    node: ast.With | ast.AsyncWith | ast.expr
    gradient: Gradient
    function: FunctionNode | None

    def __hash__(self) -> int:
        return hash(id(self.node))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Region) and self.node is other.node


@dataclass(frozen=True, slots=True)
class Event:
    """Something a rule may ask about. ``kind`` is forward, backward, step or export.

    ``receivers`` are the models concerned with their mode at that moment; ``modes`` the mode of every model then;
    ``evidence`` the module methods called on each object anywhere on the way.
    """

    kind: str
    program: Program
    node: ast.Call
    region: Region | None
    receivers: tuple[tuple[Obj, Status], ...]
    modes: dict[Obj, Status]
    frames: tuple[ast.AST, ...]
    evidence: Mapping[Obj, set[str]]


@dataclass(slots=True)
class Frame:
    """One function (or the module) being followed."""

    program: Program
    node: ast.AST
    regions: tuple[Region, ...]
    stack: tuple[ast.AST, ...]
    returns: list[tuple[State, Value]] = field(default_factory=list)
    breaks: list[State] = field(default_factory=list)
    continues: list[State] = field(default_factory=list)
    on_yield: Callable[[State], State | None] | None = None
    site: Obj | None = None  # the call through which the function was entered: one object for each, not one for all
