"""Many files: screened here, checked here or in worker processes, results in the order of the tasks."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

from torchlint.files import cannot_read, read
from torchlint.findings import Finding, Problem
from torchlint.settings import DEFAULTS, Settings
from torchlint.source import Source, SourceError

if TYPE_CHECKING:
    from torchlint.rules.rule import Rule
    from torchlint.semantics.project import Project

PARALLEL_BYTES = 1_500_000  # below this much source to parse, one process is done before a second has started
CHUNK_BYTES = 150_000  # what one message to a worker holds: enough to hide its cost, little enough to share evenly
_COLLECT_BYTES = 4_000_000  # garbage is collected each time this much source has been checked


@dataclass(frozen=True, slots=True)
class Plan:
    """How files are checked: which rules, with which settings. Shared by all files under one configuration."""

    rules: tuple[type[Rule], ...]
    settings: Settings = DEFAULTS


@dataclass(frozen=True, slots=True)
class Task:
    """One file to check. ``raw`` is given when the bytes do not come from the disk (standard input, a cluster)."""

    path: str
    plan: Plan
    raw: bytes | None = None


@dataclass(frozen=True, slots=True)
class FileResult:
    """What one file gave."""

    path: str
    findings: tuple[Finding, ...] = ()
    silenced: int = 0
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()


class Store(Protocol):
    """Where results of earlier runs are kept. Safe to call from several processes."""

    def get(self, task: Task, raw: bytes) -> FileResult | None:
        """The result for these bytes under this plan, if every file it depended on is unchanged."""

    def put(self, task: Task, raw: bytes, result: FileResult, used: frozenset[str]) -> None:
        """Keep a result; ``used`` are the other files that were read for it."""


def run(
    tasks: Sequence[Task],
    *,
    jobs: int = 1,
    executor: Executor | None = None,
    store: Store | None = None,
    progress: Callable[[int], object] = lambda count: None,
) -> Iterator[FileResult]:
    """Check all tasks and yield their results in order; files that no rule can concern are not parsed.

    ``executor`` takes the place of the worker processes and may be any of ``concurrent.futures``. ``progress`` is told
    how many more files are done.
    """
    from torchlint import workers

    ready: dict[int, FileResult] = {}
    waiting: list[int] = []
    sizes: list[int] = []
    for index, task in enumerate(tasks):
        result, size = _first_look(task, store)
        if result is not None:
            ready[index] = result
        else:
            waiting.append(index)
            sizes.append(size)
    progress(len(ready))
    pending = [tasks[index] for index in waiting]
    if executor is not None:
        checked = workers.in_executor(pending, sizes, executor, store)
    elif jobs > 1 and len(pending) > 1 and sum(sizes) >= PARALLEL_BYTES:
        checked = workers.in_processes(pending, sizes, jobs, store)
    else:
        checked = check_all(pending, store)
    position = 0
    for index in waiting:
        while position < index:
            yield ready.pop(position)
            position += 1
        yield next(checked)
        position += 1
        progress(1)
    for rest in range(position, len(tasks)):
        yield ready.pop(rest)


def _first_look(task: Task, store: Store | None) -> tuple[FileResult | None, int]:
    """The result, if the bytes alone or an earlier run give it; and the size of the file."""
    try:
        raw = read(task.path) if task.raw is None else task.raw
    except (OSError, ValueError) as error:
        return FileResult(task.path, problems=(Problem(task.path, cannot_read(error)),)), 0
    if not task.path.endswith(".ipynb") and not any(rule.screen.search(raw) for rule in task.plan.rules):
        return _unparsed(task.path, raw), len(raw)
    return (store.get(task, raw) if store is not None else None), len(raw)


def _unparsed(path: str, raw: bytes) -> FileResult:
    """A file in which no rule can report is not parsed; what is certainly no source is still said."""
    from torchlint.source import read_source

    if raw.isascii() and b"\0" not in raw:
        return FileResult(path)
    try:
        read_source(path, raw)
    except SourceError as error:
        return FileResult(path, problems=(Problem(path, error.message, error.row, error.column),))
    return FileResult(path)


def check_all(tasks: Sequence[Task], store: Store | None = None) -> Iterator[FileResult]:
    """Check tasks one after the other in this process, with garbage collection held back while trees are built."""
    was_enabled = gc.isenabled()
    gc.freeze()
    gc.disable()
    done = 0
    try:
        for task in tasks:
            result, size = check_file(task, store)
            done += size
            if done >= _COLLECT_BYTES:
                gc.collect()
                done = 0
            yield result
    finally:
        if was_enabled:
            gc.enable()
        gc.unfreeze()


def check_file(task: Task, store: Store | None = None) -> tuple[FileResult, int]:
    """Check one file; the result and the size of the file. Never raises for what the file contains."""
    from torchlint.inspection import inspect

    try:
        raw = read(task.path) if task.raw is None else task.raw
    except (OSError, ValueError) as error:
        return FileResult(task.path, problems=(Problem(task.path, cannot_read(error)),)), 0
    try:
        source = open_source(task.path, raw)
        project = project_of(task.path)
        inspected = inspect(source, [rule() for rule in task.plan.rules], project, task.plan.settings)
    except SourceError as error:
        return FileResult(task.path, problems=(Problem(task.path, error.message, error.row, error.column),)), len(raw)
    except Exception as error:  # a defect of ours must not take the other files with it
        return FileResult(task.path, problems=(internal_error(task.path, error),)), len(raw)
    result = FileResult(task.path, inspected.findings, inspected.silenced, inspected.problems, source.notes)
    if store is not None and not result.problems:
        store.put(task, raw, result, frozenset(project.used))
    return result, len(raw)


def open_source(path: str, raw: bytes) -> Source:
    """A module or a notebook, by the name of the file. Raises SourceError."""
    if path.endswith(".ipynb"):
        from torchlint.notebook import read_notebook

        return read_notebook(path, raw)
    from torchlint.source import read_source

    return read_source(path, raw)


def project_of(path: str) -> Project:
    """The project a file belongs to; one for each root and process."""
    from torchlint.semantics.project import project_root

    return _project(project_root(path))


@lru_cache(maxsize=8)
def _project(root: str) -> Project:
    from torchlint.semantics.project import Project

    return Project(root)


def internal_error(path: str, error: BaseException) -> Problem:
    """What is said when torchlint itself fails on a file."""
    what = "the code is nested too deeply" if isinstance(error, RecursionError) else f"{type(error).__name__}: {error}"
    return Problem(path, f"internal error ({what}); please report it, the other files are checked")
