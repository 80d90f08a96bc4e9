"""Functions and classes behind expressions, in this file or in another one of the project, and what a class holds."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchlint.semantics.names import UNKNOWN
from torchlint.semantics.project import Definition
from torchlint.semantics.tree import FUNCTIONS, FunctionNode, walk

if TYPE_CHECKING:
    from torchlint.semantics.program import Program


def definition(program: Program, expr: ast.expr, depth: int = 5) -> Definition | None:
    """The one function or class an expression certainly means; None when there are several, or none is in reach."""
    if depth == 0:
        return None
    memo: dict[ast.AST, Definition | None] = program.memo("classes.definition")
    if expr not in memo:
        found = _definition(program, expr, depth)
        if depth < 5:  # what was looked for with less patience is no final answer
            return found
        memo[expr] = found
    return memo[expr]


def _definition(program: Program, expr: ast.expr, depth: int) -> Definition | None:
    if isinstance(expr, ast.Name):
        found: Definition | None = None
        for binding in program.scopes.reaching(expr):
            one: Definition | None = None
            if binding.kind in ("def", "class"):
                assert isinstance(binding.node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
                one = Definition(program, binding.node)
            elif binding.kind == "import" and binding.target is not None:
                one = _imported(program, binding.target)
            elif binding.kind == "assign" and isinstance(binding.value, ast.Name | ast.Attribute):
                one = definition(program, binding.value, depth - 1)
            if one is None or (found is not None and found.node is not one.node):
                return None
            found = one
        if found is None and program.scopes.star_imports and not program.scopes.reaching(expr):
            return _starred(program, expr.id)
        return found
    if isinstance(expr, ast.Attribute):
        dotted = program.names.one(expr)
        if dotted is not None and dotted != UNKNOWN:
            return _imported(program, dotted)
        owner = definition(program, expr.value, depth - 1)
        if owner is not None and isinstance(owner.node, ast.ClassDef):
            return method(owner, expr.attr)
    return None


def _imported(program: Program, dotted: str) -> Definition | None:
    if program.project is None or dotted.startswith(("torch.", "builtins.", "numpy.")):
        return None
    found = program.project.definition(dotted, program.source.path)
    if found is None and "." in dotted.lstrip("."):  # a name of a class that is itself imported: module.Class.method
        head, _, last = dotted.rpartition(".")
        owner = program.project.definition(head, program.source.path) if head.strip(".") else None
        if owner is not None and isinstance(owner.node, ast.ClassDef):
            return method(owner, last)
    return found


def _starred(program: Program, name: str) -> Definition | None:
    for star in reversed(program.scopes.star_imports):
        found = _imported(program, f"{star}.{name}" if star.strip(".") else star + name)
        if found is not None:
            return found
    return None


def bases(owner: Definition) -> Iterator[tuple[str | None, Definition | None]]:
    """For each base class: its dotted name if it is not of this project, and its definition if it is in reach."""
    assert isinstance(owner.node, ast.ClassDef)
    for base in owner.node.bases:
        expr = base.value if isinstance(base, ast.Subscript) else base  # Dataset[Sample]
        found = definition(owner.program, expr)
        if found is not None and isinstance(found.node, ast.ClassDef) and found.node is not owner.node:
            yield None, found
        else:
            yield owner.program.names.one(expr), None


def lineage(owner: Definition, depth: int = 8) -> Iterator[Definition]:
    """The class and its bases in reach, nearest first."""
    yield owner
    if depth:
        for _, base in bases(owner):
            if base is not None:
                yield from lineage(base, depth - 1)


def outside_bases(owner: Definition) -> set[str | None]:
    """Dotted names of all bases that are not in reach; None stands for one without a known name."""
    found: set[str | None] = set()
    for cls in lineage(owner):
        found.update(name for name, inside in bases(cls) if inside is None)
    return found


def is_subclass(owner: Definition, *wanted: str) -> bool | None:
    """Whether a class derives from one of the dotted names; None when a base is unknown and might."""
    names = outside_bases(owner)
    if any(name in wanted for name in names):
        return True
    harmless = {"builtins.object", "abc.ABC", "typing.Generic", "typing.Protocol", "enum.Enum"}
    return None if any(name is None or name not in harmless for name in names) else False


def method(owner: Definition, name: str) -> Definition | None:
    """A method by name, looked up through the bases in reach."""
    for cls in lineage(owner):
        for function in methods(cls):
            if function.name == name:
                return Definition(cls.program, function)
    return None


def methods(owner: Definition) -> Iterator[FunctionNode]:
    """The functions a class body defines (also below ``if`` and ``try``)."""
    pending: list[ast.stmt] = list(owner.node.body)
    while pending:
        statement = pending.pop(0)
        if isinstance(statement, FUNCTIONS):
            yield statement
        elif isinstance(statement, ast.If):
            pending[:0] = [*statement.body, *statement.orelse]
        elif isinstance(statement, ast.Try):
            pending[:0] = [*statement.body, *(s for h in statement.handlers for s in h.body), *statement.orelse]


def self_name(function: FunctionNode) -> str | None:
    """The name of the instance parameter; None for static and class methods."""
    for decorator in function.decorator_list:
        if isinstance(decorator, ast.Name) and decorator.id in ("staticmethod", "classmethod"):
            return None
    arguments = [*function.args.posonlyargs, *function.args.args]
    return arguments[0].arg if arguments else None


def attribute_values(owner: Definition, name: str) -> list[tuple[Program, ast.expr]]:
    """All expressions assigned to ``self.name`` in the methods in reach, or to ``name`` in a class body."""
    found: list[tuple[Program, ast.expr]] = []
    for cls in lineage(owner):
        for attr, value in _assigned(cls):
            if attr == name:
                found.append((cls.program, value))
    return found


def _assigned(cls: Definition) -> list[tuple[str, ast.expr]]:
    cache: dict[ast.AST, list[tuple[str, ast.expr]]] = cls.program.memo("classes.assigned")
    if cls.node in cache:
        return cache[cls.node]
    found: list[tuple[str, ast.expr]] = []
    for statement in cls.node.body:
        if isinstance(statement, ast.Assign):
            found.extend((t.id, statement.value) for t in statement.targets if isinstance(t, ast.Name))
        elif (
            isinstance(statement, ast.AnnAssign)
            and isinstance(statement.target, ast.Name)
            and statement.value is not None
        ):
            found.append((statement.target.id, statement.value))
    for function in methods(cls):
        instance = self_name(function)
        if instance is None:
            continue
        for node in walk(function):
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    found.extend(_attribute_targets(target, node.value, instance))
            elif isinstance(node, ast.AnnAssign) and node.value is not None:
                found.extend(_attribute_targets(node.target, node.value, instance))
            elif isinstance(node, ast.With | ast.AsyncWith):
                for item in node.items:
                    if item.optional_vars is not None:
                        found.extend(_attribute_targets(item.optional_vars, item.context_expr, instance))
    cache[cls.node] = found
    return found


def _attribute_targets(target: ast.expr, value: ast.expr, instance: str) -> Iterator[tuple[str, ast.expr]]:
    if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == instance:
        yield target.attr, value
    elif isinstance(target, ast.Tuple | ast.List):
        same = isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(target.elts)
        for index, element in enumerate(target.elts):
            part = value.elts[index] if same and isinstance(value, ast.Tuple | ast.List) else value
            yield from _attribute_targets(element, part, instance)


def parameters(function: FunctionNode) -> list[str]:
    """Names of the parameters a call can fill by position, in order."""
    return [a.arg for a in (*function.args.posonlyargs, *function.args.args)]


def bind(call: ast.Call, function: FunctionNode, *, bound: bool) -> dict[str, ast.expr] | None:
    """Parameter name → argument expression of a call; ``bound`` when the instance parameter is already filled.

    None when ``*args`` or ``**kwargs`` hide what is passed.
    """
    if any(isinstance(a, ast.Starred) for a in call.args) or any(k.arg is None for k in call.keywords):
        return None
    names = parameters(function)[1 if bound else 0 :]
    filled = dict(zip(names, call.args, strict=False))
    filled.update({k.arg: k.value for k in call.keywords if k.arg is not None})
    return filled


def default_of(function: FunctionNode, name: str) -> ast.expr | None:
    """The default value of a parameter."""
    positional = [*function.args.posonlyargs, *function.args.args]
    for arg, default in zip(reversed(positional), reversed(function.args.defaults), strict=False):
        if arg.arg == name:
            return default
    for arg, keyword_default in zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True):
        if arg.arg == name:
            return keyword_default
    return None
