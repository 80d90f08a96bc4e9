"""A progress bar on standard error, when somebody waits at a terminal for more than a second."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any

import click

_PATIENCE = 1.0  # seconds


class Progress:
    """Counts files; shows nothing in pipes, in quiet runs and in short ones."""

    def __init__(self, total: int, quiet: bool = False) -> None:
        self._total = total
        self._wanted = not quiet and sys.stderr.isatty() and total > 1
        self._started = time.monotonic()
        self._done = 0
        self._bar: Any = None

    def advance(self, count: int) -> None:
        """``count`` more files are done."""
        self._done += count
        if not self._wanted:
            return
        if self._bar is None:
            if time.monotonic() - self._started < _PATIENCE:
                return
            self._bar = click.progressbar(length=self._total, label="Checking", file=sys.stderr)
            self._bar.__enter__()
            self._bar.update(self._done)
        else:
            self._bar.update(count)

    def pause(self) -> None:
        """Clear the bar's line if a report on the same terminal is about to print."""
        if self._bar is not None and sys.stdout.isatty():
            sys.stderr.write("\r\x1b[2K")
            sys.stderr.flush()

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.__exit__(kind, error, trace)
            sys.stderr.write("\r\x1b[2K\x1b[1A\x1b[2K" if sys.stdout.isatty() else "")
