"""Functional dropout in networks: whether it follows the mode of the network."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchlint.semantics.branches import guards
from torchlint.semantics.classes import self_name
from torchlint.semantics.module_classes import is_module_class
from torchlint.semantics.project import Definition
from torchlint.semantics.tree import FUNCTIONS
from torchlint.semantics.values import ABSENT, Known

if TYPE_CHECKING:
    from torchlint.semantics.program import Program

_NAMES = ("dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout")
DROPOUTS = tuple(f"torch.nn.functional.{name}" for name in _NAMES)
_WANTED = re.compile(
    r"(^|[_\W])mc(_|\W|dropout)|MC[A-Z]|monte|bayes|always|uncertain|stochastic|even (at|in|during) (eval|test|inf)",
    re.I,
)


@dataclass(frozen=True, slots=True)
class Deaf:
    """A call of functional dropout without ``training``, and the name of the network instance it may ask."""

    call: ast.Call
    instance: str
    method: str


def deaf_dropouts(program: Program) -> Iterator[Deaf]:
    """The functional dropouts inside networks that stay on in eval mode, in source order."""
    for call in program.calls_to(*DROPOUTS):
        if program.values.argument(call, "training", 2) != (ABSENT,) or _is_off(program, call):
            continue
        found = _network_method(program, call)
        if found is None:
            continue
        method, owner = found
        instance = self_name(method)
        if (
            instance is not None
            and not _under_mode(program, call)
            and not _is_wanted(program, call, method.name, owner.name)
        ):
            yield Deaf(call, instance, method.name)


def _is_off(program: Program, call: ast.Call) -> bool:
    """Whether the probability is 0."""
    for value in program.values.argument(call, "p", 1):
        known = program.values.constant(value)
        if isinstance(known, Known) and known.value == 0:
            return True
    return False


def _under_mode(program: Program, call: ast.Call) -> bool:
    """Whether an ``if self.training:`` around the call decides instead."""
    return any("train" in ast.unparse(guard.test) for guard in guards(program, call))


def _network_method(
    program: Program, node: ast.AST
) -> tuple[ast.FunctionDef | ast.AsyncFunctionDef, ast.ClassDef] | None:
    """The method around a node, when its class certainly is a network; functions inside it see the instance too."""
    function = program.tree.function(node)
    while function is not None:
        owner = program.tree.class_of(function)
        if owner is not None:
            if isinstance(function, FUNCTIONS) and is_module_class(Definition(program, owner)) is True:
                return function, owner
            return None
        function = program.tree.function(function)
    return None


def _is_wanted(program: Program, call: ast.Call, *names: str) -> bool:
    """Whether names or a comment say that dropout is to stay on: Monte Carlo dropout."""
    rows = range(call.lineno - 1, (call.end_lineno or call.lineno) + 1)
    comments = [program.source.line(row).partition("#")[2] for row in rows if row > 0]
    return any(_WANTED.search(text) for text in (*names, *comments))
