"""The verb that makes a name of another module usable."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from torchlint.fixers.layout import Edits
from torchlint.fixers.statements import insert_after, insert_before, is_docstring
from torchlint.semantics.tree import FUNCTIONS, Tree
from torchlint.source import Source


@dataclass(frozen=True, slots=True)
class Import:
    """The edits that bring an import in (none when it is there already) and the name to use for it."""

    edits: Edits
    name: str


def add_import(source: Source, tree: Tree, statement: str, use: ast.AST | None = None) -> Import | None:
    """Make ``"import os"`` (or short ``"os"``) or ``"from copy import deepcopy"`` available at module level.

    An unconditional import that is there counts, also under another name, if it stands before ``use`` or ``use`` is
    in a function. A new one goes behind the docstring and ``from __future__``, into the first group of imports, at
    its sorted place. Refuses when the name means something else anywhere in the file.
    """
    module, member = _parsed(statement)
    wanted = member or module
    for node in _module_imports(tree):
        for alias in node.names:
            if _gives(node, alias, module, member) and _reaches(tree, node, use):
                return Import((), alias.asname or alias.name)
    bound = wanted.partition(".")[0]
    meant = (bound, module, member) if member else (bound, bound, None)
    if any(binding[0] == bound and binding != meant for binding in _bindings(tree)):
        return None
    line = f"from {module} import {member}" if member else f"import {module}"
    edits = _written(source, tree, line, module, bool(member), use)
    return None if edits is None else Import(edits, wanted)


def _parsed(statement: str) -> tuple[str, str | None]:
    words = statement.split()
    if words[0] == "from":
        return words[1], words[3]
    return words[-1], None


def _module_imports(tree: Tree) -> Iterator[ast.Import | ast.ImportFrom]:
    for node in tree.module.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node


def _gives(node: ast.Import | ast.ImportFrom, alias: ast.alias, module: str, member: str | None) -> bool:
    if isinstance(node, ast.Import):
        return member is None and alias.name == module
    return member is not None and node.level == 0 and node.module == module and alias.name == member


def _reaches(tree: Tree, node: ast.stmt, use: ast.AST | None) -> bool:
    if use is None or tree.function(use) is not None:
        return True
    return node.lineno < tree.statement(use).lineno


@lru_cache(maxsize=1)
def _bindings(tree: Tree) -> frozenset[tuple[str, str | None, str | None]]:
    """Every name the file binds in any scope, with the module and member it imports (None, None for other bindings)."""
    found: set[tuple[str, str | None, str | None]] = set()
    for node in tree.nodes:
        if isinstance(node, ast.Name):
            if not isinstance(node.ctx, ast.Load):
                found.add((node.id, None, None))
        elif isinstance(node, ast.arg):
            found.add((node.arg, None, None))
        elif isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            found.add((node.name, None, None))
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar):
            found.add((node.name or "", None, None))
        elif isinstance(node, ast.Import):
            found.update(_import_binding(alias) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            found.update((alias.asname or alias.name, module, alias.name) for alias in node.names)
    return frozenset(found)


def _import_binding(alias: ast.alias) -> tuple[str, str, None]:
    """``import os.path`` binds ``os``, ``import os.path as p`` binds ``p``."""
    if alias.asname:
        return alias.asname, alias.name, None
    top = alias.name.partition(".")[0]
    return top, top, None


def _written(
    source: Source, tree: Tree, line: str, module: str, from_import: bool, use: ast.AST | None
) -> Edits | None:
    body = tree.module.body
    start = 0
    while start < len(body) and (_is_future(body[start]) or (start == 0 and is_docstring(body[start]))):
        start += 1
    if start == len(body):
        return insert_after(source, tree, body[-1], [line]) if body else None
    first = next((at for at in range(start, len(body)) if isinstance(body[at], ast.Import | ast.ImportFrom)), None)
    if first is None or not _reaches(tree, body[first], use):
        return _before_code(source, tree, body, start, line)
    group = _first_group(source, body, first)
    if not any(_is_standard(node) for node in group) and _is_standard_name(module):
        return insert_before(source, tree, body[first], [line, ""])
    return _into_group(source, tree, group, line, module, from_import)


def _before_code(source: Source, tree: Tree, body: list[ast.stmt], start: int, line: str) -> Edits | None:
    """Between docstring or future imports and the first other statement."""
    if start:
        crowded = source.line(_last_row(body[start - 1]) + 1).strip() != ""
        return insert_after(source, tree, body[start - 1], ["", line, ""] if crowded else ["", line])
    return insert_before(source, tree, body[0], [line, ""])


def _first_group(source: Source, body: list[ast.stmt], start: int) -> list[ast.Import | ast.ImportFrom]:
    """The first run of imports that no blank row interrupts."""
    group: list[ast.Import | ast.ImportFrom] = []
    for node in body[start:]:
        if not isinstance(node, ast.Import | ast.ImportFrom):
            break
        if group and any(not source.line(row).strip() for row in range(_last_row(group[-1]) + 1, node.lineno)):
            break
        group.append(node)
    return group


def _into_group(
    source: Source,
    tree: Tree,
    group: list[ast.Import | ast.ImportFrom],
    line: str,
    module: str,
    from_import: bool,
) -> Edits | None:
    key = module.lower()
    alike = [node for node in group if isinstance(node, ast.ImportFrom) == from_import]
    for node in alike:
        if _key(node) > key:
            return insert_before(source, tree, node, [line])
    if alike:
        return insert_after(source, tree, alike[-1], [line])
    if from_import:
        return insert_after(source, tree, group[-1], [line])
    return insert_before(source, tree, group[0], [line])


def _key(node: ast.Import | ast.ImportFrom) -> str:
    if isinstance(node, ast.ImportFrom):
        return "\uffff" if node.level else (node.module or "").lower()  # relative imports come last
    return node.names[0].name.lower()


def _is_standard(node: ast.Import | ast.ImportFrom) -> bool:
    if isinstance(node, ast.ImportFrom):
        return not node.level and _is_standard_name(node.module or "")
    return _is_standard_name(node.names[0].name)


def _is_standard_name(module: str) -> bool:
    return module.partition(".")[0] in sys.stdlib_module_names


def _is_future(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


def _last_row(node: ast.stmt) -> int:
    return node.end_lineno or node.lineno
