"""Which PyTorch a project asks for."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torchlint.semantics.program import Program

_FILES = ("pyproject.toml", "setup.cfg", "setup.py", "requirements.txt")
_FLOOR = re.compile(rb"(?<![\w.-])torch\s*(?:\[[^\]]*\])?\s*(?:>=|==|~=)\s*(\d+)\.(\d+)")


def torch_floor(program: Program) -> tuple[int, int] | None:
    """The oldest PyTorch that the project's own files allow, as (major, minor); None when they do not say."""
    project = program.project
    if project is None:
        return None
    for name in _FILES:
        path = os.path.join(project.root, name)
        found = _FLOOR.search(project.raw(path) or b"")
        if found is not None:
            project.used.add(path)
            return int(found[1]), int(found[2])
    return None
