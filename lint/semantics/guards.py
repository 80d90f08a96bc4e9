"""What runs when a module is imported: the code that a worker started by spawn or forkserver runs again."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchlint.semantics.callers import call_sites
from torchlint.semantics.classes import definition
from torchlint.semantics.tree import FUNCTIONS, FunctionNode, walk_scope

if TYPE_CHECKING:
    from torchlint.semantics.program import Program


def is_main_guard(test: ast.expr) -> bool:
    """Whether a condition is ``__name__ == "__main__"``, also with more conditions beside it."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        return any(is_main_guard(value) for value in test.values)
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not isinstance(test.ops[0], ast.Eq):
        return False
    sides = (test.left, test.comparators[0])
    named = any(isinstance(side, ast.Name) and side.id == "__name__" for side in sides)
    return named and any(isinstance(side, ast.Constant) and side.value == "__main__" for side in sides)


def under_main_guard(program: Program, node: ast.AST) -> bool:
    """Whether a node stands below ``if __name__ == "__main__"`` (not in its ``else``)."""
    child = node
    for parent in program.tree.ancestors(node):
        if isinstance(parent, ast.If) and is_main_guard(parent.test) and child in parent.body:
            return True
        child = parent
    return False


def runs_on_import(program: Program, node: ast.AST) -> bool:
    """Whether a node runs when the module is imported: at module level, or in a function called from there (in this
    file).
    """
    function = program.tree.function(node)
    if function is None:
        return not under_main_guard(program, node)
    while function is not None:
        if function in called_on_import(program):
            return True
        function = program.tree.function(function)
    return False


def called_on_import(program: Program) -> frozenset[ast.AST]:
    """The functions of the file that unguarded module-level code calls, directly or through each other."""
    memo = program.memo("guards.called")
    if program.module in memo:
        found: frozenset[ast.AST] = memo[program.module]
        return found
    methods: dict[str, list[FunctionNode]] = {}
    for function in program.tree.functions:
        if program.tree.class_of(function) is not None:
            methods.setdefault(function.name, []).append(function)
    pending: list[ast.AST] = [program.module]
    reached: set[ast.AST] = set()
    while pending:
        body = pending.pop()
        for call in _calls(program, body):
            for function in _targets(program, call, methods):
                if function not in reached:
                    reached.add(function)
                    pending.append(function)
    memo[program.module] = frozenset(reached)
    return memo[program.module]  # type: ignore[no-any-return]


def _calls(program: Program, body: ast.AST) -> list[ast.Call]:
    """The calls that run with a module or function body; class bodies run with what is around them."""
    found: list[ast.Call] = []
    pending = [body]
    while pending:
        top = pending.pop()
        for node in walk_scope(top):
            if isinstance(node, ast.ClassDef) and node is not top:
                pending.append(node)
            elif isinstance(node, ast.Call) and not (isinstance(body, ast.Module) and under_main_guard(program, node)):
                found.append(node)
    return found


def _targets(program: Program, call: ast.Call, methods: dict[str, list[FunctionNode]]) -> list[FunctionNode]:
    target = definition(program, call.func)
    if target is not None and target.program is program:
        if isinstance(target.node, FUNCTIONS):
            return [target.node]
        return [m for m in methods.get("__init__", []) if program.tree.class_of(m) is target.node]
    if target is None and isinstance(call.func, ast.Attribute):
        return methods.get(call.func.attr, [])  # whose method it is stays open: the name is enough to be careful
    return []


def iterated_on_import(program: Program, call: ast.Call) -> bool:
    """Whether unguarded module-level code may iterate over what a call builds.

    That is so when the call itself runs on import and its result is used there, or is used in a function called from
    there.
    """
    function = program.tree.function(call)
    if not runs_on_import(program, call):
        return isinstance(function, FUNCTIONS) and _called_by_script(program, function, 4)
    if function is not None:
        return True
    statement = program.tree.statement(call)
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    names = {node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)}
    if not names or not all(isinstance(target, ast.Name | ast.Tuple | ast.List) for target in targets):
        return True
    uses = [n for n in program.tree.nodes if isinstance(n, ast.Name) and n.id in names and isinstance(n.ctx, ast.Load)]
    return any(runs_on_import(program, use) for use in uses)


def _called_by_script(program: Program, function: FunctionNode, depth: int) -> bool:
    """Whether another file of the project calls a function, directly or through others, where it runs on import."""
    for site in call_sites(program, function):
        if site.program is not program and runs_on_import(site.program, site.call):
            return True
        around = site.program.tree.function(site.call)
        if (
            depth
            and isinstance(around, FUNCTIONS)
            and around is not function
            and _called_by_script(site.program, around, depth - 1)
        ):
            return True
    return False
