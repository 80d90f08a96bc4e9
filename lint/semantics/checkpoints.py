"""Loads of checkpoints: which calls read one, and where their ``map_location`` is."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from torchlint.semantics.loaded import is_load_state_dict, uses_of_result
from torchlint.semantics.tree import FUNCTIONS
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


@dataclass(frozen=True, slots=True)
class Load:
    """A call that reads a checkpoint. ``kind`` is the function's usual name, ``given`` what may arrive as
    ``map_location``.
    """

    call: ast.Call
    kind: str
    given: tuple[Possible, ...]
    through_partial: ast.Call | None = None

    @property
    def position(self) -> int:
        """The place of ``map_location`` among the positional parameters, from 0."""
        return _POSITIONS[self.kind]


def loads(program: Program) -> Iterator[Load]:
    """The loads of the file, also under other names and through ``functools.partial``; none when the file replaces
    torch.load.
    """
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


def restores_random_state(program: Program, load: Load) -> bool:
    """Whether the function around sets the state of a random generator, which ``torch.load`` must leave on the CPU."""
    if "set_rng_state" not in program.source.text:
        return False
    around = program.tree.function(load.call) or program.module
    memo: dict[ast.AST, bool] = program.memo("checkpoints.random")
    if around not in memo:
        memo[around] = any(
            isinstance(call.func, ast.Attribute) and call.func.attr in ("set_rng_state", "set_rng_state_all")
            for call in program.tree.within(around, ast.Call)
        )
    return memo[around]


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
    """The addresses an expression may stand for as far as they are written in the file; of a longer one its
    beginning.
    """
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
    for use in uses_of_result(program, call):
        taker = _taker(program, use)
        if taker is not None:
            yield taker


def _taker(program: Program, node: ast.expr) -> ast.Call | None:
    current: ast.AST = node
    parent = program.tree.parent(node)
    while isinstance(parent, ast.Subscript) and parent.value is current:
        current, parent = parent, program.tree.parent(parent)
    if isinstance(parent, ast.Call) and current in parent.args and is_load_state_dict(parent):
        return parent
    return None


def _accepts(program: Program, call: ast.Call) -> bool:
    """Whether the ``load_state_dict`` meant is the project's own and takes ``map_location``."""
    found = program.definition(call.func)
    if found is None or not isinstance(found.node, FUNCTIONS):
        return False
    arguments = found.node.args
    return arguments.kwarg is not None or any(
        a.arg == "map_location" for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
    )


def weights_only(program: Program, load: Load) -> Possible | None:
    """What a load is given as ``weights_only``: ABSENT when it is surely left out, the one value, else None."""
    values = program.values.argument(load.call, "weights_only")
    if values == (ABSENT,) and load.through_partial is not None:
        values = program.values.argument(load.through_partial, "weights_only")
    return values[0] if len(values) == 1 else None


def unpickles_on_purpose(program: Program) -> bool:
    """Whether the file says that its checkpoints hold more than plain data."""
    for load in loads(program):
        given = weights_only(program, load)
        constant = program.values.constant(given) if isinstance(given, ast.expr) else UNKNOWN
        if isinstance(constant, Known) and constant.value is False:
            return True
        if any(word.arg == "pickle_module" for word in load.call.keywords):
            return True
    text = program.source.text
    return "safe_globals" in text or "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD" in text


def from_outside(program: Program, load: Load) -> bool:
    """Whether the file comes from a download or from the command line, as far as its name shows."""
    file = next(iter(program.values.argument(load.call, "f", 0)))
    if not isinstance(file, ast.expr):
        return False
    for value in program.values.alternatives(file):
        if isinstance(value, ast.Call):
            dotted = program.names.one(value.func) or ""
            if dotted.rpartition(".")[2] in (
                "urlretrieve",
                "urlopen",
                "hf_hub_download",
                "download_url",
                "cached_download",
            ):
                return True
        root = value
        while isinstance(root, ast.Attribute | ast.Subscript):
            root = root.value
        if root is not value and isinstance(root, ast.Name | ast.Call) and _is_command_line(program, root):
            return True
    return False


def _is_command_line(program: Program, root: ast.expr) -> bool:
    """``args`` of ``parser.parse_args()``, ``sys`` of ``sys.argv``."""
    if isinstance(root, ast.Name) and program.names.matches(root, "sys", "sys.argv"):
        return True
    return any(
        isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr == "parse_args"
        for value in program.values.alternatives(root)
    )
