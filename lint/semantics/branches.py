"""Whether two places of a function can both be reached: branches, early exits, tests that exclude each other."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchlint.semantics.bindings import terminates
from torchlint.semantics.tree import LOOPS, SCOPES
from torchlint.semantics.values import Known

if TYPE_CHECKING:
    from torchlint.semantics.program import Program


@dataclass(frozen=True, slots=True)
class Guard:
    """A test a place stands under, and the outcome it needs."""

    test: ast.expr
    outcome: bool


def exclusive(program: Program, first: ast.AST, second: ast.AST) -> bool:
    """Whether one turn through the function around both nodes never reaches both.

    Branches of one ``if``, ``match`` or ``try``, tests that contradict each other, and what stands behind a
    ``return``, ``raise``, ``continue`` or ``break``. Branches on the variable of a loop over written-out values are
    not exclusive: the loop takes both.
    """
    path, other = _path(program, first), _path(program, second)
    common = 0
    while common < min(len(path), len(other)) and path[common] is other[common]:
        common += 1
    if common == 0 or common >= min(len(path), len(other)):
        return False
    holder, one, two = path[common - 1], path[common], other[common]
    if isinstance(holder, ast.If | ast.IfExp):
        arms = (_arm(holder, one), _arm(holder, two))
        if None not in arms and arms[0] is not arms[1]:
            return not _both_taken(program, holder.test, holder)
    if isinstance(holder, ast.Match) and isinstance(one, ast.match_case) and isinstance(two, ast.match_case):
        return one is not two and not _both_taken(program, holder.subject, holder)
    if isinstance(holder, ast.Try) and isinstance(one, ast.ExceptHandler) is not isinstance(two, ast.ExceptHandler):
        handled, normal = (one, two) if isinstance(one, ast.ExceptHandler) else (two, one)
        return normal not in holder.finalbody and handled is not normal
    if isinstance(holder, ast.Try) and isinstance(one, ast.ExceptHandler) and isinstance(two, ast.ExceptHandler):
        return True
    return (
        _leaves(program, first, one, second)
        or _leaves(program, second, two, first)
        or _contradict(program, first, second, holder)
    )


def guards(program: Program, node: ast.AST, until: ast.AST | None = None) -> list[Guard]:
    """The tests of the ``if`` statements and conditional expressions around a node, innermost first.

    ``until`` (or the enclosing function) ends the search.
    """
    found: list[Guard] = []
    child = node
    for parent in program.tree.ancestors(node):
        if parent is until or isinstance(parent, SCOPES):
            break
        if isinstance(parent, ast.If | ast.IfExp):
            arm = _arm(parent, child)
            if arm is not None:
                found.append(Guard(parent.test, arm))
        child = parent
    return found


def earlier_exits(program: Program, node: ast.AST, loop: ast.AST) -> list[ast.expr]:
    """Tests before a node in the body of a loop under which the turn ends early (``if p.grad is None: continue``)."""
    found: list[ast.expr] = []
    for parent in (node, *program.tree.ancestors(node)):
        if parent is loop:
            break
        if isinstance(parent, ast.stmt):
            block, index = program.tree.blocks[parent]
            for before in block[:index]:
                if isinstance(before, ast.If) and any(terminates(s) for s in (*before.body, *before.orelse)):
                    found.append(before.test)
    return found


def runs_once(program: Program, node: ast.AST, loop: ast.AST) -> bool:
    """Whether the loop ends behind the node in the same turn (``break`` or ``return``), so that it is reached once."""
    for parent in (node, *program.tree.ancestors(node)):
        if parent is loop:
            return False
        if isinstance(parent, ast.stmt):
            block, index = program.tree.blocks[parent]
            inner = any(isinstance(a, LOOPS) and a is not loop for a in _until(program, parent, loop))
            for later in block[index:]:
                if isinstance(later, ast.Return | ast.Raise) or (isinstance(later, ast.Break) and not inner):
                    return True
    return False


def _until(program: Program, node: ast.AST, end: ast.AST) -> list[ast.AST]:
    found = []
    for parent in program.tree.ancestors(node):
        if parent is end:
            break
        found.append(parent)
    return found


def _path(program: Program, node: ast.AST) -> list[ast.AST]:
    """The node and its ancestors inside its function, outermost first."""
    found = [node]
    for parent in program.tree.ancestors(node):
        found.append(parent)
        if isinstance(parent, SCOPES):
            break
    return found[::-1]


def _arm(holder: ast.If | ast.IfExp, child: ast.AST) -> bool | None:
    """True for the body, False for ``else``, None for the test."""
    if isinstance(holder, ast.IfExp):
        return True if child is holder.body else False if child is holder.orelse else None
    return True if child in holder.body else False if child in holder.orelse else None


def _both_taken(program: Program, test: ast.expr, at: ast.AST) -> bool:
    """Whether a loop around ``at`` runs over written-out values and the test asks which one it is."""
    for loop in program.tree.loops(at):
        if isinstance(loop, ast.While):
            continue
        targets = {n.id for n in ast.walk(loop.target) if isinstance(n, ast.Name)}
        asked = {n.id for n in ast.walk(test) if isinstance(n, ast.Name)}
        if targets & asked and _written_out(program, loop.iter):
            return True
    return False


def _written_out(program: Program, iterable: ast.expr) -> bool:
    if isinstance(iterable, ast.Call) and isinstance(iterable.func, ast.Attribute) and iterable.func.attr == "items":
        iterable = iterable.func.value
    if isinstance(iterable, ast.Call) and isinstance(iterable.func, ast.Name) and iterable.args:
        return _written_out(program, iterable.args[0])
    values = program.values.alternatives(iterable)
    return all(isinstance(v, ast.List | ast.Tuple | ast.Set | ast.Dict) for v in values)


def _leaves(program: Program, node: ast.AST, top: ast.AST, other: ast.AST) -> bool:
    """Whether control, once at ``node`` inside ``top``, leaves before it can reach ``other`` behind ``top``."""
    if getattr(other, "lineno", 0) < getattr(top, "lineno", 0):
        return False
    for parent in (node, *program.tree.ancestors(node)):
        if parent is top:
            return False
        if not isinstance(parent, ast.stmt):
            continue
        block, index = program.tree.blocks[parent]
        for later in block[index:]:
            if isinstance(later, ast.Return | ast.Raise) or (terminates(later) and isinstance(later, ast.Expr)):
                return True
            if isinstance(later, ast.Break | ast.Continue):
                loop = next(iter(program.tree.loops(later)), None)
                return loop is not None and loop in program.tree.ancestors(other)
    return False


def _contradict(program: Program, first: ast.AST, second: ast.AST, holder: ast.AST) -> bool:
    mine, theirs = guards(program, first, holder), guards(program, second, holder)
    return any(contradictory(program, a, b) and not _both_taken(program, a.test, holder) for a in mine for b in theirs)


def contradictory(program: Program, first: Guard, second: Guard) -> bool:
    """Whether two tests over the same unchanged names cannot both come out as they need to."""
    if not same_names(program, first.test, second.test):
        return False
    one, two = _plain(first), _plain(second)
    if ast.dump(one.test) == ast.dump(two.test):
        return one.outcome is not two.outcome
    a, b = _equals(program, one), _equals(program, two)
    return a is not None and b is not None and a[0] == b[0] and a[1] != b[1]


def _plain(guard: Guard) -> Guard:
    """The guard without ``not`` and with ``!=``, ``is not``, ``not in`` turned round."""
    test, outcome = guard.test, guard.outcome
    while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test, outcome = test.operand, not outcome
    turned: dict[type[ast.cmpop], ast.cmpop] = {ast.NotEq: ast.Eq(), ast.IsNot: ast.Is(), ast.NotIn: ast.In()}
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and type(test.ops[0]) in turned:
        test = ast.Compare(left=test.left, ops=[turned[type(test.ops[0])]], comparators=test.comparators)
        outcome = not outcome
    return Guard(test, outcome)


def _equals(program: Program, guard: Guard) -> tuple[str, object] | None:
    """``(text of x, constant)`` when the guard needs ``x == constant``."""
    test = guard.test
    if not guard.outcome or not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return None
    if not isinstance(test.ops[0], ast.Eq | ast.Is):
        return None
    known = program.values.constant(test.comparators[0])
    return (ast.dump(test.left), known.value) if isinstance(known, Known) else None


def same_names(program: Program, first: ast.expr, second: ast.expr) -> bool:
    """Whether two expressions use the same names with the same bindings."""
    mine = {n.id: n for n in ast.walk(first) if isinstance(n, ast.Name)}
    theirs = {n.id: n for n in ast.walk(second) if isinstance(n, ast.Name)}
    if mine.keys() != theirs.keys():
        return False
    return all(
        {id(b) for b in program.scopes.reaching(mine[name])} == {id(b) for b in program.scopes.reaching(theirs[name])}
        for name in mine
    )
