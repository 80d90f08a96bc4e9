"""Saves of checkpoints: which calls write one, directly or through a function in reach, and what is in it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchlint.semantics.classes import bind, method, self_name
from torchlint.semantics.project import Definition
from torchlint.semantics.tree import FUNCTIONS, last_name, walk

if TYPE_CHECKING:
    from torchlint.semantics.program import Program

SAVE = "torch.save"
_WRITERS = (SAVE, "safetensors.torch.save_file", "torch_xla.core.xla_model.save")
_SAVING = re.compile(r"save|checkpoint|ckpt|snapshot", re.I)


@dataclass(frozen=True, slots=True)
class Save:
    """A call that writes ``payload`` to a file; ``through`` is the function of the project that does it, if any."""

    call: ast.Call
    payload: ast.expr
    through: Definition | None = None


def saves(program: Program) -> list[Save]:
    """The saves of a file in source order."""
    memo: dict[ast.AST, list[Save]] = program.memo("saves")
    if program.module not in memo:
        memo[program.module] = list(_saves(program))
    return memo[program.module]


def _saves(program: Program) -> Iterator[Save]:
    for call in program.tree.calls:
        if program.names.matches(call.func, *_WRITERS):
            payload = _given(call, "obj", 0) or _given(call, "tensors", 0)
            if payload is not None:
                yield Save(call, payload)
            continue
        name = last_name(call.func)
        if _SAVING.search(name):
            yield from _through(program, call)


def _given(call: ast.Call, name: str, position: int) -> ast.expr | None:
    found = next((word.value for word in call.keywords if word.arg == name), None)
    if found is None and len(call.args) > position:
        found = call.args[position]
    return None if isinstance(found, ast.Starred) else found


def _through(program: Program, call: ast.Call) -> Iterator[Save]:
    """``save_checkpoint({...}, path)`` where the function hands a parameter to ``torch.save``."""
    function = _function(program, call)
    if function is None or not isinstance(function.node, FUNCTIONS):
        return
    bound = isinstance(call.func, ast.Attribute) and function.program.tree.class_of(function.node) is not None
    filled = bind(call, function.node, bound=bound and self_name(function.node) is not None)
    for name in _saved_parameters(function):
        if filled is not None and name in filled:
            yield Save(call, filled[name], function)


def _function(program: Program, call: ast.Call) -> Definition | None:
    found = program.definition(call.func)
    if found is None and isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name):
        function = program.tree.function(call)
        cls = program.tree.class_of(function) if function is not None else None
        if cls is not None and isinstance(function, FUNCTIONS) and self_name(function) == call.func.value.id:
            return method(Definition(program, cls), call.func.attr)
    return found


def _saved_parameters(function: Definition) -> list[str]:
    assert isinstance(function.node, FUNCTIONS)
    arguments = function.node.args
    parameters = {a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
    found: dict[str, None] = {}
    for node in walk(function.node):
        if isinstance(node, ast.Call) and function.program.names.matches(node.func, *_WRITERS):
            payload = _given(node, "obj", 0)
            if isinstance(payload, ast.Name) and payload.id in parameters:
                found[payload.id] = None
    return list(found)


@dataclass(frozen=True, slots=True)
class Entry:
    """One value in a saved object, and the (innermost) ``key`` under which it is kept, '' at the top.

    ``value`` is where it comes from, ``written`` the expression in the container.
    """

    key: str
    value: ast.expr
    written: ast.expr


def contents(program: Program, payload: ast.expr, key: str = "", depth: int = 5) -> Iterator[Entry]:
    """What a saved object holds as far as the file shows: dicts, lists and names are opened, in every alternative."""
    if depth == 0:
        return
    for value in program.values.alternatives(payload):
        if not isinstance(value, ast.expr):
            yield Entry(key, payload, payload)
        elif isinstance(value, ast.List | ast.Tuple):
            for item in value.elts:
                yield from contents(program, item, key, depth - 1)
        elif is_dict(value):
            facts = program.values.dict_facts(payload if isinstance(payload, ast.Name) else value)
            for name, possible in facts.items.items():
                for one in possible:
                    if isinstance(one, ast.expr):
                        yield from contents(program, one, name, depth - 1)
        else:
            yield Entry(key, value, payload)


def is_open(program: Program, payload: ast.expr) -> bool:
    """Whether a saved object may hold more than :func:`contents` shows."""
    for value in program.values.alternatives(payload):
        if not isinstance(value, ast.expr):
            return True
        if is_dict(value) and program.values.dict_facts(payload if isinstance(payload, ast.Name) else value).open:
            return True
    return False


def is_dict(value: ast.expr) -> bool:
    """Whether an expression is a dict written in the file."""
    if isinstance(value, ast.Dict):
        return True
    return isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "dict"
