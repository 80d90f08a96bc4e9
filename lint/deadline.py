"""A limit on the time one file may take, so that a hang becomes one clear error and the other files are checked."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_AGAIN_SECONDS = 1.0  # what is raised inside a finalizer is lost, so it is raised until it arrives


class TimeLimitReached(BaseException):
    """The limit is used up. No ``Exception``, or whoever guards against a failing rule would take it for one."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise TimeLimitReached in the block once it has used so many seconds of processor time.

    Processor time, so that a busy machine or one that was asleep fails nobody. It needs the signals of POSIX, which
    reach the main thread of a process; elsewhere there is no limit.
    """
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return
    armed = True

    def reached(number: int, frame: object) -> None:
        if armed:
            raise TimeLimitReached

    before = signal.signal(signal.SIGVTALRM, reached)
    try:
        try:
            signal.setitimer(signal.ITIMER_VIRTUAL, seconds, _AGAIN_SECONDS)
            yield
        finally:
            armed = False
    finally:  # once more for a signal that came on the line above
        armed = False
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
