"""Calls that move or convert a tensor, standing as statements of their own."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchlint.semantics.tree import FUNCTIONS, walk

if TYPE_CHECKING:
    from torchlint.semantics.program import Program

MOVES = frozenset({"to", "cuda", "cpu", "xpu"})
CONVERSIONS = frozenset({"float", "double", "half", "bfloat16", "long", "int", "detach", "type", "type_as"})
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
        if not _is_on_purpose(program, statement):
            yield Transfer(statement, call.func.value, method, method in MOVES and not _names_dtype(program, call))


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
        if isinstance(ancestor, ast.With | ast.AsyncWith):
            if any("raises" in ast.unparse(i.context_expr).lower() for i in ancestor.items):
                return True
        if isinstance(ancestor, ast.Try) and block is ancestor.body and len(block) == 1:
            return True
        if isinstance(ancestor, FUNCTIONS) and (
            _TIMED.search(ancestor.name)
            or any(isinstance(n, ast.Attribute) and _TIMED.search(n.attr) for n in walk(ancestor))
        ):
            return True
    return False


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
