"""Saves into the folder that pytest makes for one test: nobody opens the file later."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchlint.semantics.saves import Save
from torchlint.semantics.tree import walk

if TYPE_CHECKING:
    from torchlint.semantics.program import Program

_FIXTURES = frozenset({"tmp_path", "tmpdir", "tmp_path_factory", "tmpdir_factory"})


def in_test_folder(program: Program, save: Save) -> bool:
    """Whether the path of a save begins in a folder that a test was given."""
    return save.through is None and any(
        isinstance(place, ast.expr) and _in_test_folder(program, place, 4)
        for place in program.values.argument(save.call, "f", 1)
    )


def _in_test_folder(program: Program, place: ast.expr, depth: int) -> bool:
    if depth == 0:
        return False
    for name in walk(place):
        if not isinstance(name, ast.Name):
            continue
        for binding in program.scopes.reaching(name):
            if binding.kind == "param" and name.id in _FIXTURES:
                return True
            if binding.kind == "assign" and binding.value is not None:
                if _in_test_folder(program, binding.value, depth - 1):
                    return True
    return False
