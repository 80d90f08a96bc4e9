"""Whether a value may be in a checkpoint that ``torch.load`` opens by default since PyTorch 2.6.

Accepted and refused types are those of ``torch.load(weights_only=True)`` in PyTorch 2.13 and 2.14, tried one by one.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchlint.semantics.callers import call_sites
from torchlint.semantics.classes import attribute_values, bind, definition, is_subclass, self_name
from torchlint.semantics.kinds import Kind
from torchlint.semantics.project import Definition
from torchlint.semantics.tree import FUNCTIONS

if TYPE_CHECKING:
    from torchlint.semantics.program import Program


REFUSED = frozenset(Kind) - {Kind.PLAIN, Kind.UNKNOWN}
_PLAIN_METHODS = frozenset({"state_dict", "item", "tolist", "isoformat", "strftime", "named_parameters"})
_PLAIN_CALLS = (
    "builtins.float", "builtins.int", "builtins.str", "builtins.len", "builtins.bool", "time.time", "random.getstate",
    "time.perf_counter", "os.path.join", "os.path.basename", "os.path.abspath",
)  # fmt: skip
_MADE = {
    "argparse.Namespace": Kind.NAMESPACE, "types.SimpleNamespace": Kind.NAMESPACE, "pathlib.Path": Kind.PATH,
    "pathlib.PosixPath": Kind.PATH, "pathlib.WindowsPath": Kind.PATH, "collections.defaultdict": Kind.MAPPING,
    "collections.deque": Kind.QUEUE, "datetime.datetime.now": Kind.DATE, "datetime.datetime.utcnow": Kind.DATE,
    "datetime.date.today": Kind.DATE, "datetime.datetime.today": Kind.DATE,
}  # fmt: skip
_SCALARS = frozenset({"mean", "std", "var", "median", "max", "min", "sum", "average", "nanmean", "float32",
                      "float64", "int64", "int32", "percentile", "prod"})  # fmt: skip
_ARRAYS = frozenset({"array", "asarray", "zeros", "ones", "arange", "linspace", "concatenate", "stack", "vstack",
                     "hstack", "empty", "full", "eye"})  # fmt: skip
_TENSORS = (
    "torch.tensor", "torch.zeros", "torch.ones", "torch.rand", "torch.randn", "torch.arange", "torch.stack",
    "torch.cat", "torch.get_rng_state", "torch.cuda.get_rng_state_all", "torch.cuda.get_rng_state",
    "torch.empty", "torch.full",
)  # fmt: skip
_ANNOTATIONS = {
    "builtins.int": Kind.PLAIN, "builtins.float": Kind.PLAIN, "builtins.str": Kind.PLAIN, "builtins.bool": Kind.PLAIN,
    "torch.Tensor": Kind.PLAIN, "argparse.Namespace": Kind.NAMESPACE, "pathlib.Path": Kind.PATH,
}  # fmt: skip


def kind_of(program: Program, expr: ast.expr, depth: int = 6) -> Kind:
    """What a value in a saved object is; UNKNOWN as soon as one path does not show it."""
    if depth == 0:
        return Kind.UNKNOWN
    if isinstance(expr, ast.Constant | ast.JoinedStr):
        return Kind.PLAIN
    if isinstance(expr, ast.UnaryOp):
        return kind_of(program, expr.operand, depth - 1)
    if isinstance(expr, ast.BinOp):
        return _arithmetic([kind_of(program, expr.left, depth - 1), kind_of(program, expr.right, depth - 1)])
    if isinstance(expr, ast.IfExp):
        return _agreed([kind_of(program, expr.body, depth - 1), kind_of(program, expr.orelse, depth - 1)])
    if isinstance(expr, ast.List | ast.Tuple | ast.Set):
        parts = [kind_of(program, part, depth - 1) for part in expr.elts]
        return Kind.PLAIN if all(part is Kind.PLAIN for part in parts) else Kind.UNKNOWN
    if isinstance(expr, ast.Call):
        return _call(program, expr, depth)
    if isinstance(expr, ast.Name):
        return _name(program, expr, depth)
    if isinstance(expr, ast.Attribute):
        return _attribute(program, expr, depth)
    return Kind.UNKNOWN


def _agreed(kinds: list[Kind]) -> Kind:
    """The kind that all paths show."""
    return kinds[0] if kinds and all(kind is kinds[0] for kind in kinds) else Kind.UNKNOWN


def _arithmetic(kinds: list[Kind]) -> Kind:
    """Numbers stay plain; one NumPy number makes the result one; a path joined to anything is a path."""
    for kind in (Kind.PATH, Kind.ARRAY, Kind.SCALAR):
        if kind in kinds:
            return kind if Kind.UNKNOWN not in kinds else Kind.UNKNOWN
    return _agreed(kinds)


def _call(program: Program, call: ast.Call, depth: int) -> Kind:
    names = program.names
    dotted = names.one(call.func) or ""
    if dotted in _MADE:
        return _MADE[dotted]
    if dotted in _PLAIN_CALLS or dotted in _TENSORS:
        return Kind.PLAIN
    if dotted in ("copy.deepcopy", "copy.copy") and call.args:
        return kind_of(program, call.args[0], depth - 1)
    head, _, last = dotted.rpartition(".")
    if head == "numpy":
        one = not any(word.arg in ("axis", "keepdims") for word in call.keywords) and len(call.args) == 1
        return Kind.SCALAR if last in _SCALARS and one else Kind.ARRAY if last in _ARRAYS else Kind.UNKNOWN
    if isinstance(call.func, ast.Attribute):
        if call.func.attr in _PLAIN_METHODS:
            return Kind.PLAIN
        if call.func.attr == "parse_args" and _is_parser(program, call.func.value):
            return Kind.NAMESPACE
        if call.func.attr in ("resolve", "absolute", "with_suffix", "joinpath", "expanduser"):
            held = kind_of(program, call.func.value, depth - 1)
            return held if held is Kind.PATH else Kind.UNKNOWN
    return _made_by(program, call)


def _is_parser(program: Program, expr: ast.expr) -> bool:
    return any(
        isinstance(value, ast.Call) and program.names.matches(value.func, "argparse.ArgumentParser")
        for value in program.values.alternatives(expr)
    )


def _made_by(program: Program, call: ast.Call) -> Kind:
    """What a class or a function of the project gives."""
    found = definition(program, call.func)
    if found is None:
        return Kind.UNKNOWN
    if isinstance(found.node, ast.ClassDef):
        return Kind.DATACLASS if _is_dataclass(found) else Kind.UNKNOWN
    returned = [
        node.value
        for node in ast.walk(found.node)
        if isinstance(node, ast.Return) and node.value is not None and found.program.tree.function(node) is found.node
    ]
    kinds = [kind_of(found.program, value, 3) for value in returned]
    agreed = _agreed(kinds)
    return agreed if agreed is Kind.NAMESPACE else Kind.UNKNOWN


def _is_dataclass(owner: Definition) -> bool:
    assert isinstance(owner.node, ast.ClassDef)
    for decorator in owner.node.decorator_list:
        func = decorator.func if isinstance(decorator, ast.Call) else decorator
        if owner.program.names.matches(func, "dataclasses.dataclass"):
            return True
    return False


def _name(program: Program, name: ast.Name, depth: int) -> Kind:
    kinds: list[Kind] = []
    for binding in program.scopes.reaching(name):
        value = binding.value
        if binding.kind in ("assign", "walrus") and value is not None:
            kinds.append(kind_of(program, value, depth - 1))
        elif binding.kind == "param" and isinstance(binding.node, ast.arg):
            kinds.append(_parameter(program, binding.node, depth))
        elif binding.kind == "for" and isinstance(value, ast.Call) and _counts(program, value, binding.index):
            kinds.append(Kind.PLAIN)
        else:
            kinds.append(Kind.UNKNOWN)
    return _agreed(kinds)


def _counts(program: Program, call: ast.Call, index: int | None) -> bool:
    """``for i in range(…)``, ``for i, x in enumerate(…)``."""
    if program.names.matches(call.func, "builtins.range"):
        return index is None
    return program.names.matches(call.func, "builtins.enumerate") and index == 0


def _parameter(program: Program, arg: ast.arg, depth: int) -> Kind:
    if arg.annotation is not None:
        dotted = program.names.one(arg.annotation)
        if dotted in _ANNOTATIONS:
            return _ANNOTATIONS[str(dotted)]
        found = definition(program, arg.annotation)
        if found is not None and isinstance(found.node, ast.ClassDef) and _is_dataclass(found):
            return Kind.DATACLASS
    function = program.tree.parent(program.tree.parents[arg])
    if not isinstance(function, FUNCTIONS):
        return Kind.UNKNOWN
    kinds: list[Kind] = []
    for site in call_sites(program, function):
        filled = bind(site.call, function, bound=site.bound)
        given = filled.get(arg.arg) if filled is not None else None
        kinds.append(kind_of(site.program, given, depth - 2) if given is not None and depth > 2 else Kind.UNKNOWN)
    return _agreed(kinds)


def _attribute(program: Program, expr: ast.Attribute, depth: int) -> Kind:
    if expr.attr == "parent" and kind_of(program, expr.value, depth - 1) is Kind.PATH:
        return Kind.PATH
    owner = definition(program, expr.value) if isinstance(expr.value, ast.Name) else None
    if owner is not None and isinstance(owner.node, ast.ClassDef):
        enums = ("enum.Enum", "enum.IntEnum", "enum.Flag", "enum.StrEnum")
        return Kind.ENUM if is_subclass(owner, *enums) else Kind.UNKNOWN
    function = program.tree.function(expr)
    cls = program.tree.class_of(function) if function is not None else None
    if cls is None or not isinstance(function, FUNCTIONS) or not isinstance(expr.value, ast.Name):
        return Kind.UNKNOWN
    if self_name(function) != expr.value.id:
        return Kind.UNKNOWN
    values = attribute_values(Definition(program, cls), expr.attr)
    return _agreed([kind_of(where, value, depth - 1) for where, value in values])
