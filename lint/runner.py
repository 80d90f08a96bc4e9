"""Many files: screened here, checked here or in worker processes, results in the order of the tasks."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from torchlint.files import cannot_read, read
from torchlint.findings import Problem
from torchlint.source import SourceError
from torchlint.tasks import FileResult, Store, Task, check_all

if TYPE_CHECKING:
    from concurrent.futures import Executor

# Below this much source to parse, one process is done before others have started: checking takes about 3 µs a byte, a
# forked worker is there in 0.05 s, one that starts from nothing (macOS, Windows) in 0.5 s or more.
PARALLEL_BYTES = 250_000 if sys.platform == "linux" else 1_000_000


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
    ready: dict[int, FileResult] = {}
    waiting: list[int] = []
    sizes: list[int] = []
    for index, task in enumerate(tasks):
        result, size = _first_look(task, store)
        if result is not None:
            ready[index] = result
            progress(1)
        else:
            waiting.append(index)
            sizes.append(size)
    pending = [tasks[index] for index in waiting]
    if executor is not None:
        from torchlint.workers import in_executor

        checked = in_executor(pending, sizes, executor, store)
    elif jobs > 1 and len(pending) > 1 and sum(sizes) >= PARALLEL_BYTES:
        from torchlint.workers import in_processes

        checked = in_processes(pending, sizes, jobs, store)
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
    next(checked, None)  # lets the workers end
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
