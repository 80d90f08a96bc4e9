"""Other files that a file works with."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torchlint.semantics.program import Program


def imported_files(program: Program) -> Iterator[str]:
    """The files of the project that a file imports, or imports names from; absolute paths, some perhaps twice."""
    project = program.project
    if project is None:
        return
    dotted: set[str] = set(program.scopes.star_imports)
    for bindings in program.scopes.module.bindings.values():
        for binding in bindings:
            if binding.kind == "import" and binding.target is not None:
                dotted.update((binding.target, binding.target.rpartition(".")[0]))
    for name in sorted(dotted):
        found = project.module_file(name, program.source.path) if name.strip(".") else None
        if found is not None:
            yield os.path.abspath(found)
