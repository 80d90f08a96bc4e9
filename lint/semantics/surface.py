"""What a module offers to those who import it, read from its top-level statements alone: cheap, so that following a name
through many files costs little.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum

from torchlint.semantics.tree import FUNCTIONS


class Bound(Enum):
    """What binds a name, when it is no import."""

    DEFINITION = "a function or class"
    OTHER = "an assignment"


@dataclass(slots=True)
class Surface:
    """For each top-level name what binds it, in order: a dotted name for imports, else the kind; and star imports.

    It holds no nodes, so that it can be kept when the tree is dropped.
    """

    names: dict[str, list[str | Bound]] = field(default_factory=dict)
    stars: list[str] = field(default_factory=list)

    def definition(self, name: str) -> str | Bound | None:
        """The last import or definition of a name; None when there is none."""
        bound = (b for b in reversed(self.names.get(name, ())) if b is not Bound.OTHER)
        return next(bound, None)


def surface(module: ast.Module) -> Surface:
    """The names bound by the statements of the module, also below ``if``, ``try`` and ``with``."""
    found = Surface()
    for statement in top_level(module):
        _bind(statement, found)
    return found


def defined(module: ast.Module) -> dict[str, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    """The last function or class of each name that the module defines."""
    return {s.name: s for s in top_level(module) if isinstance(s, (*FUNCTIONS, ast.ClassDef))}


def top_level(module: ast.Module) -> Iterator[ast.stmt]:
    """The statements that run when the module is imported, without the bodies of functions and classes."""
    pending = list(reversed(module.body))
    while pending:
        statement = pending.pop()
        yield statement
        inner: list[ast.stmt] = []
        if isinstance(statement, ast.If | ast.Try | ast.With | ast.For | ast.While):
            inner.extend(statement.body)
            inner.extend(getattr(statement, "orelse", []))
            for handler in getattr(statement, "handlers", []):
                inner.extend(handler.body)
            inner.extend(getattr(statement, "finalbody", []))
        pending.extend(reversed(inner))


def _bind(statement: ast.stmt, found: Surface) -> None:
    if isinstance(statement, ast.Import):
        for alias in statement.names:
            first = alias.name.split(".")[0]
            found.names.setdefault(alias.asname or first, []).append(alias.name if alias.asname else first)
    elif isinstance(statement, ast.ImportFrom):
        base = "." * statement.level + (statement.module or "")
        for alias in statement.names:
            if alias.name == "*":
                found.stars.append(base)
            else:
                origin = base + alias.name if base.endswith(".") else f"{base}.{alias.name}"
                found.names.setdefault(alias.asname or alias.name, []).append(origin)
    elif isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        found.names.setdefault(statement.name, []).append(Bound.DEFINITION)
    elif isinstance(statement, ast.Assign | ast.AnnAssign):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        for target in targets:
            elements = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
            for element in elements:
                if isinstance(element, ast.Name):
                    found.names.setdefault(element.id, []).append(Bound.OTHER)
