"""One function that is called for training and for validation, and logs both under one tag."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchlint.semantics.bindings import terminates
from torchlint.semantics.branches import exclusive, guards, same_names
from torchlint.semantics.callers import CallSite, call_sites
from torchlint.semantics.classes import bind, default_of
from torchlint.semantics.phases import phase_words
from torchlint.semantics.quantities import words
from torchlint.semantics.summaries import Summary
from torchlint.semantics.tree import FUNCTIONS, FunctionNode

if TYPE_CHECKING:
    from torchlint.semantics.program import Program


@dataclass(frozen=True, slots=True, eq=False)
class Shared:
    """The calls of a function for two phases, in the order they stand."""

    function: FunctionNode
    first: ast.Call
    second: ast.Call
    phases: tuple[str, str]


def shared_by_phases(program: Program, summary: Summary) -> Shared | None:
    """The two calls that make one summary call log two phases.

    Neither its tag, step, writer nor a test before it asks which. Only for a constant tag, and calls in one function of
    the same file that both run.
    """
    function = summary.function
    if not isinstance(function, FUNCTIONS) or summary.tag.constant is None or phase_words(summary.tag.constant):
        return None
    sites = [site for site in call_sites(program, function) if site.program is program]
    for index, second in enumerate(sites):
        for first in sites[:index]:
            found = _two_phases(program, function, summary, first, second)
            if found is not None and summary.writer is not None:
                return found
    return None


def _two_phases(
    program: Program, function: FunctionNode, summary: Summary, first: CallSite, second: CallSite
) -> Shared | None:
    tree = program.tree
    if tree.function(first.call) is not tree.function(second.call) or exclusive(program, first.call, second.call):
        return None
    if ast.dump(first.call.func) != ast.dump(second.call.func):
        return None
    mine, theirs = bind(first.call, function, bound=first.bound), bind(second.call, function, bound=second.bound)
    if mine is None or theirs is None:
        return None
    differing = {
        name
        for name in mine.keys() | theirs.keys()
        if not _alike(program, mine.get(name, default_of(function, name)), theirs.get(name, default_of(function, name)))
    }
    phases = [_phase_of(function, given, differing) for given in (mine, theirs)]
    if phases[0] is None or phases[1] is None or (phases[0] == "train") is (phases[1] == "train"):
        return None
    asked = [summary.receiver, *([summary.step] if summary.step is not None else [])]
    asked += [guard.test for guard in guards(program, summary.call)]
    asked += _exits_before(program, summary.call, function)
    if any(parameters_behind(program, expr) & differing for expr in asked):
        return None
    return Shared(function, first.call, second.call, (phases[0], phases[1]))


def _alike(program: Program, first: ast.expr | None, second: ast.expr | None) -> bool:
    if first is None or second is None:
        return first is second
    return ast.dump(first) == ast.dump(second) and same_names(program, first, second)


def _phase_of(function: FunctionNode, given: dict[str, ast.expr], differing: set[str]) -> str | None:
    """The phase that the arguments of a call name: ``"train"``, ``val_loader``, ``training=False``."""
    found: set[str] = set()
    for name in sorted(differing):
        value = given.get(name, default_of(function, name))
        if isinstance(value, ast.Constant) and isinstance(value.value, bool):
            named = (
                phase_words(name) if set(words(name)) <= {"is", "train", "training", "eval", "mode", "val"} else None
            )
            if named is not None:
                found.add(named if value.value else "eval" if named == "train" else "train")
        elif isinstance(value, ast.Constant) and isinstance(value.value, str):
            found.add(phase_words(value.value) or "?")
        elif isinstance(value, ast.Name | ast.Attribute):
            named = phase_words(value.id if isinstance(value, ast.Name) else value.attr)
            if named is not None:
                found.add(named)
    if "train" in found:
        return "train" if found == {"train"} else None
    return next((name for name in ("val", "test", "eval") if name in found), None)


def _exits_before(program: Program, node: ast.AST, function: FunctionNode) -> list[ast.expr]:
    """Tests before a node in its function under which the function or the turn of a loop ends."""
    found: list[ast.expr] = []
    for parent in (node, *program.tree.ancestors(node)):
        if parent is function:
            break
        if isinstance(parent, ast.stmt):
            block, index = program.tree.blocks[parent]
            found += [s.test for s in block[:index] if isinstance(s, ast.If) and any(map(terminates, s.body))]
    return found


def parameters_behind(program: Program, expr: ast.expr, depth: int = 5) -> set[str]:
    """The parameters of the enclosing functions that an expression is computed from, through assignments."""
    found: set[str] = set()
    for name in ast.walk(expr):
        if not isinstance(name, ast.Name) or not isinstance(name.ctx, ast.Load):
            continue
        for binding in program.scopes.reaching(name):
            if binding.kind == "param":
                found.add(binding.name)
            elif binding.value is not None and depth:
                found |= parameters_behind(program, binding.value, depth - 1)
    return found
