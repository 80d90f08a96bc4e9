"""What a tag says: its fixed text and the values it carries, through names, f-strings, ``%``, ``format`` and ``+``.

Two tags are equal when their parts are. A part that cannot be told apart from another evaluation of itself (a call, an
attribute that may have changed) is equal to nothing, so an unknown tag never equals another one.
"""

from __future__ import annotations

import ast
import re
import string
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchlint.semantics.bindings import Binding
from torchlint.semantics.tree import LOOPS
from torchlint.semantics.values import Known

if TYPE_CHECKING:
    from torchlint.semantics.program import Program

_PERCENT = re.compile(r"%(?:%|(?P<spec>[-+ #0]*\d*(?:\.\d+)?[a-zA-Z]))")
_PURE = frozenset(
    {"str", "int", "float", "round", "len", "repr", "range", "enumerate", "zip", "sorted", "list", "reversed"}
)
_PURE_METHODS = frozenset({
    "items", "keys", "values", "named_parameters", "parameters", "named_modules", "named_children",
    "named_buffers", "modules", "children", "split", "replace", "strip", "lower", "upper", "title",
    "capitalize", "rstrip", "lstrip", "join", "removeprefix", "removesuffix", "format", "zfill", "rsplit",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Hole:
    """A part of a tag that is filled at run time; ``key`` is equal for two holes that surely hold the same text."""

    key: Hashable


@dataclass(frozen=True, slots=True)
class Tag:
    """A string as far as the file says it: fixed text and holes in order, neighbouring texts joined."""

    parts: tuple[str | Hole, ...]

    @property
    def constant(self) -> str | None:
        """The text, if nothing in it is filled at run time."""
        if not self.parts:
            return ""
        return self.parts[0] if len(self.parts) == 1 and isinstance(self.parts[0], str) else None

    @property
    def text(self) -> str:
        """The fixed text, holes shown as ``{}``."""
        return "".join(part if isinstance(part, str) else "{}" for part in self.parts)


def static_tag(program: Program, expr: ast.expr) -> Tag:
    """The tag an expression stands for."""
    joined: list[str | Hole] = []
    for part in _parts(program, expr, 8):
        if isinstance(part, str) and joined and isinstance(joined[-1], str):
            joined[-1] += part
        elif part != "":
            joined.append(part)
    return Tag(tuple(joined))


def _parts(program: Program, expr: ast.expr, depth: int) -> Iterator[str | Hole]:
    known = program.values.constant(expr)
    if isinstance(known, Known) and isinstance(known.value, str | int) and not isinstance(known.value, bool):
        yield str(known.value)
    elif depth == 0:
        yield Hole(object())
    elif isinstance(expr, ast.JoinedStr):
        for piece in expr.values:
            yield from _field(program, piece, depth)
    elif isinstance(expr, ast.BinOp) and isinstance(expr.op, ast.Add):
        yield from _parts(program, expr.left, depth - 1)
        yield from _parts(program, expr.right, depth - 1)
    elif isinstance(expr, ast.BinOp) and isinstance(expr.op, ast.Mod):
        yield from _percent(program, expr, depth)
    elif isinstance(expr, ast.Call):
        yield from _call(program, expr, depth)
    elif isinstance(expr, ast.Name) and (value := _temporary(program, expr)) is not None:
        yield from _parts(program, value, depth - 1)
    else:
        yield Hole(identity(program, expr))


def _field(program: Program, value: ast.expr, depth: int) -> Iterator[str | Hole]:
    if not isinstance(value, ast.FormattedValue):
        yield from _parts(program, value, depth - 1)
    elif value.format_spec is None and value.conversion in (-1, 115):
        yield from _parts(program, value.value, depth - 1)
    else:
        yield Hole(("format", ast.dump(value.format_spec) if value.format_spec else "", identity(program, value.value)))


def _percent(program: Program, expr: ast.BinOp, depth: int) -> Iterator[str | Hole]:
    template = program.values.constant(expr.left)
    if not isinstance(template, Known) or not isinstance(template.value, str) or "%(" in template.value:
        yield Hole(object())
        return
    given = iter(expr.right.elts if isinstance(expr.right, ast.Tuple) else [expr.right])
    at = 0
    for match in _PERCENT.finditer(template.value):
        yield template.value[at : match.start()]
        at = match.end()
        if match["spec"] is None:
            yield "%"
            continue
        value = next(given, None)
        if value is None:
            yield Hole(object())
        elif match["spec"] in ("s", "d", "i"):
            yield from _parts(program, value, depth - 1)
        else:
            yield Hole(("format", match["spec"], identity(program, value)))
    yield template.value[at:]


def _call(program: Program, call: ast.Call, depth: int) -> Iterator[str | Hole]:
    func = call.func
    if isinstance(func, ast.Attribute) and func.attr == "format":
        yield from _format(program, call, func.value, depth)
    elif isinstance(func, ast.Attribute) and func.attr == "join" and len(call.args) == 1:
        yield from _joined(program, call, func.value, call.args[0], depth)
    elif program.names.matches(func, "os.path.join", "posixpath.join") and not call.keywords:
        for index, arg in enumerate(call.args):
            if index:
                yield "/"
            yield from _parts(program, arg, depth - 1)
    elif program.names.matches(func, "builtins.str") and len(call.args) == 1 and not call.keywords:
        yield from _parts(program, call.args[0], depth - 1)
    else:
        yield Hole(identity(program, call))


def _format(program: Program, call: ast.Call, template: ast.expr, depth: int) -> Iterator[str | Hole]:
    known = program.values.constant(template)
    hidden = any(isinstance(a, ast.Starred) for a in call.args) or any(k.arg is None for k in call.keywords)
    if not isinstance(known, Known) or not isinstance(known.value, str) or hidden:
        yield Hole(object())
        return
    named = {k.arg: k.value for k in call.keywords}
    count = 0
    try:
        fields = list(string.Formatter().parse(known.value))
    except ValueError:
        yield Hole(object())
        return
    for literal, name, spec, conversion in fields:
        yield literal
        if name is None:
            continue
        if name == "":
            name, count = str(count), count + 1
        value = (call.args[int(name)] if int(name) < len(call.args) else None) if name.isdigit() else named.get(name)
        if value is None:
            yield Hole(object())
        elif not spec and conversion in (None, "s"):
            yield from _parts(program, value, depth - 1)
        else:
            yield Hole(("format", spec, conversion, identity(program, value)))


def _joined(
    program: Program, call: ast.Call, separator: ast.expr, pieces: ast.expr, depth: int
) -> Iterator[str | Hole]:
    if not isinstance(pieces, ast.List | ast.Tuple) or any(isinstance(e, ast.Starred) for e in pieces.elts):
        yield Hole(identity(program, call))
        return
    for index, element in enumerate(pieces.elts):
        if index:
            yield from _parts(program, separator, depth - 1)
        yield from _parts(program, element, depth - 1)


def _temporary(program: Program, name: ast.Name) -> ast.expr | None:
    """The expression behind a name that is assigned in one place of this scope."""
    bindings = program.scopes.reaching(name)
    if len(bindings) != 1 or bindings[0].kind not in ("assign", "walrus"):
        return None
    scope = program.scopes.scope_of(name)
    owner = program.scopes.owner(name.id, scope)
    if owner is not scope and owner is not None and len(owner.bindings[name.id]) > 1:
        return None
    return bindings[0].value


def identity(program: Program, expr: ast.expr) -> Hashable:
    """A key that two expressions share only when they surely have the same value where they stand.

    Else a new object.
    """
    if isinstance(expr, ast.Constant):
        return ("constant", repr(expr.value))
    if isinstance(expr, ast.Name):
        return _name_identity(program, expr)
    if isinstance(expr, ast.Attribute):
        if _assigned(program, expr):
            return object()
        function = program.tree.function(expr)
        return ("attribute", identity(program, expr.value), expr.attr, id(function))
    if isinstance(expr, ast.Subscript):
        return ("item", identity(program, expr.value), identity(program, expr.slice))
    if isinstance(expr, ast.BinOp):
        return (type(expr.op).__name__, identity(program, expr.left), identity(program, expr.right))
    if isinstance(expr, ast.Call) and not expr.keywords:
        func = expr.func
        arguments = tuple(identity(program, a) for a in expr.args)
        if isinstance(func, ast.Name) and func.id in _PURE and not program.scopes.reaching(func):
            return ("call", func.id, arguments)
        if isinstance(func, ast.Attribute) and func.attr in _PURE_METHODS:
            return ("call", func.attr, identity(program, func.value), arguments)
    return object()


def _name_identity(program: Program, name: ast.Name) -> Hashable:
    bindings = program.scopes.reaching(name)
    if not bindings:
        return ("unbound", name.id)
    if all(b.kind in ("import", "def", "class") for b in bindings):
        return ("import", name.id)
    if len(bindings) == 1:
        binding = bindings[0]
        if binding.kind == "for" and binding.value is not None:
            return ("for", name.id, binding.index, identity(program, binding.value), id(program.tree.function(name)))
        if binding.kind == "assign" and isinstance(binding.value, ast.Name):
            return identity(program, binding.value)
        if binding.kind != "del":
            return ("binding", id(binding))
        return object()
    if any(_in_shared_loop(program, b, name) for b in bindings):
        return object()
    scope = program.scopes.scope_of(name)
    if program.scopes.owner(name.id, scope) is not scope:
        return object()
    return ("bindings", frozenset(id(b) for b in bindings))


def _in_shared_loop(program: Program, binding: Binding, use: ast.AST) -> bool:
    if binding.statement is None:
        return False
    loops = set(program.tree.loops(use))
    return any(a in loops for a in program.tree.ancestors(binding.statement) if isinstance(a, LOOPS))


def _assigned(program: Program, attribute: ast.Attribute) -> bool:
    """Whether the function around an attribute gives it a value, so that two reads of it may differ."""
    stored: dict[ast.AST, set[str]] = program.memo("tags.stored")
    function = program.tree.function(attribute) or program.module
    if function not in stored:
        stored[function] = {
            node.attr
            for node in program.tree.within(function, ast.Attribute)
            if isinstance(node.ctx, ast.Store | ast.Del)
        }
    return attribute.attr in stored[function]
