"""SIGTERM ends a run as Ctrl-C does: what is half written is removed, and the workers end."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Terminated(KeyboardInterrupt):
    """SIGTERM has come; ``code`` is how the program ends."""

    code = 128 + signal.SIGTERM


@contextmanager
def stoppable() -> Iterator[None]:
    """Raise Terminated where SIGTERM would end the process without a word, unless somebody else handles it."""
    alone = threading.current_thread() is threading.main_thread()
    if not alone or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return

    def stop(number: int, frame: object) -> None:
        raise Terminated

    signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
