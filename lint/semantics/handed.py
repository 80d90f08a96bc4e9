"""What a network runs without having made it: what its constructor was handed."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from torchlint.semantics import classes, layers
from torchlint.semantics.project import Definition
from torchlint.semantics.torch_layers import UNSEEN
from torchlint.semantics.tree import FUNCTIONS, last_name, walk

if TYPE_CHECKING:
    from torchlint.semantics.program import Program

CONTAINERS = ("torch.nn.Sequential", "torch.nn.ModuleList", "torch.nn.ModuleDict")
_NETWORK = re.compile(
    r"(^|_)(model|net|network|module|backbone|encoder|decoder)s?(_|\d*$)|models?$|net$", re.IGNORECASE
)


def handed(program: Program, call: ast.Call) -> list[ast.expr]:
    """The arguments of a constructor that the new object runs, as far as they may be networks made and switched elsewhere.

    Layers made in the argument itself and functions of torch are none; neither are those of containers of torch, which
    the mode analysis knows one by one.
    """
    target = program.definition(call.func)
    if target is None:
        outside = program.names.one(call.func) or ""
        return [] if outside.startswith("torch.") else [a for a in call.args if _NETWORK.search(last_name(a))]
    constructor = classes.method(target, "__init__") if isinstance(target.node, ast.ClassDef) else None
    if constructor is None or not isinstance(constructor.node, FUNCTIONS):
        return []
    kept = _kept(target, constructor)
    filled = classes.bind(call, constructor.node, bound=True) if kept else None
    if filled is None:
        return []
    return [filled[name] for name in sorted(kept) if name in filled and not _is_plain(program, filled[name])]


def _kept(target: Definition, constructor: Definition) -> set[str]:
    """The parameters of a constructor that become attributes which the class calls."""
    memo: dict[ast.AST, set[str]] = target.program.memo("handed.kept")
    if target.node not in memo:
        assert isinstance(constructor.node, FUNCTIONS)
        parameters, instance = set(classes.parameters(constructor.node)), classes.self_name(constructor.node)
        called = {
            node.func.attr
            for cls in classes.lineage(target)
            for method in classes.methods(cls)
            if method is not constructor.node
            for node in walk(method)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and _is_own(node.func, method)
        }
        memo[target.node] = {
            node.value.id
            for node in walk(constructor.node)
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name) and node.value.id in parameters
            for kept in node.targets
            if isinstance(kept, ast.Attribute) and last_name(kept.value) == instance and kept.attr in called
        }
    return memo[target.node]


def _is_own(func: ast.Attribute, method: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return isinstance(func.value, ast.Name) and func.value.id == classes.self_name(method)


def _is_plain(program: Program, argument: ast.expr) -> bool:
    """Whether an argument brings no mode of its own: a constant, a function of torch, a class, layers made on the spot."""
    if isinstance(argument, ast.Constant | ast.Lambda):
        return True
    if isinstance(argument, ast.Call):
        return layers.of_call(program, argument) is not UNSEEN
    dotted = program.names.one(argument) or ""
    found = program.definition(argument) if isinstance(argument, ast.Name | ast.Attribute) else None
    return dotted.startswith(("torch.", "builtins.")) or (found is not None and isinstance(found.node, ast.ClassDef))
