"""What becomes of a loaded object: whether it only reaches ``load_state_dict`` or is used as it is."""

from __future__ import annotations

import ast
import enum
import re
from typing import TYPE_CHECKING

from torchlint.semantics.bindings import Binding
from torchlint.semantics.tree import LOOPS, last_name, walk
from torchlint.semantics.values import Known

if TYPE_CHECKING:
    from torchlint.semantics.program import Program

_PLAIN_KEYS = re.compile(
    r"(?:.*_)?(?:epochs?|steps?|iter(?:ation)?s?|best|loss(?:es)?|acc(?:uracy)?\d*|score|args?|opts?|cfg|configs?|options|"
    r"params|hparams|hyper_?parameters|classes|class_names|class_to_idx|num|vocab|word2idx|names?|version|history|time|"
    r"metrics?|size|dim|seed|arch|model_type|lr|learning_rate|prec\d*|mean|std)(?:_.*)?$",
    re.I,
)
_READS = frozenset({"keys", "items", "values", "get", "pop", "copy", "state_dict", "update", "setdefault"})
_HARMLESS_CALLS = frozenset(
    {"len", "print", "isinstance", "type", "sorted", "list", "dict", "set", "hasattr", "str", "iter"}
)


class Use(enum.Enum):
    """What becomes of a loaded object."""

    STATE = "it only reaches load_state_dict"
    DIRECT = "it is used as it is"
    UNSEEN = "it leaves the sight of the file"


def is_load_state_dict(call: ast.Call) -> bool:
    """Whether a call is ``….load_state_dict(…)``."""
    return isinstance(call.func, ast.Attribute) and call.func.attr == "load_state_dict"


def use_of(program: Program, call: ast.Call) -> Use:
    """Whether the loaded object only reaches ``load_state_dict``, is used directly, or is not seen to the end."""
    return _follow(program, call, set())


def _follow(program: Program, node: ast.expr, seen: set[ast.AST]) -> Use:
    """The use of one occurrence of the value."""
    parent = program.tree.parent(node)
    if node in seen:
        return Use.STATE  # it comes round again: nothing new
    seen.add(node)
    if isinstance(parent, ast.keyword):
        parent = program.tree.parent(parent)
    if isinstance(parent, ast.Call) and node is parent.func:
        return Use.DIRECT
    if isinstance(parent, ast.Call):
        return _passed(program, parent, node, seen)
    if isinstance(parent, ast.Subscript) and parent.value is node:
        return _indexed(program, parent, parent.slice, seen)
    if isinstance(parent, ast.Attribute):
        return _method(program, parent, seen)
    if isinstance(parent, ast.Assign | ast.AnnAssign | ast.NamedExpr) and parent.value is node:
        return _bound(program, parent, seen)
    if isinstance(parent, ast.Expr | ast.Compare | ast.If | ast.Assert | ast.Delete | ast.FormattedValue):
        return Use.STATE
    if isinstance(parent, (*LOOPS, ast.comprehension)) and getattr(parent, "iter", None) is node:
        return Use.STATE
    if isinstance(parent, ast.IfExp | ast.BoolOp):
        return _follow(program, parent, seen)
    return Use.UNSEEN


def _passed(program: Program, call: ast.Call, node: ast.expr, seen: set[ast.AST]) -> Use:
    if is_load_state_dict(call):
        return Use.STATE
    name = last_name(call.func)
    if isinstance(call.func, ast.Name) and name in ("dict", "list"):
        return _follow(program, call, seen)
    if name in _HARMLESS_CALLS or name == "OrderedDict":
        return Use.STATE if name != "OrderedDict" else _follow(program, call, seen)
    if isinstance(call.func, ast.Attribute) and name == "update":
        return _rest_of_name(program, call.func.value, seen)
    return Use.UNSEEN


def _indexed(program: Program, node: ast.expr, key: ast.expr, seen: set[ast.AST]) -> Use:
    """``saved["model"]``: a plain entry such as the epoch is of no device; others are followed."""
    if isinstance(getattr(node, "ctx", None), ast.Store | ast.Del):
        return Use.STATE
    constant = program.values.constant(key)
    if isinstance(constant, Known) and isinstance(constant.value, str) and _PLAIN_KEYS.match(constant.value):
        return Use.STATE
    found = _follow(program, node, seen)
    return Use.DIRECT if found is Use.UNSEEN and isinstance(constant, Known) else found


