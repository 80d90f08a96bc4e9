"""Which PyTorch a project asks for."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torchlint.semantics.program import Program

_FILES = ("pyproject.toml", "setup.cfg", "setup.py", "requirements.txt")
_FLOOR = re.compile(rb"(?<![\w.-])torch\s*(?:\[[^\]]*\])?\s*(?:>=|==|~=)\s*(\d+)\.(\d+)")

_CEILING = re.compile(
    rb"(?<![\w.-])torch\s*(?:\[[^\]]*\])?\s*(?:[><!~]=?\s*[\w.*]+\s*,\s*)?(==|<=|<(?!=))\s*(\d+)\.(\d+)(?:\.(\d+))?"
)


def torch_ceiling(program: Program) -> tuple[int, int] | None:
    """The newest PyTorch that the project's own files allow, as (major, minor); None when they do not say."""
    found = _search(program, _CEILING)
    if found is None:
        return None
    major, minor = int(found[2]), int(found[3])
    return (major, minor - 1) if found[1] == b"<" and not int(found[4] or 0) else (major, minor)


def torch_floor(program: Program) -> tuple[int, int] | None:
    """The oldest PyTorch that the project's own files allow, as (major, minor); None when they do not say."""
    found = _search(program, _FLOOR)
    return None if found is None else (int(found[1]), int(found[2]))


def _search(program: Program, wanted: re.Pattern[bytes]) -> re.Match[bytes] | None:
    project = program.project
    if project is None:
        return None
    for name in _FILES:
        path = os.path.join(project.root, name)
        found = wanted.search(project.raw(path) or b"")
        if found is not None:
            project.used.add(path)
            return found
    return None
