"""Weights that are kept while training goes on: a state dict, parameters or a weight that a name holds without a copy.

``state_dict()`` and ``parameters()`` give the tensors of the model themselves, and optimizers change them in place.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchlint.semantics.bindings import Binding, Scope, terminates
from torchlint.semantics.kept_words import KEPT_WHILE
from torchlint.semantics.training import trains
from torchlint.semantics.tree import FUNCTIONS, LOOPS, last_name, walk

if TYPE_CHECKING:
    from torchlint.semantics.program import Program

_NO_MODEL = re.compile(r"opt|sched|scaler|sampler|loader|adam|sgd|warmup|stopp", re.I)
_KEPT = re.compile(
    r"(?:^|_)(?:best|old|prev(?:ious)?|before|orig(?:inal)?|init(?:ial)?|saved|snapshot|backup|start)(?:_|$)", re.I
)
_NEWEST = re.compile(
    r"(?:^|_)(?:last|latest|final|current|cur|newest)(?:_|$)", re.I
)  # what the name keeps is meant to change
_SHALLOW = ("builtins.dict", "builtins.list", "builtins.tuple", "collections.OrderedDict", "copy.copy")
_Assignment = ast.Assign | ast.AnnAssign
_SAVERS = frozenset({"load_state_dict", "save"})


@dataclass(frozen=True, slots=True)
class Kept:
    """``node`` gives the tensors of ``model``, ``name`` keeps ``value``, which holds them.

    ``kind`` is state_dict, parameters or weight.
    """

    node: ast.expr
    value: ast.expr
    model: ast.expr
    name: str
    kind: str


def kept_weights(program: Program) -> Iterator[Kept]:
    """The weights that a file keeps over later training steps without a copy, and reads afterwards."""
    if not any(re.search(pattern, program.source.text) for pattern in KEPT_WHILE):
        return
    for node in program.tree.nodes:
        found = _tensors(program, node)
        if found is None:
            continue
        model, kind = found
        assert isinstance(node, ast.expr)
        held = _held(program, node)
        if held is None:
            continue
        statement, target = held
        name = ast.unparse(target.value if isinstance(target, ast.Subscript) else target)
        if kind == "state_dict":
            kept = not _NEWEST.search(name) and _in_loop(program, statement, target, model)
            kept = kept or _straight(program, statement, target, model)
            kept = kept or _in_method(program, statement, target)
        else:
            kept = _KEPT.search(name) is not None and _compared(program, statement, target)
        if kept and statement.value is not None:
            yield Kept(node, statement.value, model, name, kind)


def _tensors(program: Program, node: ast.AST) -> tuple[ast.expr, str] | None:
    """The model whose own tensors an expression gives, and the kind of the expression."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        model, method = node.func.value, node.func.attr
        if method == "state_dict" and not node.args and not node.keywords and _is_model(program, model):
            return model, "state_dict"
        if method in ("parameters", "named_parameters") and _is_model(program, model):
            whole = program.tree.parent(node)  # the generator alone is used up by the first reader
            return (model, "parameters") if isinstance(whole, ast.Call | ast.comprehension) else None
    if not isinstance(node, ast.Attribute) or node.attr not in ("weight", "bias") or not isinstance(node.ctx, ast.Load):
        return None
    inside = isinstance(node.value, ast.Attribute | ast.Subscript)
    return (node.value, "weight") if inside or _is_layer(program, node.value) else None


def _is_model(program: Program, expr: ast.expr) -> bool:
    root = expr
    while isinstance(root, ast.Subscript):
        root = root.value
    name = last_name(root)
    if not name or _NO_MODEL.search(name) or name == "super":
        return False
    values = program.values.alternatives(root) if isinstance(root, ast.Name) else ()
    return not any(isinstance(v, ast.Call) and program.names.under(v.func, "torch.optim") for v in values)


def _is_layer(program: Program, expr: ast.expr) -> bool:
    return isinstance(expr, ast.Name) and any(
        isinstance(value, ast.Call) and program.names.under(value.func, "torch.nn")
        for value in program.values.alternatives(expr)
    )


