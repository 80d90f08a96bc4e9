"""Saves of whole modules, which keep the class by its name and not its code."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchlint.semantics.classes import attribute_values, definition, self_name
from torchlint.semantics.module_classes import is_module_class
from torchlint.semantics.project import Definition
from torchlint.semantics.pytest_folders import in_test_folder
from torchlint.semantics.saves import SAVE, Save, contents, saves
from torchlint.semantics.tree import FUNCTIONS, walk

if TYPE_CHECKING:
    from torchlint.semantics.program import Program

_SAME = frozenset({"to", "cuda", "cpu", "train", "eval", "half", "float", "double", "requires_grad_"})
_SCRIPTS = ("torch.jit", "torch.export", "torch.fx")
_METHODS = frozenset({"parameters", "named_parameters", "eval", "train", "state_dict", "load_state_dict", "zero_grad"})
_MODEL = re.compile(
    r"(?:^|_)(?:model|net|network|cnn|rnn|gan|classifier|encoder|decoder|generator|discriminator|module)\d*(?:_|$)|net$",
    re.I,
)


def pickled_models(program: Program) -> Iterator[tuple[Save, ast.expr]]:
    """The saves that pickle a module, each with the expression that is one."""
    for save in saves(program):
        if not program.names.matches(save.call.func, SAVE) or in_test_folder(program, save):
            continue
        for entry in contents(program, save.payload):
            if is_module(program, entry.written):
                yield save, entry.written
                break


def is_module(program: Program, expr: ast.expr, depth: int = 6) -> bool:
    """Whether an expression surely is a module: by its class on every path, or by the methods that are called on it."""
    if depth == 0:
        return False
    if isinstance(expr, ast.Call):
        return _is_made(program, expr, depth)
    if isinstance(expr, ast.Attribute):
        return _is_attribute(program, expr, depth)
    if not isinstance(expr, ast.Name):
        return False
    bindings = program.scopes.reaching(expr)
    known = [
        is_module(program, binding.value, depth - 1)
        for binding in bindings
        if binding.kind == "assign" and binding.value is not None
    ]
    if bindings and len(known) == len(bindings) and all(known):
        return True
    if any(b.value is not None and _is_other(program, b.value) for b in bindings):
        return False
    return _MODEL.search(expr.id) is not None and _acts_as_module(program, expr)


def _is_made(program: Program, call: ast.Call, depth: int) -> bool:
    dotted = program.names.one(call.func) or ""
    if dotted.startswith(_SCRIPTS):
        return False
    if dotted.startswith(("torch.nn.", "torchvision.models.")) and not dotted.startswith("torch.nn.functional."):
        return dotted.rpartition(".")[2] not in ("Parameter", "Buffer")
    if dotted in ("copy.deepcopy", "copy.copy", "torch.compile") and call.args:
        return is_module(program, call.args[0], depth - 1)
    if isinstance(call.func, ast.Attribute) and call.func.attr in _SAME:
        return is_module(program, call.func.value, depth - 1)
    found = definition(program, call.func)
    return found is not None and isinstance(found.node, ast.ClassDef) and is_module_class(found) is True


def _is_other(program: Program, value: ast.expr) -> bool:
    """Whether a value surely is no module that is pickled: a state, a script, a constant."""
    if isinstance(value, ast.Constant | ast.Dict | ast.List | ast.Tuple):
        return not (isinstance(value, ast.Constant) and value.value is None)
    if not isinstance(value, ast.Call):
        return False
    dotted = program.names.one(value.func) or ""
    method = value.func.attr if isinstance(value.func, ast.Attribute) else ""
    return (
        dotted.startswith(_SCRIPTS)
        or dotted == "torch.load"
        or method in ("state_dict", "script", "trace", "get", "pop")
    )


def _is_attribute(program: Program, expr: ast.Attribute, depth: int) -> bool:
    function = program.tree.function(expr)
    while function is not None and program.tree.class_of(function) is None:
        function = program.tree.function(function)
    cls = program.tree.class_of(function) if function is not None else None
    if cls is None or not isinstance(function, FUNCTIONS) or not isinstance(expr.value, ast.Name):
        return False
    if self_name(function) != expr.value.id:
        return False
    values = attribute_values(Definition(program, cls), expr.attr)
    if values and all(is_module(where, value, depth - 1) for where, value in values):
        return True
    if any(_is_other(where, value) for where, value in values):
        return False
    return _MODEL.search(expr.attr) is not None and _acts_as_module(program, expr)


def _acts_as_module(program: Program, expr: ast.expr) -> bool:
    """Whether the function or class around calls methods of modules on the same expression."""
    wanted = ast.dump(expr)
    scope: ast.AST | None = program.tree.function(expr)
    if isinstance(expr, ast.Attribute):
        scope = next((a for a in program.tree.ancestors(expr) if isinstance(a, ast.ClassDef)), scope)
    for node in walk(scope if scope is not None else program.module):
        if isinstance(node, ast.Attribute) and node.attr in _METHODS and ast.dump(node.value) == wanted:
            return True
    return False
