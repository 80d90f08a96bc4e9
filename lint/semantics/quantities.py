"""What a logged value is.

``losses.avg``, ``loss.item() / n`` and ``float(loss)`` are the quantity behind the arithmetic.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchlint.semantics.branches import same_names
from torchlint.semantics.tree import children, last_name

if TYPE_CHECKING:
    from torchlint.semantics.program import Program

# What only reads, converts or averages a value.
_NEUTRAL = frozenset({
    "item", "cpu", "detach", "numpy", "mean", "sum", "tolist", "float", "double", "data", "avg", "value", "val",
    "compute", "average", "clone", "squeeze", "cuda", "to", "global_avg", "view", "reshape", "asnumpy",
    "unsqueeze", "flatten", "permute", "transpose", "type", "int", "long", "contiguous",
})  # fmt: skip
_CONVERTERS = frozenset({
    "float", "int", "len", "sum", "round", "mean", "average", "abs", "asarray", "array", "tensor", "as_tensor",
    "to_numpy", "make_grid", "stack", "cat", "from_numpy", "reduce_tensor", "device_get", "nanmean", "list",
})  # fmt: skip
# Words that say when or how a value is taken, not which one it is.
_QUALIFIERS = frozenset({
    "avg", "average", "mean", "total", "sum", "running", "epoch", "batch", "step", "iter", "cur", "current",
    "last", "final", "best", "init", "initial", "first", "accum", "meter", "new", "old", "log", "logging",
    "mini", "smooth", "smoothed", "ema", "now", "this", "per", "overall", "global", "local", "reduced", "item",
    "cum", "cumulative",
})  # fmt: skip
_RATE_WORDS = frozenset({
    "lr", "lrs", "learning", "rate", "get", "last", "scheduler", "lr_scheduler", "sched", "optimizer", "optim", "opt", "param",
    "groups", "group", "current", "cur", "self", "state", "new", "pg",
})  # fmt: skip
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_]+")


def words(text: str) -> list[str]:
    """The lower-case words of an identifier or tag.

    ``trainLoss``, ``train_loss`` and ``Train/Loss`` all give train, loss.
    """
    return [word.lower() for word in _WORD.findall(text)]


def subjects(expr: ast.expr | None) -> tuple[str, ...]:
    """The named values an expression is made from, as dotted texts; empty for constants."""
    return () if expr is None else tuple(dict.fromkeys(_subjects(expr)))


def _subjects(expr: ast.expr) -> Iterator[str]:
    if isinstance(expr, ast.BinOp) and isinstance(expr.op, ast.Pow):
        yield ast.unparse(expr)
    elif isinstance(expr, ast.BinOp):
        yield from _subjects(expr.left)
        if not isinstance(expr.op, ast.Div | ast.FloorDiv | ast.Mod):
            yield from _subjects(expr.right)
    elif isinstance(expr, ast.UnaryOp):
        yield from _subjects(expr.operand)
    elif isinstance(expr, ast.IfExp):
        yield from _subjects(expr.body)
    elif isinstance(expr, ast.Call):
        yield from _called(expr)
    elif not isinstance(expr, ast.Constant):
        path = _path(expr)
        if path:
            yield path
        else:
            for child in children(expr):
                if isinstance(child, ast.expr):
                    yield from _subjects(child)


def _called(call: ast.Call) -> Iterator[str]:
    func = call.func
    if isinstance(func, ast.Attribute) and func.attr in _NEUTRAL and not _is_module(func.value):
        yield from _subjects(func.value)
    elif (last_name(func)) in _CONVERTERS and call.args:
        yield from _subjects(call.args[0])
    else:
        inner = ", ".join(text for arg in call.args for text in _subjects(arg))
        inner += "".join(f", {word.arg}={ast.unparse(word.value)}" for word in call.keywords)
        yield f"{_path(func) or '?'}({inner})"


def _is_module(expr: ast.expr) -> bool:
    return isinstance(expr, ast.Name) and expr.id in ("np", "numpy", "torch", "math", "jnp", "jax", "torchvision", "F")


def _path(expr: ast.expr) -> str:
    if isinstance(expr, ast.Name):
        return expr.id
    if isinstance(expr, ast.Attribute):
        base = _path(expr.value) or ".".join(_subjects(expr.value))
        return base if expr.attr in _NEUTRAL else f"{base}.{expr.attr}"
    if isinstance(expr, ast.Subscript):
        base = _path(expr.value) or ".".join(_subjects(expr.value))
        if not any(isinstance(child, ast.Name) for child in ast.walk(expr.slice)):
            return f"{base}[{ast.unparse(expr.slice)}]"
        inner = ", ".join(_subjects(expr.slice)) if not isinstance(expr.slice, ast.Slice) else ""
        return f"{base}[{inner}]"
    return ""


def same_quantity(program: Program, first: ast.expr | None, second: ast.expr | None) -> bool | None:
    """Whether two values are one quantity; None when nothing names them (constants)."""
    mine, theirs = subjects(first), subjects(second)
    if first is None or second is None or not mine or not theirs:
        return None
    if mine == theirs or subjects(_definition(program, first)) == subjects(_definition(program, second)):
        return True
    if subjects(_definition(program, first)) == theirs or mine == subjects(_definition(program, second)):
        return True
    return all(_is_rate(texts) for texts in (mine, theirs))


def same_value(program: Program, first: ast.expr | None, second: ast.expr | None) -> bool:
    """Whether two expressions are written alike over names that have the same bindings: one value, logged twice."""
    if first is None or second is None or subjects(first) != subjects(second):
        return False
    return same_names(program, first, second) and not _bound_between(program, first, second)


def _bound_between(program: Program, first: ast.expr, second: ast.expr) -> bool:
    """Whether a name of the later expression may get its value behind the earlier one."""
    start, end = sorted((first.lineno, second.lineno))
    later = second if second.lineno == end else first
    return any(
        binding.statement is not None and start < binding.statement.lineno < end
        for name in ast.walk(later)
        if isinstance(name, ast.Name)
        for binding in program.scopes.reaching(name)
    )


def core_words(expr: ast.expr | None) -> frozenset[str]:
    """The words that name a quantity, without those that say when or how it is taken."""
    found = {word for text in subjects(expr) for word in words(text)}
    return frozenset(found - _QUALIFIERS - {"self"} or found)


def is_qualifier(word: str) -> bool:
    """Whether a word says when or how a value is taken, not which one it is."""
    return word in _QUALIFIERS


def source_call(program: Program, expr: ast.expr | None) -> tuple[str, int | None] | None:
    """The function whose result a value is, with the position in the result: ``loss, acc = evaluate(…)``."""
    name = next((n for n in ast.walk(expr) if isinstance(n, ast.Name)), None) if expr is not None else None
    if isinstance(expr, ast.Call) and isinstance(expr.func, ast.Name) and expr.func.id not in _CONVERTERS:
        return expr.func.id, None
    if name is None:
        return None
    bindings = program.scopes.reaching(name)
    if len(bindings) != 1 or bindings[0].kind not in ("assign", "unpack"):
        return None
    value = bindings[0].value
    if not isinstance(value, ast.Call):
        return None
    return ast.unparse(value.func), bindings[0].index


def _definition(program: Program, expr: ast.expr, depth: int = 4) -> ast.expr:
    """The expression behind a temporary that only converts something else."""
    while depth and isinstance(expr, ast.Name):
        bindings = program.scopes.reaching(expr)
        if len(bindings) != 1 or bindings[0].kind != "assign" or bindings[0].value is None:
            break
        if isinstance(bindings[0].value, ast.BinOp):
            break  # a rate or a sum is a quantity of its own
        expr, depth = bindings[0].value, depth - 1
    return expr


def _is_rate(texts: tuple[str, ...]) -> bool:
    """Whether a value is the learning rate, however it is read."""
    found = {word for text in texts for word in words(text)}
    return bool(found & {"lr", "lrs", "rate"}) and found <= _RATE_WORDS
