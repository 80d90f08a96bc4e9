"""Calls by what they may call, so that asking for one function does not look up the name behind every call of a file."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchlint.semantics.tree import Tree, last_name

if TYPE_CHECKING:
    from torchlint.semantics.project import Project

_OLDER_NAMES = {"load_state_dict_from_url": "load_url"}  # last parts that differ under an older path


class Callees:
    """An index of the calls of one file by the last part of their callee."""

    def __init__(self, tree: Tree, project: Project | None, path: str) -> None:
        self._project = project
        self._path = path
        self._order = {call: index for index, call in enumerate(tree.calls)}
        self._by_last: dict[str, list[ast.Call]] = {}
        self._other: list[ast.Call] = []  # the callee is no plain name
        for call in tree.calls:
            last = last_name(call.func)
            if last:
                self._by_last.setdefault(last, []).append(call)
            else:
                self._other.append(call)
        self._renamed: set[str] = set()
        self._imported: dict[str, str] = {}
        for node in tree.binders:
            self._note(node)

    def _note(self, node: ast.AST) -> None:
        """Names under which a function may be called that is known by another name elsewhere."""
        if isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                if alias.asname is not None and alias.asname != alias.name:
                    self._renamed.add(alias.asname)
                elif isinstance(node, ast.ImportFrom):
                    self._imported[alias.name] = "." * node.level + (node.module or "")
        elif isinstance(node, ast.Assign):
            self._renamed.update(name.id for t in node.targets for name in ast.walk(t) if isinstance(name, ast.Name))
        elif isinstance(node, ast.AnnAssign | ast.NamedExpr) and isinstance(node.target, ast.Name):
            self._renamed.add(node.target.id)

    def candidates(self, dotted: tuple[str, ...]) -> Iterator[ast.Call]:
        """The calls that may be of one of the dotted names, in source order."""
        lasts = {name.rpartition(".")[2] for name in dotted}
        lasts.update(_OLDER_NAMES[last] for last in lasts & _OLDER_NAMES.keys())
        names = {last for last in self._by_last if last in lasts or last in self._renamed}
        names.update(name for name in self._by_last.keys() & self._imported.keys() if self._may_be(name, lasts))
        found = [call for name in names for call in self._by_last[name]]
        found.extend(self._other)
        return iter(sorted(found, key=self._order.__getitem__))

    def _may_be(self, name: str, lasts: set[str]) -> bool:
        """Whether a project's own module, from which a name comes, mentions what is looked for."""
        module = self._imported[name]
        if self._project is None or module.startswith("torch"):
            return False
        file = self._project.module_file(module, self._path)
        raw = self._project.raw(file) if file is not None else None
        return raw is not None and any(last.encode() in raw for last in lasts)