def _held(program: Program, node: ast.expr) -> tuple[_Assignment, ast.expr] | None:
    """The assignment that keeps the value, through containers and shallow copies, and its target."""
    current: ast.AST = node
    while True:
        parent = program.tree.parent(current)
        if isinstance(parent, ast.Dict | ast.List | ast.Tuple | ast.IfExp | ast.keyword | ast.NamedExpr):
            if isinstance(parent, ast.NamedExpr) or (isinstance(parent, ast.IfExp) and current is parent.test):
                return None
        elif isinstance(parent, ast.Call):
            if current is parent.func or not program.names.matches(parent.func, *_SHALLOW):
                return None
        elif isinstance(parent, ast.Attribute):
            if parent.attr in ("copy", "detach"):
                grand = program.tree.parent(parent)
                if not isinstance(grand, ast.Call) or grand.func is not parent:
                    return None
                parent = grand
            elif parent.attr != "data":
                return None
        elif isinstance(parent, ast.comprehension):
            made = program.tree.parent(parent)
            if not _copies_nothing(parent, made):
                return None
            assert made is not None
            parent = made
        elif isinstance(parent, ast.Assign | ast.AnnAssign):
            targets = parent.targets if isinstance(parent, ast.Assign) else [parent.target]
            target = targets[0]
            whole = isinstance(target, ast.Name | ast.Attribute) or (
                isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name | ast.Attribute)
            )
            return (parent, target) if whole and len(targets) == 1 else None
        else:
            return None
        assert parent is not None
        current = parent


def _copies_nothing(part: ast.comprehension, made: ast.AST | None) -> bool:
    """``[p for p in model.parameters()]``, ``{k: v.data for k, v in …}``."""
    value = made.value if isinstance(made, ast.DictComp) else made.elt if isinstance(made, ast.ListComp) else None
    while isinstance(value, ast.Attribute) and value.attr == "data":
        value = value.value
    return isinstance(value, ast.Name) and any(isinstance(n, ast.Name) and n.id == value.id for n in walk(part.target))


# -- over which training it is kept ------------------------------------------------------------------------------------


def _in_loop(program: Program, statement: ast.stmt, target: ast.expr, model: ast.expr) -> bool:
    """Kept in one turn of a training loop, when some condition holds, and read after it or in a later turn."""
    reads = _reads(program, target, statement)
    for loop in program.tree.loops(statement):
        if _made_in(program, model, loop):
            return False
        if not trains(program, loop):
            continue
        if _leaves(program, statement, loop):
            return False
        guarded = any(isinstance(a, ast.If) for a in _between(program, statement, loop))
        for read in reads:
            inside = loop in program.tree.ancestors(read)
            if inside and (read.lineno < statement.lineno or _other_branch(program, read, statement)):
                return True
            if not inside and guarded and _is_after(program, read, statement):
                return True
    return False


def _is_after(program: Program, read: ast.expr, statement: ast.stmt) -> bool:
    """Whether a read may come after a statement: further down, in another function, or in a loop around both."""
    if program.tree.function(read) is not program.tree.function(statement) or read.lineno > statement.lineno:
        return True
    loops = set(program.tree.loops(statement))
    return any(loop in loops for loop in program.tree.loops(read))


def _straight(program: Program, statement: ast.stmt, target: ast.expr, model: ast.expr) -> bool:
    """Kept before training and loaded into the same model after it: the load changes nothing."""
    block, index = program.tree.blocks[statement]
    wanted = ast.dump(model)
    for later in block[index + 1 :]:
        if not trains(program, later):
            if isinstance(later, ast.Return | ast.Raise):
                return False
            continue
        for read in _reads(program, target, statement):
            parent = program.tree.parent(read)
            if not isinstance(parent, ast.Call) or not isinstance(parent.func, ast.Attribute):
                continue
            if parent.func.attr != "load_state_dict" or ast.dump(parent.func.value) != wanted:
                continue
            behind = read.lineno > (later.end_lineno or later.lineno)
            around = isinstance(later, LOOPS) and later in program.tree.ancestors(read)
            if (behind or around) and program.tree.function(read) is program.tree.function(statement):
                return True
    return False


def _in_method(program: Program, statement: ast.stmt, target: ast.expr) -> bool:
    """``self.best_state = model.state_dict()`` in a method that is called when a score improves."""
    if not isinstance(target, ast.Attribute) or "best" not in target.attr.lower():
        return False
    function = program.tree.function(statement)
    if function is None or program.tree.class_of(function) is None or getattr(function, "name", "") == "__init__":
        return False
    if not any(isinstance(a, ast.If) for a in _between(program, statement, function)):
        return False
    return any(
        program.tree.function(read) is not function and _is_restored(program, read)
        for read in _reads(program, target, statement)
    )


def _is_restored(program: Program, read: ast.expr) -> bool:
    parent = program.tree.parent(read)
    while isinstance(parent, ast.Dict | ast.Subscript):
        parent = program.tree.parent(parent)
    return isinstance(parent, ast.Call) and isinstance(parent.func, ast.Attribute) and parent.func.attr in _SAVERS