def _method(program: Program, attribute: ast.Attribute, seen: set[ast.AST]) -> Use:
    call = program.tree.parent(attribute)
    if not isinstance(call, ast.Call) or call.func is not attribute:
        return Use.DIRECT
    if attribute.attr in ("keys", "update"):
        return Use.STATE
    if attribute.attr in ("items", "values"):
        return _iterated(program, call, seen)
    if attribute.attr in ("get", "pop", "setdefault") and call.args:
        return _indexed(program, call, call.args[0], seen)
    if attribute.attr in _READS or attribute.attr in ("float", "eval", "half"):
        return _follow(program, call, seen)
    return Use.DIRECT


def _iterated(program: Program, call: ast.Call, seen: set[ast.AST]) -> Use:
    """``for k, v in state.items()``: followed into the dict that the entries are put in."""
    parent = program.tree.parent(call)
    if (
        isinstance(parent, ast.Call)
        and isinstance(parent.func, ast.Name)
        and parent.func.id in ("list", "sorted", "dict")
    ):
        call = parent
        parent = program.tree.parent(call)
    if isinstance(parent, ast.comprehension):
        made = program.tree.parent(parent)
        return _follow(program, made, seen) if isinstance(made, ast.DictComp) else Use.UNSEEN
    if isinstance(parent, ast.For):
        return _filled(program, parent, seen)
    return Use.UNSEEN


def _filled(program: Program, loop: ast.For, seen: set[ast.AST]) -> Use:
    """What becomes of the dicts a loop fills from the entries of a state."""
    names = {n.id for n in walk(loop.target) if isinstance(n, ast.Name)}
    worst = Use.STATE
    for node in walk(loop):
        if not isinstance(node, ast.Name) or node.id not in names or not isinstance(node.ctx, ast.Load):
            continue
        statement = program.tree.statement(node)
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Subscript):
            target = statement.targets[0].value
            worst = _worse(worst, _rest_of_name(program, target, seen))
    return worst


def _bound(program: Program, assignment: ast.Assign | ast.AnnAssign | ast.NamedExpr, seen: set[ast.AST]) -> Use:
    targets = assignment.targets if isinstance(assignment, ast.Assign) else [assignment.target]
    worst = Use.STATE
    for target in targets:
        if isinstance(target, ast.Subscript):
            worst = _worse(worst, _rest_of_name(program, target.value, seen))
            continue
        if not isinstance(target, ast.Name):
            return Use.UNSEEN
        for use in _uses(program, target):
            worst = _worse(worst, _follow(program, use, seen))
    return worst


def _rest_of_name(program: Program, target: ast.expr, seen: set[ast.AST]) -> Use:
    """The uses of a dict that was filled."""
    if not isinstance(target, ast.Name):
        return Use.UNSEEN
    owner = program.scopes.owner(target.id, program.scopes.scope_of(target))
    if owner is None:
        return Use.UNSEEN
    worst = Use.STATE
    for node in _reads(program, target.id):
        if _is_use(program, node, owner.bindings[target.id]):
            parent = program.tree.parent(node)
            if isinstance(parent, ast.Subscript) and isinstance(parent.ctx, ast.Store | ast.Del):
                continue
            if isinstance(parent, ast.Attribute) and parent.attr in ("update", "keys", "items"):
                continue
            worst = _worse(worst, _follow(program, node, seen))
    return worst


def uses_of_result(program: Program, call: ast.Call) -> list[ast.Name]:
    """Where the name is read that a call's result is bound to."""
    parent = program.tree.parent(call)
    if isinstance(parent, ast.Assign) and len(parent.targets) == 1 and isinstance(parent.targets[0], ast.Name):
        return _uses(program, parent.targets[0])
    return []


def _uses(program: Program, target: ast.Name) -> list[ast.Name]:
    """The places that may read the value a name gets here."""
    owner = program.scopes.owner(target.id, program.scopes.scope_of(target))
    if owner is None:
        return []
    own = [b for b in owner.bindings[target.id] if b.node is target or getattr(b.node, "target", None) is target]
    return [node for node in _reads(program, target.id) if _is_use(program, node, own)]


def _reads(program: Program, name: str) -> list[ast.Name]:
    """Where a name is read in the file, in source order; all names are listed in one pass over the file."""
    memo = program.memo("reads of names")
    if program.module not in memo:
        found: dict[str, list[ast.Name]] = {}
        for node in program.tree.nodes:
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                found.setdefault(node.id, []).append(node)
        memo[program.module] = found
    listed: dict[str, list[ast.Name]] = memo[program.module]
    return listed.get(name, [])


def _is_use(program: Program, node: ast.Name, bindings: list[Binding]) -> bool:
    return any(binding in bindings for binding in program.scopes.reaching(node))


def _worse(one: Use, other: Use) -> Use:
    order = (Use.STATE, Use.UNSEEN, Use.DIRECT)
    return max(one, other, key=order.index)
