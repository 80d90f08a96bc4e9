"""SIGTERM and Ctrl-C ask a run to stop; they do not tear it down.

Pitfall shown: a job that the cluster ends with SIGTERM and that loses everything since the last epoch. The handler only
notes the signal; the loop finishes its step, saves, and the process exits with the signal's code (128 + number).
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class StopRequest:
    """Which signal asked this run to stop; None while none has."""

    def __init__(self) -> None:
        self.signal: int | None = None


class Stopped(Exception):
    """A run that ended because signal `number` asked it to; `remark` says what became of its state."""

    def __init__(self, number: int | None, remark: str) -> None:
        self.number = number or int(signal.SIGTERM)  # another rank got the signal; a scheduler sends SIGTERM
        super().__init__(f"stopped by {signal.Signals(self.number).name}: {remark}")


@contextmanager
def stop_on_signals() -> Iterator[StopRequest]:
    """Note SIGTERM and SIGINT inside; the same signal a second time acts as it did before."""
    request = StopRequest()
    if threading.current_thread() is not threading.main_thread():  # Python delivers signals to the main thread alone
        yield request
        return

    def note(number: int, frame: FrameType | None) -> None:
        request.signal = number
        signal.signal(number, earlier[signal.Signals(number)])

    earlier = {number: signal.signal(number, note) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield request
    finally:
        for number, handler in earlier.items():
            signal.signal(number, handler)
