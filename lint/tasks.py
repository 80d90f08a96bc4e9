"""One file to check, and what it gave; the same in this process, in a worker, and on another machine."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from torchlint.deadline import TimeLimitReached, time_limit
from torchlint.files import cannot_read, read
from torchlint.findings import Finding, Problem
from torchlint.settings import DEFAULTS, Settings
from torchlint.source import Source, SourceError

if TYPE_CHECKING:
    from torchlint.own_rules import Reference
    from torchlint.rules.rule import Rule
    from torchlint.semantics.project import Project

# A parsed file with all that is known of it takes about 80 bytes for each byte of source.
_COLLECT_BYTES = 10_000_000  # trees are unlinked when they are let go; what cycles remain is collected this rarely
_KEPT_BYTES = 1_000_000  # so much source of a project stays parsed for questions from other files


@dataclass(frozen=True, slots=True)
class Plan:
    """How files are checked: which rules, with which settings. Shared by all files under one configuration."""

    rules: tuple[type[Rule], ...]
    settings: Settings = DEFAULTS

    def __reduce__(self) -> tuple[Callable[..., Plan], tuple[tuple[Reference, ...], Settings]]:
        from torchlint.own_rules import reference

        return _plan, (tuple(map(reference, self.rules)), self.settings)


def _plan(rules: tuple[Reference, ...], settings: Settings) -> Plan:
    """A plan that has travelled to another process."""
    from torchlint.own_rules import resolve

    return Plan(tuple(map(resolve, rules)), settings)


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

    def put(self, task: Task, raw: bytes, result: FileResult) -> None:
        """Keep a result that was computed just now; the project knows what it was asked for meanwhile."""


def check_all(tasks: Sequence[Task], store: Store | None = None) -> Iterator[FileResult]:
    """Check tasks one after the other in this process."""
    with collecting_later():
        done = 0
        for task in tasks:
            result, size = check_file(task, store)
            done += size
            if done >= _COLLECT_BYTES:
                gc.collect()
                done = 0
            yield result


@contextmanager
def collecting_later() -> Iterator[None]:
    """Hold garbage collection back while trees are built, which it would go through again and again."""
    if not gc.isenabled():
        yield
        return
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
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
        with time_limit(task.plan.settings.time_limit):
            source = open_source(task.path, raw)
            project = project_of(task.path)
            project.asked = 0
            inspected = inspect(source, [rule() for rule in task.plan.rules], project, task.plan.settings)
    except SourceError as error:
        return FileResult(task.path, problems=(Problem(task.path, error.message, error.row, error.column),)), len(raw)
    except TimeLimitReached:
        return FileResult(task.path, problems=(given_up(task, "check"),)), len(raw)
    except Exception as error:  # a defect of ours must not take the other files with it
        return FileResult(task.path, problems=(internal_error(task.path, error),)), len(raw)
    project.trim(_KEPT_BYTES)
    result = FileResult(task.path, inspected.findings, inspected.silenced, inspected.problems, source.notes)
    if store is not None and not result.problems:
        store.put(task, raw, result)
    return result, len(raw)


def open_source(path: str, raw: bytes) -> Source:
    """A module or a notebook, by the name of the file. Raises SourceError."""
    if path.endswith(".ipynb"):
        from torchlint.notebook import read_notebook

        return read_notebook(path, raw)
    from torchlint.source import read_source

    return read_source(path, raw)


class _Projects(threading.local):
    """The projects of one thread, the one asked for last standing last: no thread lets go of a tree another looks at."""

    def __init__(self) -> None:
        self.by_root: dict[str, Project] = {}


_projects = _Projects()
_MOST_PROJECTS = 8


def project_of(path: str) -> Project:
    """The project a file belongs to; one for each root and thread. Trees of only one project are kept at a time."""
    from torchlint.semantics.project import Project, project_root

    root, known = project_root(path), _projects.by_root
    last = next(reversed(known), None)
    if last != root:
        if last is not None:
            known[last].trim(0)
        known[root] = known.pop(root) if root in known else Project(root)
        if len(known) > _MOST_PROJECTS:
            del known[next(iter(known))]
    return known[root]


def given_up(task: Task, what: str) -> Problem:
    """What is said of a file that took too long to ``what``; what was half known of its project is dropped."""
    _projects.by_root.clear()
    return Problem(
        task.path,
        f"took more than {task.plan.settings.time_limit} s of processor time to {what} and was given up, so it may hold "
        "more than is reported; leave it out by `exclude`, or raise `time-limit` in the configuration",
    )


def internal_error(path: str, error: BaseException) -> Problem:
    """What is said when torchlint itself fails on a file."""
    what = "the code is nested too deeply" if isinstance(error, RecursionError) else f"{type(error).__name__}: {error}"
    return Problem(path, f"internal error ({what}); please report it, the other files are checked")