def _compared(program: Program, statement: ast.stmt, target: ast.expr) -> bool:
    """Kept under a name that speaks of an earlier time, and read behind training of the same block."""
    if not isinstance(target, ast.Name):
        return False
    block, index = program.tree.blocks[statement]
    reads = _reads(program, target, statement)
    for later in block[index + 1 :]:
        if trains(program, later):
            end = later.end_lineno or later.lineno
            return any(
                read.lineno > end and program.tree.function(read) is program.tree.function(statement) for read in reads
            )
    return False


def _reads(program: Program, target: ast.expr, statement: ast.stmt) -> list[ast.expr]:
    """Where the kept value may be read; reads of other entries of the dict that holds it left out."""
    keys = _keys(target, statement)
    if isinstance(target, ast.Subscript):
        target = target.value
    found: list[ast.expr] = []
    bound, filled = False, []
    if isinstance(target, ast.Name):
        bound = any(b.statement is statement for b in _all(program, target))
        filled = list(program.scopes.reaching(target))  # ``state["model"] = …`` fills what the name means here
    for node in program.tree.nodes:
        if isinstance(target, ast.Name):
            if isinstance(node, ast.Name) and node.id == target.id and isinstance(node.ctx, ast.Load):
                bindings = program.scopes.reaching(node)
                if any(b.statement is statement if bound else any(b is known for known in filled) for b in bindings):
                    found.append(node)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            if node.attr == getattr(target, "attr", None):
                found.append(node)
    return [
        read
        for read in found
        if program.tree.statement(read) is not statement
        and not _fills(program, read)
        and not (keys and _other_entry(program, read, keys))
    ]


def _fills(program: Program, read: ast.expr) -> bool:
    """``state["model"] = …``: the dict is named there, what it holds is not read."""
    parent = program.tree.parent(read)
    return isinstance(parent, ast.Subscript) and parent.value is read and isinstance(parent.ctx, ast.Store | ast.Del)


def _keys(target: ast.expr, statement: ast.stmt) -> set[object]:
    """The keys under which weights are put into a dict by the statement."""
    value = getattr(statement, "value", None)
    found: set[object] = set()
    if isinstance(target, ast.Subscript):
        found.add(target.slice.value if isinstance(target.slice, ast.Constant) else None)
    elif isinstance(value, ast.Dict):
        for key, held in zip(value.keys, value.values, strict=True):
            if any(isinstance(n, ast.Attribute) and n.attr == "state_dict" for n in walk(held)):
                found.add(key.value if isinstance(key, ast.Constant) else None)
    return found


def _other_entry(program: Program, read: ast.expr, keys: set[object]) -> bool:
    parent = program.tree.parent(read)
    if isinstance(parent, ast.Attribute):
        return True  # a method of the dict
    if not isinstance(parent, ast.Subscript) or parent.value is not read:
        return False
    return not isinstance(parent.slice, ast.Constant) or parent.slice.value not in keys


def _owner(program: Program, name: ast.Name) -> Scope | None:
    return program.scopes.owner(name.id, program.scopes.scope_of(name))


def _all(program: Program, name: ast.Name) -> list[Binding]:
    owner = _owner(program, name)
    return owner.bindings[name.id] if owner is not None else []


def _made_in(program: Program, model: ast.expr, loop: ast.AST) -> bool:
    """Whether each turn of a loop has a model of its own."""
    root = model
    while isinstance(root, ast.Attribute | ast.Subscript):
        root = root.value
    if not isinstance(root, ast.Name):
        return True
    for binding in program.scopes.reaching(root):
        around = binding.statement is not None and loop in (
            binding.statement,
            *program.tree.ancestors(binding.statement),
        )
        if around and binding.kind != "augment":
            return True
    return False


def _leaves(program: Program, statement: ast.stmt, loop: ast.AST) -> bool:
    """Whether the loop ends right behind the statement."""
    current: ast.stmt = statement
    while True:
        block, index = program.tree.blocks[current]
        for later in block[index + 1 :]:
            if terminates(later):
                return not isinstance(later, ast.Continue)
        parent = program.tree.parent(current)
        if parent is loop or not isinstance(parent, ast.stmt) or isinstance(parent, LOOPS):
            return False
        current = parent


def _other_branch(program: Program, read: ast.expr, statement: ast.stmt) -> bool:
    """Whether a read stands in the ``else`` of a condition that has the statement in its body."""
    above = set(program.tree.ancestors(statement))
    child: ast.AST = read
    for ancestor in program.tree.ancestors(read):
        if isinstance(ancestor, ast.If) and ancestor in above:
            return child in ancestor.orelse
        child = ancestor
    return False


def _between(program: Program, node: ast.AST, top: ast.AST) -> Iterator[ast.AST]:
    for ancestor in program.tree.ancestors(node):
        if ancestor is top or isinstance(ancestor, FUNCTIONS):
            return
        yield ancestor
