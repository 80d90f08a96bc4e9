"""The verb that gives a module its one device."""

from __future__ import annotations

import ast

from torchlint.fixers.imports import add_import
from torchlint.fixers.layout import Edits
from torchlint.fixers.statements import insert_after
from torchlint.semantics.tree import Tree
from torchlint.source import Source

DEVICE = 'torch.device("cuda" if torch.cuda.is_available() else "cpu")'


def define_device(source: Source, tree: Tree, use: ast.AST) -> Edits | None:
    """Insert ``device = torch.device(...)`` behind the imports at the top, so that ``use`` can read it.

    Refuses when the file does not import torch itself, or when the use stands above the place. That the name
    ``device`` is free is for the caller to know.
    """
    imported = add_import(source, tree, "import torch")
    if imported is None or imported.edits:
        return None
    last = _last_import(tree.module.body)
    if last is None or tree.statement(use).lineno <= last.lineno:
        return None
    line = "device = " + DEVICE.replace("torch.", imported.name + ".")
    return insert_after(source, tree, last, ["", line])


def _last_import(body: list[ast.stmt]) -> ast.stmt | None:
    """The last statement of the run of imports at the top, ``if`` and ``try`` around imports included."""
    found: ast.stmt | None = None
    for statement in body:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            found = statement
        elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
            continue
        elif isinstance(statement, ast.If | ast.Try) and all(
            isinstance(s, ast.Import | ast.ImportFrom) for s in statement.body
        ):
            found = statement
        elif found is not None:
            break
    return found
