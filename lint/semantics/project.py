"""Facts from other files of the project, parsed only when a rule asks."""

from __future__ import annotations

import ast
import hashlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from torchlint.semantics.surface import Surface, surface
from torchlint.semantics.tree import FunctionNode
from torchlint.settings import Settings
from torchlint.source import Source, SourceError, read_source

if TYPE_CHECKING:
    from torchlint.semantics.program import Program

_SKIPPED = frozenset({
    "node_modules", "__pycache__", "site-packages", "venv", ".venv", "build", "dist", "env",
})  # fmt: skip
_MOST_FILES = 4000
NOTHING_ASKED, LIST_ASKED, CONTENT_ASKED = range(3)  # what the answer for one file hung on
_MOST_BYTES = 1_000_000
_STAR_IMPORT = re.compile(rb"\bimport[\s\\]*\*")
_ROOT_MARKS = ("pyproject.toml", ".git", ".hg", "setup.py", "setup.cfg")


@dataclass(frozen=True, slots=True)
class Definition:
    """A function or class and the file it stands in."""

    program: Program
    node: FunctionNode | ast.ClassDef


def project_root(path: str) -> str:
    """The nearest folder above ``path`` that holds a ``pyproject.toml`` or a repository.

    Where there is none it is the current folder, if ``path`` is below it and it is no larger than a project; else the
    file's own folder.
    """
    start = os.path.dirname(os.path.abspath(path))
    folder = start
    while True:
        if any(os.path.exists(os.path.join(folder, mark)) for mark in _ROOT_MARKS):
            return folder
        above = os.path.dirname(folder)
        if above == folder:
            break
        folder = above
    here = os.getcwd()
    below = start == here or start.startswith(os.path.join(here, ""))
    return here if below and _is_searched(here) else start


@lru_cache(maxsize=64)
def _is_searched(root: str) -> bool:
    return python_files(root) is not None


def python_files(root: str) -> tuple[str, ...] | None:
    """The modules below a folder, sorted by folder and name; None when the tree is too large to search."""
    found: list[str] = []
    for number, (folder, folders, names) in enumerate(os.walk(root)):
        folders[:] = sorted(f for f in folders if f not in _SKIPPED and not f.startswith("."))
        found.extend(os.path.join(folder, n) for n in sorted(names) if n.endswith(".py"))
        if len(found) > _MOST_FILES or number > _MOST_FILES:
            return None
    return tuple(found)


