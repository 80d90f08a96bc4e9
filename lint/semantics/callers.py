"""Where a function is called: in its own file first, in other files of the project when that shows none."""

from __future__ import annotations

import ast
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchlint.semantics.classes import definition, method, self_name
from torchlint.semantics.project import Definition
from torchlint.semantics.tree import FUNCTIONS, FunctionNode, last_name

if TYPE_CHECKING:
    from torchlint.semantics.program import Program
    from torchlint.semantics.project import Project

_MOST_FILES = 40
_MOST_FOLLOWED = 6  # files that are followed as a whole are dear


@dataclass(frozen=True, slots=True, eq=False)
class CallSite:
    """One call of a known function; ``bound`` when the instance parameter is already filled."""

    program: Program
    call: ast.Call
    bound: bool


def call_sites(program: Program, function: FunctionNode) -> list[CallSite]:
    """The visible calls of a function or method.

    Empty when none is seen anywhere, or the name is too common to look for.
    """
    memo: dict[ast.AST, list[CallSite]] = program.memo("callers.sites")
    found = memo.get(function)
    if found is None:
        found = _in_file(program, program, function)
        if not found and program.project is not None:
            for other in _likely_callers(program, program.project, function):
                found.extend(_in_file(other, program, function))
        memo[function] = found
    return found


def _likely_callers(program: Program, project: Project, function: FunctionNode) -> list[Program]:
    """Files that name the function (or its class, for the constructor) and what it has to be imported by."""
    owner = program.tree.class_of(function)
    path = os.path.abspath(program.source.path)
    stem = os.path.splitext(os.path.basename(path))[0]
    names = [owner.name if owner is not None and function.name == "__init__" else function.name]
    names.append(
        owner.name if owner is not None else os.path.basename(os.path.dirname(path)) if stem == "__init__" else stem
    )
    wanted = [name.encode() for name in names]
    likely = [
        file
        for file in project.files()
        if os.path.abspath(file) != path and all(name in (project.raw(file) or b"") for name in wanted)
    ]
    if len(likely) > _MOST_FILES:
        return []
    return [other for file in likely if (other := project.program(file)) is not None]


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
    """The class of the object an expression stands for.

    ``self``, or a name or attribute that is assigned a construction.
    """
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
    """The functions of this file that run when ``function`` does.

    Each comes with the calls written in ``function`` that lead to it.
    """
    found: dict[ast.AST, list[ast.Call]] = {}
    for call, target in _direct(program).get(function, []) if depth else []:
        if target is function:
            continue
        found.setdefault(target, []).append(call)
        for inner in calls_of(program, target, depth - 1):
            found.setdefault(inner, []).append(call)
    return found


def _direct(program: Program) -> dict[ast.AST, list[tuple[ast.Call, ast.AST]]]:
    """For each function (and the module) the calls written in it that run a function of this file."""
    memo: dict[ast.AST, dict[ast.AST, list[tuple[ast.Call, ast.AST]]]] = program.memo("callers.direct")
    if program.module not in memo:
        found: dict[ast.AST, list[tuple[ast.Call, ast.AST]]] = {}
        own = {function.name for function in program.tree.functions}
        for call in program.tree.calls:
            func = call.func
            name = last_name(func)
            if name not in own:
                continue
            target = callee(program, call)
            if target is not None and target.program is program:
                found.setdefault(program.tree.function(call) or program.module, []).append((call, target.node))
        memo[program.module] = found
    return memo[program.module]


def files_calling(program: Program, name: str, wanted: ast.AST) -> list[Program]:
    """Other files of the project with a call that certainly means the function or class ``wanted`` of this one."""
    project = program.project
    if project is None:
        return []
    memo: dict[ast.AST, list[Program]] = program.memo("callers.files")
    if wanted not in memo:
        memo[wanted] = []
        for other in project.mentions(name, program.source.path):
            if any(last_name(call.func) == name and _means_that(other, call.func, wanted) for call in other.tree.calls):
                memo[wanted].append(other)
                if len(memo[wanted]) == _MOST_FOLLOWED:
                    break
    return memo[wanted]


def _means_that(program: Program, func: ast.expr, wanted: ast.AST) -> bool:
    found = program.definition(func)
    return found is not None and found.node is wanted
