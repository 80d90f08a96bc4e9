"""Chunks of files sent to other processes, results back in order; a worker that dies costs its file, not the run."""

from __future__ import annotations

import importlib
import multiprocessing
import pkgutil
import signal
import sys
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace

from torchlint.findings import Problem
from torchlint.tasks import FileResult, Store, Task, check_all

CHUNK_BYTES = 40_000  # what one message to a worker holds: enough to hide its cost, little enough to share evenly
_AHEAD = 4  # chunks in flight for each worker: memory stays flat however many files there are


@dataclass(frozen=True, slots=True)
class Chunk:
    """Files that one worker checks one after the other."""

    tasks: tuple[Task, ...]
    store: Store | None = None


def check_chunk(chunk: Chunk) -> list[FileResult]:
    """What a worker does."""
    return list(check_all(chunk.tasks, chunk.store))


def chunks(tasks: Sequence[Task], sizes: Sequence[int], store: Store | None) -> Iterator[Chunk]:
    """Neighbouring files together, up to :data:`CHUNK_BYTES` each."""
    current: list[Task] = []
    weight = 0
    for task, size in zip(tasks, sizes, strict=True):
        if current and weight + size > CHUNK_BYTES:
            yield Chunk(tuple(current), store)
            current, weight = [], 0
        current.append(task)
        weight += size
    if current:
        yield Chunk(tuple(current), store)


def in_executor(
    tasks: Sequence[Task], sizes: Sequence[int], executor: Executor, store: Store | None = None, ahead: int = 64
) -> Iterator[FileResult]:
    """Check tasks in somebody else's executor, which is left running."""
    flight: deque[Future[list[FileResult]]] = deque()
    try:
        yield from _fly(chunks(tasks, sizes, store), executor, flight, ahead)
    finally:
        for future in flight:
            future.cancel()


def _fly(
    todo: Iterator[Chunk], executor: Executor, flight: deque[Future[list[FileResult]]], ahead: int
) -> Iterator[FileResult]:
    """Keep some chunks in flight and yield their results in order."""
    while True:
        while len(flight) < ahead and (chunk := next(todo, None)) is not None:
            flight.append(executor.submit(check_chunk, chunk))
        if not flight:
            return
        yield from flight.popleft().result()


def in_processes(
    tasks: Sequence[Task], sizes: Sequence[int], jobs: int, store: Store | None = None
) -> Iterator[FileResult]:
    """Check tasks in worker processes of our own.

    When a worker dies, what had not come back is checked file by file in a fresh process; a file that kills this one as
    well is named. The next result carries the death as a problem, so that nobody takes the run for a clean one.
    """
    count = min(jobs, len(tasks))
    done = 0
    pool = _pool(count)
    try:
        # Nothing in flight is cancelled here: a pool that breaks stumbles over cancelled futures.
        for result in _fly(chunks(tasks, sizes, store), pool, deque(), count * _AHEAD):
            done += 1
            yield result
        pool.shutdown()
    except BrokenProcessPool:
        _stop(pool)
        yield from _one_by_one(tasks[done:], store)
    except BaseException:
        _stop(pool)
        raise


def _one_by_one(tasks: Sequence[Task], store: Store | None) -> Iterator[FileResult]:
    death: tuple[Problem, ...] = (
        Problem("torchlint", "a worker process was killed (out of memory?); its files were checked again one by one"),
    )
    pool = _pool(1, "spawn")  # threads of the broken pool may still be about: no time to fork
    try:
        for task in tasks:
            try:
                result = pool.submit(check_chunk, Chunk((task,), store)).result()[0]
            except BrokenProcessPool:
                _stop(pool)
                pool = _pool(1, "spawn")
                result = FileResult(task.path, problems=(Problem(task.path, "the process that checked it was killed"),))
            yield replace(result, problems=(*death, *result.problems))
            death = ()
        pool.shutdown()
    except BaseException:
        _stop(pool)
        raise


def _pool(count: int, method: str | None = None) -> ProcessPoolExecutor:
    method = method or _method()
    if method == "fork":
        _preload()
    context = multiprocessing.get_context(method)
    return ProcessPoolExecutor(count, mp_context=context, initializer=_start_worker)


def _preload() -> None:
    """Import what checks files, so that forked workers have it and share its memory."""
    for package in ("torchlint.semantics", "torchlint.fixers"):
        for module in pkgutil.iter_modules(importlib.import_module(package).__path__, f"{package}."):
            importlib.import_module(module.name)


def _method() -> str:
    """Fork where that is sound, for a worker is then ready at once; never from a process with threads or with torch."""
    alone = threading.active_count() == 1 and "torch" not in sys.modules
    return "fork" if sys.platform == "linux" and alone else "spawn"


def _start_worker() -> None:
    # Ctrl-C reaches the whole process group; the parent alone answers it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # this one comes from the parent, and ends the worker


def _stop(pool: ProcessPoolExecutor) -> None:
    """End the workers at once."""
    processes = list((getattr(pool, "_processes", None) or {}).values())
    pool.shutdown(wait=False, cancel_futures=True)
    for process in processes:
        process.terminate()