class Project:
    """One project: the Python files below its root. Nothing is read before a question needs it."""

    def __init__(self, root: str) -> None:
        self.root = os.path.abspath(root)
        self.used: set[str] = set()
        self.asked = NOTHING_ASKED  # what has been asked for since somebody set this back
        self.others: set[str] = set()  # files read that are not among files()
        self._files: list[str] | None = None
        self._listed: frozenset[str] | None = None
        self._fingerprints: dict[int, str] = {}
        self._raw: dict[str, bytes | None] = {}
        self._starred: dict[str, bool] = {}
        self._programs: dict[str, Program | None] = {}
        self._surfaces: dict[str, Surface | None] = {}
        self._modules: dict[tuple[str, str], str | None] = {}

    # -- files ----------------------------------------------------------------------------------------------------------

    def files(self) -> list[str]:
        """Absolute paths of the modules below the root, sorted; empty when the tree is too large to search."""
        self.asked = max(self.asked, LIST_ASKED)
        if self._files is None:
            self._files = list(python_files(self.root) or ())
        return self._files

    def listed(self) -> frozenset[str]:
        """:meth:`files` as a set."""
        if self._listed is None:
            self._listed = frozenset(self.files())
        return self._listed

    def fingerprint(self, asked: int) -> str:
        """Stands for the list of the project's files, or with :data:`CONTENT_ASKED` for all that is in them."""
        if asked not in self._fingerprints:
            seal = hashlib.blake2b(digest_size=20)
            for path in self.files():
                seal.update(os.fsencode(path) + b"\0")
                if asked == CONTENT_ASKED:
                    seal.update((self.digest(path) or "").encode())
            self._fingerprints[asked] = seal.hexdigest()
        return self._fingerprints[asked]

    def digest(self, path: str) -> str | None:
        """Stands for the bytes of a file as this project sees them; None when it cannot be read."""
        raw = self._read(path)
        return None if raw is None else hashlib.blake2b(raw, digest_size=20).hexdigest()

    def raw(self, path: str) -> bytes | None:
        """The bytes of a file; None when it cannot be read or is too large to be worth it."""
        self.asked = CONTENT_ASKED
        if path not in self._raw and path not in self.listed():
            self.others.add(path)
        return self._read(path)

    def _read(self, path: str) -> bytes | None:
        if path not in self._raw:
            try:
                self._raw[path] = None if os.path.getsize(path) > _MOST_BYTES else _read(path)
            except OSError:
                self._raw[path] = None
        return self._raw[path]

    def program(self, path: str) -> Program | None:
        """The parsed file; None when it is unreadable."""
        path = os.path.abspath(path)
        self.asked = CONTENT_ASKED
        if path not in self._programs:
            from torchlint.semantics.program import Program, parse

            self._programs[path] = None
            self.used.add(path)
            raw = self.raw(path)
            if raw is not None:
                try:
                    source = read_source(path, raw)
                    self._programs[path] = Program(source, parse(source), self)
                except SourceError:
                    pass
        else:
            self._programs[path] = self._programs.pop(path)  # the most recently used stands last
        return self._programs[path]

    def surface(self, path: str) -> Surface | None:
        """What a file offers to importers; kept when its tree is let go. None when it is unreadable."""
        path = os.path.abspath(path)
        self.asked = CONTENT_ASKED
        if path not in self._surfaces:
            program = self.program(path)
            self._surfaces[path] = surface(program.module) if program is not None else None
        return self._surfaces[path]

    def adopt(self, path: str, program: Program) -> None:
        """Use a program that is being checked for questions about its own file, so that there is one tree of it."""
        path = os.path.abspath(path)
        earlier = self._programs.pop(path, None)
        self._programs[path] = program
        if self._raw.get(path) != program.source.raw:
            self._surfaces.pop(path, None)
        if earlier is not None and earlier is not program:
            self._forget_derived()

    def known(self, source: Source, settings: Settings) -> Program | None:
        """The program of a file as it was read for a question, if it is what is to be checked now."""
        found = self._programs.get(os.path.abspath(source.path))
        if found is None or found.source.raw != source.raw or found.settings != settings or source.cells:
            return None
        self.asked = CONTENT_ASKED  # what it has concluded so far may come from other files
        return found

    def _forget_derived(self) -> None:
        """A tree was replaced or dropped: what other programs concluded may point into it, so it is concluded anew.

        Only between two files: during a check nodes are compared by identity.
        """
        for program in self._programs.values():
            if program is not None:
                program.forget_derived()

    def trim(self, most_bytes: int) -> None:
        """Let go of the least recently used programs, so that memory does not grow with the number of files.

        Only between two files: during a check nodes are compared by identity, so there must be one tree of each file.
        """
        kept, dropped = 0, False
        for path, program in reversed(list(self._programs.items())):
            if program is not None:
                kept += len(program.source.raw)
                if kept > most_bytes:
                    del self._programs[path]
                    program.release()
                    dropped = True
        if dropped:
            self._forget_derived()

    def forget(self, path: str) -> None:
        """A file was written: read it again when it is asked for."""
        self._fingerprints.clear()
        path = os.path.abspath(path)
        if self._programs.pop(path, None) is not None:
            self._forget_derived()
        self._raw.pop(path, None)
        self._surfaces.pop(path, None)
        self._starred.pop(path, None)

    def module_file(self, dotted: str, path: str) -> str | None:
        """The file of a module as imported from ``path``: relative, below the root, or below a folder on the way up to it."""
        self.asked = max(self.asked, LIST_ASKED)
        key = (dotted, os.path.dirname(path))
        if key not in self._modules:
            self._modules[key] = self._find_module(dotted, path)
        return self._modules[key]

    def _find_module(self, dotted: str, path: str) -> str | None:
        level = len(dotted) - len(dotted.lstrip("."))
        parts = [part for part in dotted[level:].split(".") if part]
        folder = os.path.dirname(os.path.abspath(path))
        if level:
            for _ in range(level - 1):
                folder = os.path.dirname(folder)
            return _module_in(folder, parts)
        while True:
            found = _module_in(folder, parts)
            if found is not None:
                return found
            if folder == self.root or len(folder) <= len(self.root):
                break
            folder = os.path.dirname(folder)
        return _module_in(os.path.join(self.root, "src"), parts)

    # -- definitions ----------------------------------------------------------------------------------------------------

    def definition(self, dotted: str, path: str, depth: int = 5) -> Definition | None:
        """The function or class a dotted name means when imported in ``path``, followed through re-exports."""
        if depth == 0:
            return None
        module, _, name = dotted.rpartition(".")
        if not name:
            return None
        level = len(dotted) - len(dotted.lstrip("."))
        if not module.strip("."):
            module = "." * level
        file = self.module_file(module, path) if module else None
        if file is None or os.path.abspath(file) == os.path.abspath(path):
            return None
        raw = self.raw(file)
        if raw is None or (name.encode() not in raw and not self._is_starred(file, raw)):
            return None
        surface = self.surface(file)
        if surface is None:
            return None
        bound = surface.definition(name)
        if isinstance(bound, str):
            return self.definition(bound, file, depth - 1)
        if bound is not None:
            program = self.program(file)
            node = program.defined.get(name) if program is not None else None
            return None if program is None or node is None else Definition(program, node)
        for star in reversed(surface.stars):
            found = self.definition(f"{star}.{name}" if star.strip(".") else star + name, file, depth - 1)
            if found is not None:
                return found
        return None

    def _is_starred(self, file: str, raw: bytes) -> bool:
        """Whether a file has a star import; looked up once, for a package of thousands of files asks thousands of times."""
        if file not in self._starred:
            self._starred[file] = _STAR_IMPORT.search(raw) is not None
        return self._starred[file]

    def reexport(self, target: str, path: str, depth: int = 4) -> frozenset[str] | None:
        """The outside name that a name imported from a project file stands for there (``from utils import DataLoader``).

        None when the target is no file of this project or the name is not simply imported there.
        """
        if depth == 0:
            return None
        module, _, name = target.rpartition(".")
        if not module.strip("."):
            module = "." * (len(target) - len(target.lstrip(".")))
        if not module or not name:
            return None
        file = self.module_file(module, path)
        if file is None or os.path.abspath(file) == os.path.abspath(path):
            return None
        raw = self.raw(file)
        if raw is None or b"torch" not in raw:
            return None
        surface = self.surface(file)
        bound = surface.names.get(name) if surface is not None else None
        if not bound:
            return None
        found: set[str] = set()
        for origin in bound:
            if not isinstance(origin, str):
                return None
            through = self.reexport(origin, file, depth - 1)
            found.update(through if through is not None else {origin})
        return frozenset(found)

    # -- callers --------------------------------------------------------------------------------------------------------

    def mentions(self, name: str, without: str) -> Iterator[Program]:
        """Other files of the project whose text holds ``name``."""
        word = name.encode()
        for path in self.files():
            if os.path.abspath(path) == os.path.abspath(without):
                continue
            raw = self.raw(path)
            if raw is not None and word in raw:
                program = self.program(path)
                if program is not None:
                    yield program


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _module_in(folder: str, parts: list[str]) -> str | None:
    base = os.path.join(folder, *parts) if parts else folder
    if parts and os.path.isfile(base + ".py"):
        return base + ".py"
    package = os.path.join(base, "__init__.py")
    return package if os.path.isfile(package) else None
