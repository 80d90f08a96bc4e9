"""Calls that move or convert a tensor, standing as statements of their own."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchlint.semantics.tensors import MAKERS
from torchlint.semantics.tree import FUNCTIONS, walk

if TYPE_CHECKING:
    from torchlint.semantics.program import Program

MOVES = frozenset({"to", "cuda", "cpu", "xpu"})
CONVERSIONS = frozenset({"float", "double", "half", "bfloat16", "long", "int", "detach", "type", "type_as"})
_LOADER = re.compile(r"load|_dl$|_iter$", re.IGNORECASE)
_MEASURE = re.compile(r"loss|criteri|metric|accuracy", re.IGNORECASE)  # without parameters, at home on every device
_TIMED = re.compile(r"time|bench|perf|profil|warm_?up|synchron", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Transfer:
    """``receiver.method(...)`` as a statement; ``moves`` when it goes to another device and changes no number."""

    statement: ast.Expr
    receiver: ast.expr
    method: str
    moves: bool


def discarded(program: Program) -> Iterator[Transfer]:
    """The transfers of a file whose result is thrown away, whatever their receivers are."""
    for call in program.tree.calls:
        statement = program.tree.parent(call)
        if not isinstance(statement, ast.Expr) or not isinstance(call.func, ast.Attribute):
            continue
        method = call.func.attr
        if method not in MOVES | CONVERSIONS or (
            method in ("to", "type", "type_as") and not (call.args or call.keywords)
        ):
            continue
        if not _is_nameless(program, call.func.value) and not _is_on_purpose(program, statement):
            yield Transfer(statement, call.func.value, method, method in MOVES and not _names_dtype(program, call))


def _is_nameless(program: Program, receiver: ast.expr) -> bool:
    """Whether the receiver is changed in place by the statement (``x.zero_().float()``), or is made in it, as
    ``torch.zeros(1).cuda()`` to start CUDA: there is no tensor of which one could say that it stays as it is.
    """
    if not isinstance(receiver, ast.Call):
        return False
    if isinstance(receiver.func, ast.Attribute) and re.search(r"[^_]_$", receiver.func.attr):
        return True
    return program.names.one(receiver.func) in {f"torch.{name}" for name in MAKERS}


def _names_dtype(program: Program, call: ast.Call) -> bool:
    """Whether ``.to(...)`` also converts."""
    if any(k.arg in ("dtype", "memory_format") for k in call.keywords) or len(call.args) > 1:
        return True
    names = [program.names.one(a) or ast.unparse(a) for a in call.args]
    return any(re.search(r"float|half|\bu?int\d|long|double|bool|type|format", name) for name in names)


def _is_on_purpose(program: Program, statement: ast.stmt) -> bool:
    """Whether only the call itself is wanted: it is timed, warms something up, or is expected to raise."""
    block, _ = program.tree.blocks[statement]
    for ancestor in program.tree.ancestors(statement):
        managers = ancestor.items if isinstance(ancestor, ast.With | ast.AsyncWith) else []
        if any("raises" in ast.unparse(item.context_expr).lower() for item in managers):
            return True
        if isinstance(ancestor, ast.Try) and block is ancestor.body and len(block) == 1:
            return True
        if isinstance(ancestor, FUNCTIONS) and (
            _TIMED.search(ancestor.name)
            or any(isinstance(n, ast.Attribute) and _TIMED.search(n.attr) for n in walk(ancestor))
        ):
            return True
    return False


def is_batch_part(program: Program, found: Transfer) -> bool:
    """Whether the receiver is unpacked from the batches of a loader and another part is moved in the same way.

    ``for x, y in loader: x.to(device); y.to(device)``: inputs and targets of a default loader are tensors. A lone part
    may be a batch object of another library, which moves in place.
    """
    name = found.receiver
    if not isinstance(name, ast.Name):
        return False
    bindings = program.scopes.reaching(name)
    if len(bindings) != 1 or bindings[0].kind != "for" or bindings[0].value is None:
        return False
    if not any(isinstance(n, ast.Name | ast.Attribute) and _LOADER.search(_last(n)) for n in walk(bindings[0].value)):
        return False
    together = program.tree.parent(bindings[0].node)
    if not isinstance(together, ast.Tuple | ast.List):
        return False
    parts = {n.id for n in together.elts if isinstance(n, ast.Name)} - {name.id}
    block, _ = program.tree.blocks[found.statement]
    beside = [s.value for s in block if isinstance(s, ast.Expr) and isinstance(s.value, ast.Call)]
    return any(
        isinstance(c.func, ast.Attribute)
        and c.func.attr == found.method
        and isinstance(c.func.value, ast.Name)
        and c.func.value.id in parts
        for c in beside
    )


def _last(node: ast.Name | ast.Attribute) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id


def is_read_later(program: Program, found: Transfer) -> bool:
    """Whether the receiver is read behind the statement, in the same function."""
    around: ast.AST = program.tree.function(found.statement) or program.module
    end = found.statement.end_lineno or found.statement.lineno
    text = ast.unparse(found.receiver)
    return any(
        isinstance(n, ast.Name | ast.Attribute)
        and n.lineno > end
        and ast.unparse(n) == text
        and isinstance(n.ctx, ast.Load)
        for n in walk(around)
    )


def meets_what_stays(program: Program, found: Transfer) -> bool:
    """Whether the receiver is later given to something made in the same function that is never moved itself.

    Such a program runs, because everything is on the CPU: moving the tensor alone would break it.
    """
    around: ast.AST = program.tree.function(found.statement) or program.module
    if not isinstance(found.receiver, ast.Name):
        return False
    nodes = list(walk(around))
    moved = {
        n.func.value.id
        for n in nodes
        if isinstance(n, ast.Call)
        and isinstance(n.func, ast.Attribute)
        and n.func.attr in MOVES
        and isinstance(n.func.value, ast.Name)
    }
    for call in nodes:
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.func.id in moved:
            continue
        given = [a for a in call.args if isinstance(a, ast.Name) and a.id == found.receiver.id]
        if not given or call.lineno <= found.statement.lineno:
            continue
        bindings = program.scopes.reaching(call.func)
        made = [b.value for b in bindings if b.kind == "assign" and isinstance(b.value, ast.Call)]
        if made and len(made) == len(bindings) and not any(_moves(v) or _MEASURE.search(ast.unparse(v)) for v in made):
            return True
    return False


def _moves(made: ast.Call) -> bool:
    """``Net().to(device)`` and ``Net(device=device)``."""
    return any(
        (isinstance(n, ast.Attribute) and n.attr in MOVES)
        or (isinstance(n, ast.keyword) and n.arg == "device")
        or (isinstance(n, ast.Name) and "device" in n.id.lower())
        for n in walk(made)
    )
