"""Which functions of a file the mode analysis has to start from.

Most functions of a library neither switch a mode nor run anything without gradients, nor lead to one that does. Following
each of them with unknown arguments would cost more than everything else together.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchlint.semantics.gradients import decorator_switch, switch
from torchlint.semantics.tree import FUNCTIONS, FunctionNode, last_name, walk

if TYPE_CHECKING:
    from torchlint.semantics.program import Program

_SWITCHES = frozenset({"eval", "train"})
_EXPORTS = ("torch.jit.trace", "torch.export.export", "torch.onnx.export")


def functions_of_interest(program: Program, names: frozenset[str] = frozenset()) -> set[FunctionNode]:
    """The functions that may hold, or lead to, a place where the mode of a model matters. Errs to too many.

    Such a place switches a mode or gradients, exports a model, evaluates over data, or mentions one of ``names``. All
    methods of a class with such a place count, for each may tell what the others work on.
    """
    outermost = _outermost(program)
    own = {f.name for f in outermost}
    owners = {f: program.tree.class_of(f) for f in outermost}
    mentioned = {f: _mentions(f, own | names | {c.name for c in owners.values() if c is not None}) for f in outermost}
    marked = _marked(program)
    wanted = {f for f in outermost if f in marked or not names.isdisjoint(mentioned[f])}
    reached = _targets(wanted, owners)
    while True:
        more = {f for f in outermost if f not in wanted and not reached.isdisjoint(mentioned[f])}
        if not more:
            break
        wanted |= more
        reached |= _targets(more, owners)
    classes = {owner for f in wanted if (owner := owners[f]) is not None}
    wanted |= {f for f in outermost if owners[f] in classes}
    return {f for f in program.tree.functions if _top(program, f) in wanted}


def _targets(functions: set[FunctionNode], owners: dict[FunctionNode, ast.ClassDef | None]) -> set[str]:
    """The names by which functions are run: a special method runs when its class or an object of it is used."""
    found = {f.name for f in functions}
    found.update(owner.name for f in functions if (owner := owners[f]) is not None and f.name.startswith("__"))
    return found


def _mentions(function: FunctionNode, interesting: set[str]) -> set[str]:
    return {name for node in walk(function) if (name := last_name(node)) and name in interesting}


def _outermost(program: Program) -> list[FunctionNode]:
    return [f for f in program.tree.functions if program.tree.function(f) is None]


def _top(program: Program, node: ast.AST) -> ast.AST | None:
    """The outermost function around a node, or the node if it is one."""
    found = node if isinstance(node, FUNCTIONS) else None
    for ancestor in program.tree.ancestors(node):
        if isinstance(ancestor, FUNCTIONS):
            found = ancestor
    return found


def _marked(program: Program) -> set[ast.AST | None]:
    from torchlint.semantics.gradpass import evaluation_loops

    tree = program.tree
    places: list[ast.AST] = [w for w in tree.withs if any(switch(program, i.context_expr) for i in w.items)]
    places.extend(f for f in tree.functions if f.decorator_list and decorator_switch(program, f) is not None)
    places.extend(c for c in tree.calls if isinstance(c.func, ast.Attribute) and c.func.attr in _SWITCHES)
    places.extend(program.calls_to(*_EXPORTS))
    places.extend(evaluation_loops(program))
    return {_top(program, place) for place in places}
