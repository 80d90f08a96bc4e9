"""Loads of checkpoints: which calls read one, where their ``map_location`` is, and what becomes of what they read."""

from __future__ import annotations

import ast
import enum
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from torchlint.semantics.scopes import Binding
from torchlint.semantics.tree import FUNCTIONS, LOOPS, walk
from torchlint.semantics.values import ABSENT, UNKNOWN, Known, Possible

if TYPE_CHECKING:
    from torchlint.semantics.program import Program

LOAD, JIT_LOAD, HUB_LOAD = "torch.load", "torch.jit.load", "torch.hub.load_state_dict_from_url"
_POSITIONS = {LOAD: 1, JIT_LOAD: 1, HUB_LOAD: 2}
_KEYWORDS = frozenset({
    "f", "map_location", "pickle_module", "weights_only", "mmap", "encoding", "errors", "fix_imports", "buffers",
    "pickle_load_args",
})  # fmt: skip
_PUBLISHERS = ("pytorch.org", "fbaipublicfiles.com")  # their published weights hold CPU tensors
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


@dataclass(frozen=True, slots=True)
class Load:
    """A call that reads a checkpoint. ``kind`` is the function's usual name, ``given`` what may arrive as ``map_location``."""

    call: ast.Call
    kind: str
    given: tuple[Possible, ...]
    through_partial: ast.Call | None = None

    @property
    def position(self) -> int:
        """The place of ``map_location`` among the positional parameters, from 0."""
        return _POSITIONS[self.kind]


def loads(program: Program) -> Iterator[Load]:
    """The loads of the file, also under other names and through ``functools.partial``; none when the file replaces torch.load."""
    if _replaced(program):
        return
    for call in program.tree.calls:
        kind = program.names.one(call.func)
        if kind in _POSITIONS:
            yield Load(call, kind, program.values.argument(call, "map_location", _POSITIONS[kind]))
        elif isinstance(call.func, ast.Name):
            yield from _through_partial(program, call, call.func)


def _replaced(program: Program) -> bool:
    """Whether the file puts something else in the place of ``torch.load``."""
    return any(
        isinstance(node, ast.Attribute)
        and node.attr == "load"
        and isinstance(node.ctx, ast.Store)
        and program.names.one(node) == LOAD
        for node in program.tree.nodes
    )


def _through_partial(program: Program, call: ast.Call, func: ast.Name) -> Iterator[Load]:
    alternatives = program.values.alternatives(func)
    if len(alternatives) != 1:
        return
    (made,) = alternatives
    if not isinstance(made, ast.Call) or not made.args or not program.names.matches(made.func, "functools.partial"):
        return
    kind = program.names.one(made.args[0])
    if kind not in _POSITIONS:
        return
    position = _POSITIONS[kind]
    inside = program.values.argument(made, "map_location", position + 1)
    if inside == (ABSENT,):
        inside = program.values.argument(call, "map_location", position - (len(made.args) - 1))
    yield Load(call, kind, inside, made)


def is_unmapped(program: Program, load: Load) -> bool:
    """Whether ``map_location`` is certainly missing or None."""
    return all(value is ABSENT or _is_none(program, value) for value in load.given)


def _is_none(program: Program, value: Possible) -> bool:
    constant = program.values.constant(value) if isinstance(value, ast.expr) else UNKNOWN
    return isinstance(constant, Known) and constant.value is None


def misspelt(load: Load) -> ast.keyword | None:
    """A keyword that was meant to be ``map_location``: torch.load takes any and fails only while it reads."""
    import difflib

    for keyword in load.call.keywords:
        word = keyword.arg
        if word is None or word in _KEYWORDS or load.kind == HUB_LOAD:
            continue
        if word in ("device", "location", "map") or difflib.SequenceMatcher(None, word, "map_location").ratio() > 0.75:
            return keyword
    return None


def is_round_trip(program: Program, load: Load) -> bool:
    """Whether the load reads back a buffer that the same function has just saved to, so that every device is there."""
    file = next(iter(program.values.argument(load.call, "f", 0)))
    if not isinstance(file, ast.Name):
        return False
    around = program.tree.function(load.call)
    buffers = ("io.BytesIO", "tempfile.TemporaryFile", "tempfile.NamedTemporaryFile", "tempfile.SpooledTemporaryFile")
    made = any(
        isinstance(b.value, ast.Call) and program.names.matches(b.value.func, *buffers)
        for b in program.scopes.reaching(file)
    )
    return made and any(
        isinstance(target, ast.Name) and target.id == file.id and program.tree.function(save) is around
        for save in program.calls_to("torch.save", "torch.jit.save")
        for target in program.values.argument(save, "f", 1)
    )


def is_published(program: Program, load: Load) -> bool:
    """Whether a download comes from a publisher of CPU weights, or from an address the file does not show."""
    address = next(iter(program.values.argument(load.call, "url", 0)))
    if not isinstance(address, ast.expr):
        return True
    hosts = [_host(text) for text in _addresses(program, address)]
    return not hosts or any(host is None or host.endswith(_PUBLISHERS) for host in hosts)


