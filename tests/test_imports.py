"""Imports point one way: source and findings at the bottom, the command line at the top, the trainer beside it."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FOLDERS = {
    "lint": "torchlint",
    "rules": "torchlint.rules",
    "fixers": "torchlint.fixers",
    "runtime": "torchlint.runtime",
}
# From the ground up. A module may import from its own floor and from those below; what is not listed stands on the
# floor named for its package.
FLOORS: tuple[tuple[str, ...], ...] = (
    ("torchlint.findings", "torchlint.source", "torchlint.settings", "torchlint.magics", "torchlint.notebook_json",
     "torchlint.notebook", "torchlint.patterns", "torchlint.writing", "torchlint.diff"),
    ("torchlint.semantics", "torchlint.fixers"),
    ("torchlint.rules",),
    ("torchlint.engine", "torchlint.suppressions", "torchlint.unused_suppression", "torchlint.selection",
     "torchlint.inspection", "torchlint.second_opinion", "torchlint.fixing", "torchlint.silencing"),
    ("torchlint",),
    ("torchlint.server",),
    ("torchlint.commands",),
    ("torchlint.cli", "torchlint.__main__"),
)  # fmt: skip
RUNTIME = "torchlint.runtime"


@dataclass(frozen=True)
class Import:
    module: str  # who imports
    target: str
    row: int
    lazy: bool  # inside a function


def modules() -> Iterator[tuple[str, Path]]:
    for folder, package in FOLDERS.items():
        for path in sorted((ROOT / folder).rglob("*.py")):
            parts = path.relative_to(ROOT / folder).with_suffix("").parts
            yield ".".join([package, *(part for part in parts if part != "__init__")]), path


MODULES = dict(modules())


def imports_of(module: str) -> Iterator[Import]:
    """What a module imports when it runs; what it needs for annotations only does not count."""
    pending: list[tuple[ast.AST, bool]] = [(ast.parse(MODULES[module].read_bytes()), False)]
    while pending:
        node, lazy = pending.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        lazy = lazy or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(module, alias.name, node.lineno, lazy)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{MODULES[module]}:{node.lineno}: imports are absolute"
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield Import(module, inner if inner in MODULES else node.module or "", node.lineno, lazy)
        pending.extend((child, lazy) for child in ast.iter_child_nodes(node))


IMPORTS = [found for module in MODULES for found in imports_of(module)]


def floor(module: str) -> int:
    """The floor of the longest name listed that the module is or lies in."""
    names = [(len(name), level) for level, names in enumerate(FLOORS) for name in names if within(module, name)]
    return max(names)[1]


def within(module: str, package: str) -> bool:
    return module == package or module.startswith(package + ".")


def test_every_import_points_down() -> None:
    wrong = [
        f"{found.module}:{found.row} imports {found.target} from above"
        for found in IMPORTS
        if found.target in MODULES
        and found.target != "torchlint"  # the version
        and not within(found.module, RUNTIME)
        and not within(found.target, RUNTIME)
        and found.module != "torchlint"  # hands out the public functions
        and floor(found.module) < floor(found.target)
    ]
    assert wrong == []


def test_no_import_goes_in_a_circle() -> None:
    """Among imports at the top of modules; those inside functions are there for speed, and point down as well."""
    graph: dict[str, set[str]] = {module: set() for module in MODULES}
    for found in IMPORTS:
        if found.target in MODULES and not found.lazy:
            graph[found.module].add(found.target)
    done: set[str] = set()
    for start in graph:
        path: list[str] = []
        trail = [(start, iter(sorted(graph[start])))]
        path.append(start)
        while trail:
            following = next(trail[-1][1], None)
            if following is None:
                done.add(trail.pop()[0])
                path.pop()
            elif following in path:
                pytest.fail(" -> ".join([*path[path.index(following) :], following]))
            elif following not in done:
                path.append(following)
                trail.append((following, iter(sorted(graph[following]))))


def test_only_the_trainer_imports_torch() -> None:
    heavy = ("torch", "torchvision", "tensorboard", "numpy")
    users = {found.module for found in IMPORTS if found.target.split(".")[0] in heavy}
    assert users
    assert [module for module in sorted(users) if not within(module, RUNTIME)] == []


def test_the_trainer_is_an_island() -> None:
    """It knows nothing of the linter, and nobody imports it but the command that forwards to it, by name."""
    crossing = [
        found
        for found in IMPORTS
        if within(found.target, "torchlint")
        and found.target != "torchlint"
        and within(found.module, RUNTIME) != within(found.target, RUNTIME)
    ]
    assert crossing == []


def test_the_folders_are_no_import_names() -> None:
    roots = set(FOLDERS) | {"tests", "fixtures", "bench"}
    assert [found for found in IMPORTS if found.target.split(".")[0] in roots] == []


def test_importing_the_package_imports_no_torch_and_no_libcst() -> None:
    script = (
        "import sys, torchlint, torchlint.inspection, torchlint.selection\n"
        "torchlint.selection.available_rules()\n"
        "print([name for name in ('torch', 'libcst', 'click', 'pathspec', 'numpy') if name in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert result.stdout == "[]\n"
