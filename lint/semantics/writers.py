"""What a summary writer is, and which of them an expression means.

A writer is known by its construction (``SummaryWriter`` of torch.utils.tensorboard or tensorboardX, a subclass, a
factory that returns one), followed through names, attributes and parameters; or by its use: every call on it is one a
``SummaryWriter`` has, and scalars come with their step. Classes of the project with an ``add_scalar`` of their own may
prefix tags or count steps, so they are no writers here.
"""

from __future__ import annotations

import ast
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchlint.semantics.bindings import Binding
from torchlint.semantics.callers import call_sites, class_of_object
from torchlint.semantics.classes import attribute_values, bind, default_of, definition, is_subclass, method, self_name
from torchlint.semantics.project import Definition
from torchlint.semantics.tags import Hole, Tag, static_tag
from torchlint.semantics.tree import FUNCTIONS, FunctionNode, last_name, walk_scope

if TYPE_CHECKING:
    from torchlint.semantics.program import Program

CLASSES = ("torch.utils.tensorboard.SummaryWriter", "tensorboardX.SummaryWriter")
_METHODS = frozenset({
    "add_scalar", "add_scalars", "add_histogram", "add_histogram_raw", "add_image", "add_images",
    "add_image_with_boxes", "add_figure", "add_video", "add_audio", "add_text", "add_onnx_graph", "add_graph",
    "add_embedding", "add_pr_curve", "add_pr_curve_raw", "add_custom_scalars",
    "add_custom_scalars_multilinechart", "add_custom_scalars_marginchart", "add_mesh", "add_hparams",
    "add_tensor", "flush", "close", "get_logdir", "export_scalars_to_json", "_get_file_writer",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Writer:
    """One writer object: ``origin`` is equal for the same object.

    ``made`` is its construction, ``folder`` where it writes.
    """

    origin: Hashable
    sure: bool
    made: ast.Call | None = None
    folder: Tag | None = None


class _NotOne(Exception):
    """The value is something else, or a writer that adds something of its own."""


def writer_of(program: Program, receiver: ast.expr) -> Writer | None:
    """The writer a method is called on; None when it is none, or nobody can say which."""
    memo: dict[ast.AST, Writer | None] = program.memo("writers.of")
    if receiver not in memo:
        memo[receiver] = None
        try:
            writer = _one(_origins(program, receiver, 6), receiver, program)
        except _NotOne:
            writer = None
        if writer is not None and not writer.sure and not used_like_one(program, receiver):
            writer = None
        memo[receiver] = writer
    return memo[receiver]


def used_like_one(program: Program, receiver: ast.expr) -> bool:
    """Whether every call on such a receiver in the file is one of a ``SummaryWriter``, scalars with their step."""
    wanted = ast.dump(receiver)
    for call in program.tree.calls:
        func = call.func
        if not isinstance(func, ast.Attribute) or ast.dump(func.value) != wanted:
            continue
        if func.attr not in _METHODS:
            return False
        stepped = len(call.args) > 2 or any(k.arg in ("global_step", None) for k in call.keywords)
        if func.attr == "add_scalar" and not stepped and not any(isinstance(a, ast.Starred) for a in call.args):
            return False
    return True


def is_made(program: Program, call: ast.Call) -> bool:
    """Whether a call constructs a writer, itself or through a factory in reach.

    Raises for other classes of the project.
    """
    target = definition(program, call.func)
    if target is None:
        last = last_name(call.func)
        return program.names.matches(call.func, *CLASSES) or last == "SummaryWriter"
    if isinstance(target.node, ast.ClassDef):
        if is_writer_class(target):
            return True
        raise _NotOne
    return _is_factory(target)


def _is_factory(function: Definition) -> bool:
    memo: dict[ast.AST, bool] = function.program.memo("writers.factories")
    if function.node not in memo:
        memo[function.node] = False  # a function that returns its own result
        returned = [n.value for n in walk_scope(function.node) if isinstance(n, ast.Return) and n.value is not None]
        memo[function.node] = bool(returned) and all(_returns_one(function.program, value) for value in returned)
    return memo[function.node]


def is_writer_class(owner: Definition) -> bool:
    """Whether a class derives from ``SummaryWriter`` and leaves its ``add_…`` methods alone."""
    own = any(method(owner, name) is not None for name in ("add_scalar", "add_histogram", "add_image"))
    return not own and is_subclass(owner, *CLASSES) is True


def _returns_one(program: Program, value: ast.expr) -> bool:
    if isinstance(value, ast.Constant) and value.value is None:
        return True
    for found in program.values.alternatives(value):
        if not isinstance(found, ast.expr):
            return False
        if isinstance(found, ast.Constant) and found.value is None:
            continue
        if isinstance(found, ast.Call) and _is_dummy(program, found):
            continue
        if not isinstance(found, ast.Call) or not is_made(program, found):
            return False
    return True


def _origins(program: Program, expr: ast.expr, depth: int) -> list[Writer]:
    """The writers an expression may mean, None values left out. Raises _NotOne."""
    if depth == 0:
        raise _NotOne
    if isinstance(expr, ast.Constant):
        if expr.value is None:
            return []
        raise _NotOne
    if isinstance(expr, ast.Name):
        return _named(program, expr, depth)
    if isinstance(expr, ast.Attribute):
        return _attribute(program, expr, depth)
    if isinstance(expr, ast.IfExp):
        return [*_origins(program, expr.body, depth - 1), *_origins(program, expr.orelse, depth - 1)]
    if isinstance(expr, ast.BoolOp) and isinstance(expr.op, ast.Or):
        return [w for value in expr.values for w in _origins(program, value, depth - 1)]
    if isinstance(expr, ast.Call):
        return [] if _is_dummy(program, expr) else [_constructed(program, expr)]
    if isinstance(expr, ast.Subscript):
        return [Writer(_path(program, expr), False)]
    raise _NotOne


def _is_dummy(program: Program, call: ast.Call) -> bool:
    """Whether a call constructs a stand-in whose ``add_scalar`` does nothing."""
    target = definition(program, call.func)
    if target is None or not isinstance(target.node, ast.ClassDef):
        return False
    found = method(target, "add_scalar")
    return found is not None and all(
        isinstance(s, ast.Pass) or (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))
        for s in found.node.body
    )


def _constructed(program: Program, call: ast.Call) -> Writer:
    if not is_made(program, call):
        return Writer(("value", id(call)), False)
    given = program.values.argument(call, "log_dir", 0)
    if len(given) == 1 and not isinstance(given[0], ast.expr):
        given = program.values.argument(call, "logdir", 0)
    folder = static_tag(program, given[0]) if len(given) == 1 and isinstance(given[0], ast.expr) else None
    return Writer(("made", id(call)), True, call, folder)


def _named(program: Program, name: ast.Name, depth: int) -> list[Writer]:
    bindings = program.scopes.reaching(name)
    if not bindings:
        return [Writer(("global", id(program.module), name.id), False)]
    found: list[Writer] = []
    for binding in bindings:
        if isinstance(binding.value, ast.Subscript):  # one of several, the same wherever this binding is seen
            found.append(Writer(_item(program, binding.value) or ("binding", id(binding)), False))
        elif binding.kind in ("assign", "walrus", "with") and binding.value is not None:
            found.extend(_origins(program, binding.value, depth - 1))
        elif binding.kind == "param":
            found.extend(_parameter(program, binding, depth))
        else:
            found.append(Writer(("binding", id(binding)), False))
    distinct = {w.origin: w for w in found}
    if len(distinct) > 1:  # one of several, but the same one wherever the same bindings are seen
        return [Writer(("either", frozenset(id(b) for b in bindings)), all(w.sure for w in found))]
    return list(distinct.values())


def _parameter(program: Program, binding: Binding, depth: int) -> list[Writer]:
    function = program.tree.parent(program.tree.parents[binding.node])
    assert isinstance(function, (*FUNCTIONS, ast.Lambda))
    own = Writer(("parameter", id(function), binding.name), False)
    if isinstance(function, ast.Lambda):
        return [own]
    cls = program.tree.class_of(function)
    if cls is not None and self_name(function) == binding.name:
        owner = Definition(program, cls)
        if is_writer_class(owner):
            return [Writer(("self", id(cls)), True)]
        raise _NotOne
    found: list[Writer] = []
    for value, home in _passed(program, function, binding.name):
        found.extend(_origins(home, value, depth - 1))
    return _merged(found, own) if found else [own]


def _passed(program: Program, function: FunctionNode, name: str) -> Iterable[tuple[ast.expr, Program]]:
    """The expressions visible callers pass for a parameter, each with the file it stands in."""
    for site in call_sites(program, function):
        given = bind(site.call, function, bound=site.bound)
        if given is None:
            continue
        if name in given:
            yield given[name], site.program
        elif (default := default_of(function, name)) is not None:
            yield default, program


def _attribute(program: Program, expr: ast.Attribute, depth: int) -> list[Writer]:
    owner = _owner(program, expr.value)
    if owner is None:
        return [Writer(_path(program, expr), False)]
    assert isinstance(owner.node, ast.ClassDef)
    own = Writer(("attribute", id(owner.node), expr.attr), False)
    found: list[Writer] = []
    for home, value in attribute_values(owner, expr.attr):
        found.extend(_origins(home, value, depth - 1))
    if isinstance(expr.value, ast.Name) and _is_self(program, expr.value):
        return _merged(found, own) if found else [own]
    return [Writer(_path(program, expr), bool(found) and all(w.sure for w in found))]


def _merged(found: list[Writer], own: Writer) -> list[Writer]:
    """The one writer all values are, else a writer known by the place it is kept in."""
    if len({w.origin for w in found}) == 1:
        return found[:1]
    return [Writer(own.origin, all(w.sure for w in found))]


def _owner(program: Program, expr: ast.expr) -> Definition | None:
    if isinstance(expr, ast.Name):
        return class_of_object(program, expr)
    return None


def _is_self(program: Program, name: ast.Name) -> bool:
    return all(b.kind == "param" for b in program.scopes.reaching(name))


def _path(program: Program, expr: ast.expr) -> Hashable:
    """A key for ``a.b["c"].d`` by the object at its root. Raises _NotOne when a step is computed."""
    steps: list[str] = []
    while isinstance(expr, ast.Attribute | ast.Subscript):
        if isinstance(expr, ast.Attribute):
            steps.append(expr.attr)
        else:
            key = static_tag(program, expr.slice)
            if any(isinstance(part, Hole) for part in key.parts):
                raise _NotOne
            steps.append(f"[{key.text}]")
        expr = expr.value
    if not isinstance(expr, ast.Name):
        raise _NotOne
    return ("path", _root(program, expr, 4), tuple(steps))


def _item(program: Program, expr: ast.Subscript) -> Hashable | None:
    try:
        return _path(program, expr)
    except _NotOne:
        return None


def _root(program: Program, name: ast.Name, depth: int) -> Hashable:
    """A key for the object a name means; a parameter is the object all visible callers pass."""
    owner = class_of_object(program, name) if _is_self(program, name) else None
    if owner is not None:
        return id(owner.node)
    bindings = program.scopes.reaching(name)
    if len(bindings) == 1 and bindings[0].kind == "param" and depth:
        function = program.tree.parent(program.tree.parents[bindings[0].node])
        if isinstance(function, FUNCTIONS):
            passed = list(_passed(program, function, name.id))
            keys = {_root(home, value, depth - 1) for value, home in passed if isinstance(value, ast.Name)}
            if len(keys) == 1 and all(isinstance(value, ast.Name) for value, _ in passed):
                return keys.pop()
    return frozenset(id(b) for b in bindings)


def _one(found: list[Writer], receiver: ast.expr, program: Program) -> Writer | None:
    distinct = {w.origin: w for w in found}
    return next(iter(distinct.values())) if len(distinct) == 1 else None