def _host(text: str) -> str | None:
    return urlsplit(text).hostname


def _addresses(program: Program, expr: ast.expr) -> list[str]:
    """The addresses an expression may stand for as far as they are written in the file; of a longer one its beginning."""
    found: list[str] = []
    for value in program.values.alternatives(expr):
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            found.append(value.value)
        elif isinstance(value, ast.JoinedStr) and value.values and isinstance(value.values[0], ast.Constant):
            found.append(str(value.values[0].value))
        elif isinstance(value, ast.BinOp):
            found.extend(_addresses(program, value.left))
        elif isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr == "format":
            found.extend(_addresses(program, value.func.value))
        elif isinstance(value, ast.Subscript):
            found.extend(_table(program, value))
    return found


def _table(program: Program, expr: ast.Subscript) -> list[str]:
    """``URLS[name]``: the addresses in a dict that the file writes out."""
    for value in program.values.alternatives(expr.value):
        if isinstance(value, ast.Dict):
            return [v.value for v in value.values if isinstance(v, ast.Constant) and isinstance(v.value, str)]
    return []


# -- misplaced arguments ---------------------------------------------------------------------------------------------------


def misplaced(program: Program, load: Load) -> tuple[ast.Call, ast.keyword] | None:
    """The ``load_state_dict(..., map_location=…)`` that was given the load's argument by mistake, and that argument."""
    for call in _takers(program, load.call):
        word = next((k for k in call.keywords if k.arg == "map_location"), None)
        if word is not None and not _accepts(program, call):
            return call, word
    return None


def _takers(program: Program, call: ast.Call) -> Iterator[ast.Call]:
    """The ``load_state_dict`` calls that take the loaded object, or the name it is bound to."""
    outer = _taker(program, call)
    if outer is not None:
        yield outer
        return
    for use in _uses_of_name(program, call):
        taker = _taker(program, use)
        if taker is not None:
            yield taker


def _taker(program: Program, node: ast.expr) -> ast.Call | None:
    current: ast.AST = node
    parent = program.tree.parent(node)
    while isinstance(parent, ast.Subscript) and parent.value is current:
        current, parent = parent, program.tree.parent(parent)
    if isinstance(parent, ast.Call) and current in parent.args and _is_load_state_dict(parent):
        return parent
    return None


