"""Where a file tests: freshly built networks are run there to compare numbers, in whatever mode they are."""

from __future__ import annotations

import ast
import os
from typing import TYPE_CHECKING

from torchlint.semantics.tree import FUNCTIONS

if TYPE_CHECKING:
    from torchlint.semantics.program import Program


def in_unit_test(program: Program, node: ast.AST) -> bool:
    """Whether a node stands in a test of a test module, or in a function that helps one (``_test_export``)."""
    file = os.path.basename(program.source.path)
    if not (file.startswith("test_") or file.endswith("_test.py") or file == "conftest.py"):
        return False
    return any(
        (isinstance(a, FUNCTIONS) and a.name.lstrip("_").startswith("test"))
        or (isinstance(a, ast.ClassDef) and "Test" in a.name)
        for a in program.tree.ancestors(node)
    )
