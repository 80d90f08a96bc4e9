"""Which files are checked: discovery below folders, ``.gitignore``, excludes; and their bytes."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from torchlint.config import Config, Configs
from torchlint.findings import Problem
from torchlint.patterns import Patterns

SUFFIXES = (".py", ".ipynb")
# Folders that hold other people's code, or copies. They count for what is found, never for what is asked for.
EXCLUDED = frozenset(
    {
        ".bzr", ".direnv", ".eggs", ".git", ".hg", ".hypothesis", ".ipynb_checkpoints", ".mypy_cache", ".nox",
        ".pants.d", ".pyenv", ".pytest_cache", ".pytype", ".ruff_cache", ".svn", ".torchlint_cache", ".tox", ".venv",
        ".vscode", "__pycache__", "__pypackages__", "_build", "buck-out", "build", "dist", "node_modules",
        "site-packages", "venv",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Target:
    """A file to check: its path as it is shown, and the configuration that counts for it."""

    path: str
    config: Config = field(repr=False)


@dataclass(slots=True)
class Discovery:
    """The files found, sorted by path and each once; and what could not be looked at."""

    targets: list[Target]
    problems: list[Problem]


@dataclass(frozen=True, slots=True)
class _Folder:
    path: str
    ignores: tuple[Patterns, ...]  # the nearest last
    excludes: tuple[Patterns, ...]


def discover(
    paths: Iterable[str],
    configs: Configs,
    exclude: Sequence[str] = (),
    *,
    respect_gitignore: bool = True,
    force_exclude: bool = False,
) -> Discovery:
    """Find the files below ``paths``. Raises ConfigError.

    A file named itself is always taken. Below a folder count: the suffix, :data:`EXCLUDED`, ``exclude`` (from the
    current folder), the ``exclude`` of the configuration and ``.gitignore``. None of them applies to a folder that is
    named, nor to its parents. Links to folders are not followed. With ``force_exclude``, for callers that name every
    file of a repository, all but ``.gitignore`` applies to files that are named as well.
    """
    walk = _Walk(configs, Patterns(exclude, os.getcwd()), respect_gitignore, force_exclude)
    for path in paths:
        walk.start(path)
    return Discovery(walk.targets(), walk.problems)


class _Walk:
    def __init__(self, configs: Configs, exclude: Patterns, respect_gitignore: bool, force_exclude: bool) -> None:
        self._configs = configs
        self._exclude = exclude
        self._respect = respect_gitignore
        self._force = force_exclude
        self._found: dict[str, Target] = {}  # by absolute path
        self._links: list[tuple[str, Config]] = []
        self.problems: list[Problem] = []

    def targets(self) -> list[Target]:
        """All files; a link only if its file is not there under its own name."""
        if self._links:
            real = {os.path.realpath(path) for path in self._found}
            for path, config in sorted(self._links, key=lambda link: link[0]):
                goal = os.path.realpath(path)
                if goal not in real:
                    real.add(goal)
                    self._add(path, config)
        return sorted(self._found.values(), key=lambda target: target.path)

    def start(self, path: str) -> None:
        """Take a path that was asked for."""
        try:
            mode = os.stat(path).st_mode
        except (OSError, ValueError) as error:
            self._problem(path, error)
            return
        if stat.S_ISDIR(mode):
            config = self._configs.of_folder(path)
            self._walk(_Folder(os.path.normpath(path), self._above(path), self._excludes(config, path)))
        elif stat.S_ISREG(mode):
            if not (self._force and self._passed_over(path)):
                self._add(path, self._configs.of_file(path))
        else:
            self.problems.append(Problem(path, "is not a regular file, so it is not read (use `-` for standard input)"))

    def _add(self, path: str, config: Config) -> None:
        shown = display(path)
        self._found.setdefault(os.path.abspath(path), Target(shown, config))

    def _excludes(self, config: Config, folder: str) -> tuple[Patterns, ...]:
        own = Patterns(config.exclude, config.root)
        return tuple(each.without(folder) for each in (self._exclude, own) if each.lines)

    def _walk(self, top: _Folder) -> None:
        pending = [top]
        while pending:
            folder = pending.pop()
            try:
                with os.scandir(folder.path) as entries:
                    found = sorted(entries, key=lambda entry: entry.name)
            except OSError as error:
                self._problem(folder.path, error)
                continue
            names = {entry.name for entry in found}
            ignores = folder.ignores
            if self._respect and ".gitignore" in names:
                ignores = (*ignores, *_gitignore(os.path.join(folder.path, ".gitignore"), folder.path))
            config = self._configs.of_folder(folder.path)
            excludes = folder.excludes
            if folder is not top and not names.isdisjoint(("torchlint.toml", "pyproject.toml")):
                excludes = self._excludes(config, folder.path)
            for entry in found:
                path = os.path.join(folder.path, entry.name) if folder.path != os.curdir else entry.name
                if self._is_folder(entry):
                    if entry.name not in EXCLUDED and not _left_out(path, ignores, excludes, folder=True):
                        pending.append(_Folder(path, ignores, excludes))
                elif entry.name.endswith(SUFFIXES) and not _left_out(path, ignores, excludes):
                    self._file(entry, path, config)

    def _file(self, entry: os.DirEntry[str], path: str, config: Config) -> None:
        try:
            if not entry.is_file():  # pipes, sockets, links to nowhere or to folders
                return
            if entry.is_symlink():
                self._links.append((path, config))
                return
        except OSError:
            return
        self._add(path, config)

    def _is_folder(self, entry: os.DirEntry[str]) -> bool:
        try:
            return entry.is_dir(follow_symlinks=False)
        except OSError:
            return False

    def _passed_over(self, path: str) -> bool:
        """Whether a walk from the current folder would not come to this file."""
        current, parent = os.path.abspath(path), os.path.dirname(os.path.abspath(path))
        folders = os.path.relpath(parent, os.getcwd()).split(os.sep)
        if not EXCLUDED.isdisjoint(folders):
            return True
        is_folder = False
        while current != parent:
            excludes = self._excludes(self._configs.of_folder(parent), parent)
            if any(patterns.matches(current, folder=is_folder) for patterns in excludes):
                return True
            current, parent, is_folder = parent, os.path.dirname(parent), True
        return False

    def _above(self, path: str) -> tuple[Patterns, ...]:
        """The ``.gitignore`` files from the repository's root down to a folder, less what would leave that out."""
        if not self._respect:
            return ()
        absolute = os.path.abspath(path)
        root = repository_root(absolute)
        if root is None or root == absolute:
            return tuple(_gitignore(os.path.join(absolute, ".git", "info", "exclude"), absolute)) if root else ()
        found = list(_gitignore(os.path.join(root, ".git", "info", "exclude"), root))
        folder = root
        for part in ["", *os.path.relpath(absolute, root).split(os.sep)[:-1]]:
            folder = os.path.join(folder, part) if part else folder
            found.extend(_gitignore(os.path.join(folder, ".gitignore"), folder))
        return tuple(patterns.without(absolute) for patterns in found)

    def _problem(self, path: str, error: OSError | ValueError) -> None:
        self.problems.append(Problem(path, cannot_read(error)))


