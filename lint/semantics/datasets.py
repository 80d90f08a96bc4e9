"""What is known of the dataset a loader gets: the class that makes it, and whether it is in memory."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from torchlint.semantics.classes import (
    attribute_values,
    bind,
    definition,
    is_subclass,
    method,
    self_name,
)
from torchlint.semantics.project import Definition
from torchlint.semantics.tree import FUNCTIONS, walk

if TYPE_CHECKING:
    from torchlint.semantics.program import Program

WRAPPERS = {
    "torch.utils.data.Subset": 0, "torch.utils.data.random_split": 0, "torch.utils.data.ConcatDataset": 0,
    "torch.utils.data.StackDataset": 0,
}  # fmt: skip
_IN_MEMORY = ("torch.utils.data.TensorDataset",)
_ARRAYS = (
    "numpy.array", "numpy.asarray", "numpy.arange", "numpy.zeros", "numpy.ones", "numpy.load", "numpy.loadtxt",
    "numpy.genfromtxt", "numpy.stack", "numpy.concatenate", "numpy.vstack", "numpy.hstack", "numpy.linspace",
)  # fmt: skip
_NO_TENSOR = re.compile(
    r"torch\.(?:load|compile|device|dtype|Generator|Size|is_\w+|get_\w+|set_\w+|\w+_grad\w*|[A-Z]\w*Storage)$"
)
_ARRAY_METHODS = frozenset({
    "float", "long", "double", "half", "int", "to", "type", "clone", "detach", "view", "reshape", "astype", "unsqueeze",
    "squeeze", "permute", "transpose", "flatten", "sum", "mean", "numpy", "cpu", "cuda", "contiguous", "copy",
    "round", "argmax",
})  # fmt: skip
_BUILDERS = frozenset({"list", "tuple", "sorted", "range"})


def in_memory(program: Program, expr: ast.expr, depth: int = 8) -> bool:
    """Whether a dataset visibly is held in memory on every path, so that workers would only copy it about."""
    if depth == 0:
        return False
    if isinstance(expr, ast.List | ast.Tuple | ast.ListComp):
        return True
    if isinstance(expr, ast.IfExp):
        return in_memory(program, expr.body, depth - 1) and in_memory(program, expr.orelse, depth - 1)
    if isinstance(expr, ast.Subscript):
        return in_memory(program, expr.value, depth - 1)
    if isinstance(expr, ast.BinOp) and isinstance(expr.op, ast.Add):
        return in_memory(program, expr.left, depth - 1) and in_memory(program, expr.right, depth - 1)
    if isinstance(expr, ast.BinOp | ast.Compare):
        return True  # arithmetic gives a new array
    if isinstance(expr, ast.Call):
        return _call_in_memory(program, expr, depth)
    if isinstance(expr, ast.Name):
        return _name_in_memory(program, expr, depth)
    if isinstance(expr, ast.Attribute):
        return _attribute_in_memory(program, expr, depth)
    return False


def _call_in_memory(program: Program, call: ast.Call, depth: int) -> bool:
    names = program.names
    if names.matches(call.func, *_IN_MEMORY) or is_builtin(program, call.func, _BUILDERS):
        return True
    dotted = names.one(call.func) or ""
    if _makes_tensor(dotted):
        return True
    if dotted in _ARRAYS or dotted.startswith("numpy.random."):
        return not any(word.arg == "mmap_mode" for word in call.keywords)
    if dotted in WRAPPERS and call.args:
        held = call.args[0]
        parts = held.elts if isinstance(held, ast.List | ast.Tuple) else [held]
        return not isinstance(held, ast.ListComp) and all(in_memory(program, part, depth - 1) for part in parts)
    if isinstance(call.func, ast.Attribute) and call.func.attr in _ARRAY_METHODS:
        return in_memory(program, call.func.value, depth - 1)
    found = definition(program, call.func)
    if found is None:
        return False
    if isinstance(found.node, ast.ClassDef):
        return _class_in_memory(program, call, found, depth)
    returned = [node.value for node in walk(found.node) if isinstance(node, ast.Return) and node.value is not None]
    own = [value for value in returned if found.program.tree.function(value) is found.node]
    return bool(own) and all(
        not isinstance(value, ast.Tuple) and in_memory(found.program, value, depth - 1) for value in own
    )


def is_builtin(program: Program, func: ast.expr, names: frozenset[str]) -> bool:
    """Whether a callee is one of Python's own functions: nothing in the file binds the name."""
    return isinstance(func, ast.Name) and func.id in names and not program.scopes.reaching(func)


def _makes_tensor(dotted: str) -> bool:
    """Whether a function of torch itself gives a tensor."""
    return dotted.startswith("torch.") and dotted.count(".") == 1 and _NO_TENSOR.match(dotted) is None


def _name_in_memory(program: Program, name: ast.Name, depth: int) -> bool:
    bindings = program.scopes.reaching(name)
    if not bindings:
        return False
    for binding in bindings:
        value = binding.value
        if binding.kind == "param":
            if not _parameter_in_memory(program, name.id, binding.node, depth):
                return False
        elif binding.kind not in ("assign", "unpack", "walrus") or value is None:
            return False
        elif binding.kind == "unpack":
            if not _unpacked_in_memory(program, value, binding.index, depth):
                return False
        elif not in_memory(program, value, depth - 1):
            return False
    return True


