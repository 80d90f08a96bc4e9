"""Where a function is called: in its own file first, in other files of the project when that shows none."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchlint.semantics.classes import definition, lineage, method, self_name
from torchlint.semantics.project import Definition
from torchlint.semantics.tree import FUNCTIONS, FunctionNode, walk

if TYPE_CHECKING:
    from torchlint.semantics.program import Program


@dataclass(frozen=True, slots=True, eq=False)
class CallSite:
    """One call of a known function; ``bound`` when the instance parameter is already filled."""

    program: Program
    call: ast.Call
    bound: bool


def call_sites(program: Program, function: FunctionNode) -> list[CallSite]:
    """The visible calls of a function or method; empty when none is seen anywhere."""
    memo: dict[ast.AST, list[CallSite]] = program.memo("callers.sites")
    found = memo.get(function)
    if found is None:
        found = _in_file(program, program, function)
        if not found and program.project is not None:
            for other in program.project.mentions(function.name, program.source.path):
                found.extend(_in_file(other, program, function))
        memo[function] = found
    return found


def _in_file(caller: Program, home: Program, function: FunctionNode) -> list[CallSite]:
    owner = home.tree.class_of(function)
    found: list[CallSite] = []
    for call in caller.tree.calls:
        func = call.func
        name = func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else None
        if owner is not None and function.name == "__init__" and isinstance(func, ast.Name | ast.Attribute):
            target = definition(caller, func)
            if target is not None and target.node is owner:
                found.append(CallSite(caller, call, True))
        if name != function.name:
            continue
        target = callee(caller, call)
        if target is not None and target.node is function:
            found.append(CallSite(caller, call, owner is not None and self_name(function) is not None))
    return found


def callee(program: Program, call: ast.Call) -> Definition | None:
    """The function a call runs: by name, as a method of ``self``, or of an object built from a class in reach."""
    func = call.func
    target = definition(program, func)
    if target is not None:
        return target if isinstance(target.node, FUNCTIONS) else None
    if not isinstance(func, ast.Attribute) or not isinstance(func.value, ast.Name):
        return None
    owner = class_of_object(program, func.value)
    found = method(owner, func.attr) if owner is not None else None
    return found


def class_of_object(program: Program, expr: ast.expr) -> Definition | None:
    """The class of the object an expression stands for: ``self``, or a name or attribute that is assigned a construction."""
    if isinstance(expr, ast.Call):
        target = definition(program, expr.func)
        return target if target is not None and isinstance(target.node, ast.ClassDef) else None
    if not isinstance(expr, ast.Name):
        return None
    bindings = program.scopes.reaching(expr)
    if len(bindings) != 1:
        return None
    binding = bindings[0]
    if binding.kind == "param":
        function = program.tree.parent(program.tree.parents[binding.node])
        if isinstance(function, FUNCTIONS) and self_name(function) == binding.name:
            cls = program.tree.class_of(function)
            return None if cls is None else Definition(program, cls)
        return None
    if binding.kind in ("assign", "with", "walrus") and isinstance(binding.value, ast.Call):
        return class_of_object(program, binding.value)
    return None


def calls_of(program: Program, function: ast.AST, depth: int = 3) -> dict[ast.AST, list[ast.Call]]:
    """The functions of this file that run when ``function`` does, each with the calls written in ``function`` that lead there."""
    found: dict[ast.AST, list[ast.Call]] = {}
    if depth == 0:
        return found
    for node in walk(function):
        if not isinstance(node, ast.Call) or program.tree.function(node) is not (None if isinstance(function, ast.Module) else function):
            continue
        target = callee(program, node)
        if target is None or target.program is not program or target.node is function:
            continue
        found.setdefault(target.node, []).append(node)
        for inner in calls_of(program, target.node, depth - 1):
            found.setdefault(inner, []).append(node)
    return found


def family(owner: Definition) -> set[ast.AST]:
    """The class and its bases in reach."""
    return {cls.node for cls in lineage(owner)}