def _left_out(path: str, ignores: Sequence[Patterns], excludes: Sequence[Patterns], *, folder: bool = False) -> bool:
    if any(patterns.matches(path, folder=folder) for patterns in excludes):
        return True
    for patterns in reversed(ignores):
        decision = patterns.decide(path, folder=folder)
        if decision is not None:
            return decision
    return False


def _gitignore(path: str, folder: str) -> Iterator[Patterns]:
    """The patterns of one ignore file; lines that are no patterns are passed over, as git does."""
    try:
        with open(path, "rb") as file:
            lines = os.fsdecode(file.read()).splitlines()
    except OSError:
        return
    kept: list[str] = []
    for line in lines:
        try:
            Patterns([line], folder)
        except ValueError:
            continue
        kept.append(line)
    yield Patterns(kept, folder)


def repository_root(folder: str) -> str | None:
    """The nearest folder above that holds ``.git``, itself included."""
    current = os.path.abspath(folder)
    while not os.path.exists(os.path.join(current, ".git")):
        parent = os.path.dirname(current)
        if parent == current:
            return None
        current = parent
    return current


def display(path: str) -> str:
    """How a path is shown: from the current folder when it lies below it, else as it was given."""
    normal = os.path.normpath(path)
    if not os.path.isabs(normal):
        return normal
    start = os.getcwd().rstrip(os.sep) + os.sep
    return normal[len(start) :] if normal.startswith(start) else normal


def read(path: str) -> bytes:
    """The bytes of a file. Raises OSError; never waits for a pipe that took the file's place."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with open(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(0, "is not a regular file")
        return file.read()


def cannot_read(error: OSError | ValueError) -> str:
    """The sentence for a path that cannot be opened."""
    if isinstance(error, FileNotFoundError):
        return "does not exist"
    if isinstance(error, OSError) and error.strerror:
        reason = error.strerror
        return f"cannot be read: {reason[0].lower()}{reason[1:]}" if not reason.startswith("is not") else reason
    return f"cannot be read: {error}"
