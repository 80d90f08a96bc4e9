"""Which document is checked when: after a pause in typing, in a thread, and never for a state that has passed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import ParamSpec, TypeVar

from torchlint.config import ConfigError
from torchlint.selection import SelectionError
from torchlint.server.analysis import Analysis, analyse
from torchlint.server.choices import Choices
from torchlint.server.documents import Snapshot
from torchlint.tasks import internal_error

P = ParamSpec("P")
R = TypeVar("R")

PAUSE = 0.2  # seconds without a change before a document is checked


class Checker:
    """Keeps the newest analysis of each open document. All methods belong to the event loop's thread.

    ``capture`` gives the present state of a document, None once it is closed. ``publish`` is told of each analysis that
    is not stale, None for a document that is left out; ``complain`` of a configuration that cannot be used.
    """

    def __init__(
        self,
        choices: Callable[[], Choices],
        capture: Callable[[str], Snapshot | None],
        publish: Callable[[Snapshot, Analysis | None], None],
        complain: Callable[[str], None],
    ) -> None:
        self._choices = choices
        self._capture = capture
        self._publish = publish
        self._complain = complain
        self._analyses: dict[str, Analysis] = {}
        self._tasks: dict[str, asyncio.Task[Analysis | None]] = {}
        self._stopped = False
        self._started: dict[str, int] = {}  # the revision a task is working on
        # One thread: the facts about a project are shared between documents.
        self.pool = ThreadPoolExecutor(1, thread_name_prefix="torchlint")

    def schedule(self, uri: str, pause: float = PAUSE) -> asyncio.Task[Analysis | None]:
        """Check a document after a pause, in place of any check of it that is still to come."""
        self.cancel(uri)
        task = asyncio.ensure_future(self._check(uri, pause))
        self._tasks[uri] = task
        task.add_done_callback(lambda done: self._tasks.pop(uri) if self._tasks.get(uri) is done else None)
        return task

    async def current(self, uri: str) -> Analysis | None:
        """The analysis of the document as it is now; waits for it, without the pause."""
        while True:
            snapshot = self._capture(uri)
            known = self._analyses.get(uri)
            if snapshot is None or (known is not None and known.snapshot.revision == snapshot.revision):
                return known
            under_way = self._tasks.get(uri) if self._started.get(uri) == snapshot.revision else None
            task = under_way or self.schedule(uri, pause=0)
            try:
                return await asyncio.shield(task)
            except asyncio.CancelledError:
                if self._stopped or not task.cancelled():
                    raise  # the request itself is given up; else a newer check has taken the place of this one

    async def in_thread(self, work: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Run work on an analysis where analyses are made."""
        return await asyncio.get_running_loop().run_in_executor(self.pool, partial(work, *args, **kwargs))

    def stop(self) -> None:
        """End all work."""
        self._stopped = True
        for uri in list(self._tasks):
            self.cancel(uri)
        self.pool.shutdown(wait=False, cancel_futures=True)

    def cancel(self, uri: str) -> None:
        """Give up a check that is still to come; one under way ends without effect."""
        task = self._tasks.pop(uri, None)
        self._started.pop(uri, None)
        if task is not None:
            task.cancel()

    def forget(self, uri: str | None = None) -> None:
        """Drop what is known of a document, or of all."""
        if uri is None:
            self._analyses.clear()
        else:
            self.cancel(uri)
            self._analyses.pop(uri, None)

    async def _check(self, uri: str, pause: float) -> Analysis | None:
        if pause:
            await asyncio.sleep(pause)
        snapshot = self._capture(uri)
        if snapshot is None:
            return None
        choices = self._choices()
        self._started[uri] = snapshot.revision
        try:
            analysis = await self.in_thread(_work, choices, snapshot)
        except (ConfigError, SelectionError) as error:
            self._complain(str(error))
            analysis = None
        now = self._capture(uri)
        if now is None or now.revision != snapshot.revision or choices is not self._choices():
            return None
        if analysis is None:
            self._analyses.pop(uri, None)
        else:
            self._analyses[uri] = analysis
        self._publish(snapshot, analysis)
        return analysis


def _work(choices: Choices, snapshot: Snapshot) -> Analysis | None:
    job = choices.job(snapshot.path)
    if job is None:
        return None
    try:
        return analyse(snapshot, job)
    except Exception as error:  # a defect of ours must not silence the server
        return Analysis(snapshot, job, problems=(internal_error(snapshot.path, error),))