def _is_load_state_dict(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr == "load_state_dict"


def _accepts(program: Program, call: ast.Call) -> bool:
    """Whether the ``load_state_dict`` meant is the project's own and takes ``map_location``."""
    found = program.definition(call.func)
    if found is None or not isinstance(found.node, FUNCTIONS):
        return False
    arguments = found.node.args
    return arguments.kwarg is not None or any(
        a.arg == "map_location" for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
    )


# -- what becomes of the loaded object -------------------------------------------------------------------------------------


def use_of(program: Program, call: ast.Call) -> Use:
    """Whether the loaded object only reaches ``load_state_dict``, is used directly, or is not seen to the end."""
    return _follow(program, call, 6)


def _follow(program: Program, node: ast.expr, depth: int) -> Use:
    """The use of one occurrence of the value."""
    parent = program.tree.parent(node)
    if depth == 0 or parent is None:
        return Use.UNSEEN
    if isinstance(parent, ast.keyword):
        parent = program.tree.parent(parent)
    if isinstance(parent, ast.Call) and node is not parent.func:
        return _passed(program, parent, node, depth)
    if isinstance(parent, ast.Subscript) and parent.value is node:
        return _indexed(program, parent, parent.slice, depth)
    if isinstance(parent, ast.Attribute):
        return _method(program, parent, depth)
    if isinstance(parent, ast.Assign | ast.AnnAssign | ast.NamedExpr) and parent.value is node:
        return _bound(program, parent, depth)
    if isinstance(parent, ast.Expr | ast.Compare | ast.If | ast.Assert | ast.Delete | ast.FormattedValue):
        return Use.STATE
    if isinstance(parent, (*LOOPS, ast.comprehension)) and getattr(parent, "iter", None) is node:
        return Use.STATE
    if isinstance(parent, ast.IfExp | ast.BoolOp):
        return _follow(program, parent, depth - 1)
    return Use.UNSEEN


def _passed(program: Program, call: ast.Call, node: ast.expr, depth: int) -> Use:
    if _is_load_state_dict(call):
        return Use.STATE
    name = (
        call.func.id
        if isinstance(call.func, ast.Name)
        else call.func.attr
        if isinstance(call.func, ast.Attribute)
        else ""
    )
    if isinstance(call.func, ast.Name) and name in ("dict", "list"):
        return _follow(program, call, depth - 1)
    if name in _HARMLESS_CALLS or name == "OrderedDict":
        return Use.STATE if name != "OrderedDict" else _follow(program, call, depth - 1)
    if isinstance(call.func, ast.Attribute) and name == "update":
        return _rest_of_name(program, call.func.value, depth)
    return Use.UNSEEN


def _indexed(program: Program, node: ast.expr, key: ast.expr, depth: int) -> Use:
    """``saved["model"]``: a plain entry such as the epoch is of no device; others are followed."""
    if isinstance(getattr(node, "ctx", None), ast.Store | ast.Del):
        return Use.STATE
    constant = program.values.constant(key)
    if isinstance(constant, Known) and isinstance(constant.value, str) and _PLAIN_KEYS.match(constant.value):
        return Use.STATE
    found = _follow(program, node, depth - 1)
    return Use.DIRECT if found is Use.UNSEEN and isinstance(constant, Known) else found


def _method(program: Program, attribute: ast.Attribute, depth: int) -> Use:
    call = program.tree.parent(attribute)
    if not isinstance(call, ast.Call) or call.func is not attribute:
        return Use.DIRECT
    if attribute.attr in ("keys", "update"):
        return Use.STATE
    if attribute.attr in ("items", "values"):
        return _iterated(program, call, depth)
    if attribute.attr in ("get", "pop", "setdefault") and call.args:
        return _indexed(program, call, call.args[0], depth)
    if attribute.attr in _READS or attribute.attr in ("float", "eval", "half"):
        return _follow(program, call, depth - 1)
    return Use.DIRECT


def _iterated(program: Program, call: ast.Call, depth: int) -> Use:
    """``for k, v in state.items()``: followed into the dict that the entries are put in."""
    parent = program.tree.parent(call)
    if (
        isinstance(parent, ast.Call)
        and isinstance(parent.func, ast.Name)
        and parent.func.id in ("list", "sorted", "dict")
    ):
        parent, call = program.tree.parent(parent), parent
    if isinstance(parent, ast.comprehension):
        made = program.tree.parent(parent)
        return _follow(program, made, depth - 1) if isinstance(made, ast.DictComp) else Use.UNSEEN
    if isinstance(parent, ast.For):
        return _filled(program, parent, depth)
    return Use.UNSEEN


def _filled(program: Program, loop: ast.For, depth: int) -> Use:
    """What becomes of the dicts a loop fills from the entries of a state."""
    names = {n.id for n in walk(loop.target) if isinstance(n, ast.Name)}
    worst = Use.STATE
    for node in walk(loop):
        if not isinstance(node, ast.Name) or node.id not in names or not isinstance(node.ctx, ast.Load):
            continue
        statement = program.tree.statement(node)
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Subscript):
            target = statement.targets[0].value
            worst = _worse(worst, _rest_of_name(program, target, depth - 1))
    return worst


def _bound(program: Program, assignment: ast.Assign | ast.AnnAssign | ast.NamedExpr, depth: int) -> Use:
    targets = assignment.targets if isinstance(assignment, ast.Assign) else [assignment.target]
    worst = Use.STATE
    for target in targets:
        if isinstance(target, ast.Subscript):
            worst = _worse(worst, _rest_of_name(program, target.value, depth - 1))
            continue
        if not isinstance(target, ast.Name):
            return Use.UNSEEN
        for use in _uses(program, target):
            worst = _worse(worst, _follow(program, use, depth - 1))
    return worst


def _rest_of_name(program: Program, target: ast.expr, depth: int) -> Use:
    """The uses of a dict that was filled."""
    if not isinstance(target, ast.Name) or depth <= 0:
        return Use.UNSEEN
    owner = program.scopes.owner(target.id, program.scopes.scope_of(target))
    if owner is None:
        return Use.UNSEEN
    worst = Use.STATE
    for node in program.tree.nodes:
        if _is_use(program, node, target.id, owner.bindings[target.id]):
            assert isinstance(node, ast.Name)
            parent = program.tree.parent(node)
            if isinstance(parent, ast.Subscript) and isinstance(parent.ctx, ast.Store | ast.Del):
                continue
            if isinstance(parent, ast.Attribute) and parent.attr in ("update", "keys", "items"):
                continue
            worst = _worse(worst, _follow(program, node, depth - 1))
    return worst


def _uses_of_name(program: Program, call: ast.Call) -> list[ast.Name]:
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
    return [n for n in program.tree.nodes if isinstance(n, ast.Name) and _is_use(program, n, target.id, own)]


def _is_use(program: Program, node: ast.AST, name: str, bindings: list[Binding]) -> bool:
    if not isinstance(node, ast.Name) or node.id != name or not isinstance(node.ctx, ast.Load):
        return False
    return any(binding in bindings for binding in program.scopes.reaching(node))


def _worse(one: Use, other: Use) -> Use:
    order = (Use.STATE, Use.UNSEEN, Use.DIRECT)
    return max(one, other, key=order.index)
