"""Writers that a file makes and never closes."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchlint.semantics.tree import FUNCTIONS, LOOPS, FunctionNode, walk

if TYPE_CHECKING:
    from torchlint.semantics.program import Program

_CLASS = "torch.utils.tensorboard.SummaryWriter"  # the one of tensorboardX closes itself when the program ends


@dataclass(frozen=True, slots=True)
class OpenWriter:
    """A writer bound to a local name that nothing in sight closes; ``home`` is the function, None for the module."""

    made: ast.Call
    name: str
    statement: ast.stmt
    home: FunctionNode | None


def open_writers(program: Program) -> Iterator[OpenWriter]:
    """Writers that log under one local name that is never closed, flushed, or handed to code that may do so."""
    for call in program.calls_to(_CLASS):
        statement = program.tree.statement(call)
        if not isinstance(statement, ast.Assign) or statement.value is not call or len(statement.targets) != 1:
            continue
        target = statement.targets[0]
        function = program.tree.function(call)
        if not isinstance(target, ast.Name) or isinstance(function, ast.Lambda):
            continue
        owner = program.scopes.owner(target.id, program.scopes.scope_of(target))
        if (
            owner is None
            or (function is not None and owner.node is not function)  # a global: other files may close it
            or len(owner.bindings[target.id]) != 1
            or any(isinstance(a, LOOPS) for a in _up_to(program, call))
        ):
            continue
        uses = list(_uses(program, target.id, owner.node))
        if any(_logs(program, use) for use in uses) and all(_only_logs(program, use, 2) for use in uses):
            yield OpenWriter(call, target.id, statement, function)


def _up_to(program: Program, node: ast.AST) -> Iterator[ast.AST]:
    for ancestor in program.tree.ancestors(node):
        if isinstance(ancestor, FUNCTIONS):
            return
        yield ancestor


def _uses(program: Program, name: str, scope: ast.AST) -> Iterator[ast.Name]:
    for node in walk(scope):
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load):
            found = program.scopes.owner(name, program.scopes.scope_of(node))
            if found is not None and found.node is scope:
                yield node


def _logs(program: Program, use: ast.Name) -> bool:
    """Whether a use of a writer may write an event: it is more than a test or a look at its folder."""
    parent = program.tree.parent(use)
    return (
        parent.attr.startswith("add_") if isinstance(parent, ast.Attribute) else _argument_of(program, use) is not None
    )


def _argument_of(program: Program, use: ast.Name) -> ast.Call | None:
    """The call that is given a name."""
    parent = program.tree.parent(use)
    if isinstance(parent, ast.keyword):
        parent = program.tree.parent(parent)
    return parent if isinstance(parent, ast.Call) and parent.func is not use else None


def _only_logs(program: Program, use: ast.Name, depth: int) -> bool:
    """Whether a use of a writer leaves it open: a call of an ``add_…`` method, or of a function in reach that only logs."""
    parent = program.tree.parent(use)
    if isinstance(parent, ast.Attribute):
        return parent.attr.startswith("add_") or parent.attr in ("log_dir", "get_logdir")
    call = _argument_of(program, use)
    if call is None or depth == 0:
        return isinstance(parent, ast.Compare | ast.If)
    target = program.definition(call.func)
    if target is None or not isinstance(target.node, ast.FunctionDef):
        return False
    name = _parameter(call, target.node, use)
    if name is None:
        return False
    return all(_only_logs(target.program, inner, depth - 1) for inner in _uses(target.program, name, target.node))


def _parameter(call: ast.Call, function: FunctionNode, use: ast.Name) -> str | None:
    names = [a.arg for a in (*function.args.posonlyargs, *function.args.args)]
    for index, argument in enumerate(call.args):
        if isinstance(argument, ast.Starred):
            return None
        if argument is use:
            return names[index] if index < len(names) else None
    word = next((k.arg for k in call.keywords if k.value is use), None)
    return word if word in {*names, *(a.arg for a in function.args.kwonlyargs)} else None