def _unpacked_in_memory(program: Program, value: ast.expr, index: int | None, depth: int) -> bool:
    """``train, val = random_split(data, …)`` and ``a, b = make()`` with ``return x, y``."""
    if not isinstance(value, ast.Call):
        return False
    if program.names.one(value.func) in WRAPPERS:
        return in_memory(program, value, depth - 1)
    found = definition(program, value.func)
    if found is None or not isinstance(found.node, FUNCTIONS) or index is None:
        return False
    returned = [
        n.value for n in walk(found.node) if isinstance(n, ast.Return) and found.program.tree.function(n) is found.node
    ]
    return bool(returned) and all(
        isinstance(r, ast.Tuple) and index < len(r.elts) and in_memory(found.program, r.elts[index], depth - 1)
        for r in returned
    )


def _parameter_in_memory(program: Program, name: str, arg: ast.AST, depth: int) -> bool:
    """Whether every call of the function in this file passes a dataset in memory."""
    arguments = program.tree.parent(arg)
    function = program.tree.parent(arguments) if arguments is not None else None
    if not isinstance(function, FUNCTIONS):
        return False
    cls = program.tree.class_of(function)
    found = False
    for call in program.tree.calls:
        target = definition(program, call.func)
        if target is None or target.node not in (function, cls if function.name == "__init__" else function):
            continue
        bound = bind(call, function, bound=cls is not None and self_name(function) is not None)
        value = None if bound is None else bound.get(name)
        if value is None or not in_memory(program, value, depth - 1):
            return False
        found = True
    return found


def _attribute_in_memory(program: Program, expr: ast.Attribute, depth: int) -> bool:
    """``self.train_data`` whose every value is in memory."""
    function = program.tree.function(expr)
    cls = program.tree.class_of(function) if isinstance(function, FUNCTIONS) else None
    if cls is None or not isinstance(function, FUNCTIONS) or not isinstance(expr.value, ast.Name):
        return False
    if expr.value.id != self_name(function):
        return False
    values = attribute_values(Definition(program, cls), expr.attr)
    values = [(where, v) for where, v in values if not (isinstance(v, ast.Constant) and v.value is None)]
    return bool(values) and all(_assigned_in_memory(where, value, depth - 1) for where, value in values)


def _assigned_in_memory(program: Program, value: ast.expr, depth: int) -> bool:
    """Like :func:`in_memory` for the right side of an attribute, which may be one of several that an unpacking
    gives.
    """
    return in_memory(program, value, depth)


def _class_in_memory(program: Program, call: ast.Call, owner: Definition, depth: int) -> bool:
    """Whether a dataset class of the project only indexes tensors, arrays or lists that it was visibly given or
    made.
    """
    if outside_data(owner):
        return False
    getter = method(owner, "__getitem__")
    if getter is None or not isinstance(getter.node, FUNCTIONS):
        return False
    instance = self_name(getter.node)
    read: set[str] = set()
    for node in walk(getter.node):
        if isinstance(node, ast.Call) and not _is_cheap(getter.program, node):
            return False
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == instance:
            read.add(node.attr)
    constructor = method(owner, "__init__")
    given = (
        bind(call, constructor.node, bound=True)
        if constructor is not None and isinstance(constructor.node, FUNCTIONS)
        else {}
    )
    return bool(read) and all(_held(program, owner, name, given or {}, depth) for name in read)


def outside_data(owner: Definition) -> bool:
    """Whether a dataset class inherits its reading from a class that is not in reach (torchvision's ImageFolder)."""
    return is_subclass(owner, "torch.utils.data.Dataset") is not True


def _is_cheap(program: Program, call: ast.Call) -> bool:
    dotted = program.names.one(call.func) or ""
    if dotted in ("builtins.len", "builtins.int", "builtins.float", "builtins.slice") or _makes_tensor(dotted):
        return True
    return isinstance(call.func, ast.Attribute) and call.func.attr in (*_ARRAY_METHODS, "item", "size")


def _held(program: Program, owner: Definition, name: str, given: dict[str, ast.expr], depth: int) -> bool:
    """Whether what an attribute holds is in memory: made in the class, or a constructor argument that is."""
    values = [(w, v) for w, v in attribute_values(owner, name) if not (isinstance(v, ast.Constant) and v.value is None)]
    if not values:
        return False
    for where, value in values:
        if isinstance(value, ast.Name) and value.id in given:
            if not in_memory(program, given[value.id], depth - 1):
                return False
        elif not in_memory(where, value, depth - 1) and not isinstance(value, ast.Constant):
            return False
    return True


def dataset_class(program: Program, expr: ast.expr, depth: int = 6) -> tuple[Definition, ast.Call] | None:
    """The class of the project that a dataset expression builds, looked up through wrappers and splits, and the
    call.
    """
    if depth == 0:
        return None
    for value in program.values.alternatives(expr):
        if isinstance(value, ast.Call):
            if program.names.one(value.func) in WRAPPERS and value.args:
                return dataset_class(program, value.args[0], depth - 1)
            found = definition(program, value.func)
            if found is not None and isinstance(found.node, ast.ClassDef):
                return found, value
    if isinstance(expr, ast.Name):
        for binding in program.scopes.reaching(expr):
            if binding.kind == "unpack" and binding.value is not None:
                return dataset_class(program, binding.value, depth - 1)
    return None
