"""Imports point one way, the linter never needs torch, and nothing is imported under a folder's plain name."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FOLDERS = {
    "lint": "torchlint",
    "rules": "torchlint.rules",
    "fixers": "torchlint.fixers",
    "runtime": "torchlint.runtime",
}

# From the ground up; a module may import from its own floor and those below. The first prefix that fits counts.
FLOORS = [
    ["torchlint.findings", "torchlint.source", "torchlint.settings", "torchlint.magics", "torchlint.notebook"],
    ["torchlint.semantics", "torchlint.fixers"],
    ["torchlint.rules", "torchlint.suppressions"],
    ["torchlint.engine", "torchlint.inspection", "torchlint.selection", "torchlint.unused_suppression"],
    ["torchlint.fixing", "torchlint.second_opinion"],
]
TOP = len(FLOORS)
ISLAND = "torchlint.runtime"
DOORS = ("torchlint.commands.",)  # what starts the reference trainer when it is asked for


def modules() -> Iterator[tuple[str, Path]]:
    for folder, package in FOLDERS.items():
        for path in sorted((ROOT / folder).rglob("*.py")):
            parts = path.relative_to(ROOT / folder).with_suffix("").parts
            yield ".".join([package, *(part for part in parts if part != "__init__")]), path


def imports(path: Path, *, top_level_only: bool = False) -> Iterator[str]:
    """Absolute names a module imports; relative imports come out with their dots."""
    tree = ast.parse(path.read_text("utf-8"))
    for node in tree.body if top_level_only else ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = "." * node.level + (node.module or "")
            yield base
            if base == "torchlint":
                yield from (f"torchlint.{alias.name}" for alias in node.names)


def floor(module: str) -> int:
    for number, prefixes in enumerate(FLOORS):
        if any(module == prefix or module.startswith((f"{prefix}.", f"{prefix}_")) for prefix in prefixes):
            return number
    return TOP


MODULES = dict(modules())
LINTER = {name: path for name, path in MODULES.items() if not name.startswith(ISLAND)}


@pytest.mark.parametrize("name", MODULES)
def test_imports_are_absolute_and_under_the_import_name(name: str) -> None:
    for target in imports(MODULES[name]):
        assert not target.startswith("."), f"{name} imports {target}: say torchlint.…"
        assert target.split(".")[0] not in FOLDERS, f"{name} imports {target}, which is the folder, not the package"


@pytest.mark.parametrize("name", LINTER)
def test_imports_point_downwards(name: str) -> None:
    for target in imports(LINTER[name], top_level_only=True):
        if target.startswith("torchlint."):
            assert floor(target) <= floor(name), (
                f"{name} (floor {floor(name)}) imports {target} (floor {floor(target)})"
            )


@pytest.mark.parametrize("name", LINTER)
def test_the_linter_never_imports_torch_or_the_trainer(name: str) -> None:
    for target in imports(LINTER[name]):
        assert target.split(".")[0] not in {"torch", "torchvision", "tensorboard", "numpy"}, f"{name} imports {target}"
        if target.startswith(ISLAND):
            assert name.startswith(DOORS), f"{name} imports {target}"


@pytest.mark.parametrize("name", sorted(set(MODULES) - set(LINTER)))
def test_the_trainer_never_imports_the_linter(name: str) -> None:
    for target in imports(MODULES[name]):
        assert not target.startswith("torchlint") or target.startswith(ISLAND), f"{name} imports {target}"


@pytest.mark.parametrize("module", ["torchlint", "torchlint.cli", "torchlint.__main__"])
def test_starting_up_is_light(module: str) -> None:
    program = f"import sys, {module}; print(sorted({{n.split('.')[0] for n in sys.modules}} & {{'libcst', 'torch'}}))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]", f"importing {module} brings {done.stdout}"
