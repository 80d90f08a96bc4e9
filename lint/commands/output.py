"""Where text goes: standard output or a file, with or without colour, errors on standard error."""

from __future__ import annotations

import os
import sys
from types import TracebackType
from typing import IO

import click

from torchlint.findings import Problem
from torchlint.reports.view import printable


class Output:
    """The report's destination; a file is written beside its place and renamed when it is complete."""

    def __init__(self, path: str | None = None, quiet: bool = False) -> None:
        self.path = path
        self.quiet = quiet
        self.color = path is None and wants_color(sys.stdout)
        self._file: IO[str] | None = None
        self._temporary = ""

    def __enter__(self) -> Output:
        if self.path is not None:
            special = os.path.exists(self.path) and not os.path.isfile(self.path)  # such as /dev/stdout
            self._temporary = self.path if special else f"{os.path.realpath(self.path)}.{os.getpid()}.tmp"
            try:
                self._file = open(self._temporary, "w", encoding="utf-8", errors="backslashreplace", newline="")
            except OSError as error:
                raise click.ClickException(f"{self.path}: cannot be written: {error.strerror}") from None
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is None or self.path is None:
            return
        self._file.close()
        if self._temporary == self.path:
            return
        if kind is None:
            os.replace(self._temporary, os.path.realpath(self.path))
        else:
            os.unlink(self._temporary)

    def write(self, text: str) -> None:
        """Print a piece of the report."""
        if self._file is not None:
            self._file.write(text)
        elif text:
            sys.stdout.write(text)

    def write_bytes(self, data: bytes) -> None:
        """Print bytes as they are; on a terminal, in a form that cannot steer it."""
        if self._file is not None:
            self._file.flush()
            self._file.buffer.write(data)  # type: ignore[attr-defined]
        elif sys.stdout.isatty() or not hasattr(sys.stdout, "buffer"):
            for line in data.decode("utf-8", "replace").split("\n")[:-1]:
                sys.stdout.write(_diff_line(line, self.color) + "\n")
        else:
            sys.stdout.flush()
            sys.stdout.buffer.write(data)

    def flush(self) -> None:
        """Let a reader see what there is so far."""
        if self._file is None:
            sys.stdout.flush()


def _diff_line(line: str, color: bool) -> str:
    text = "".join("\t" if part == "\t" else printable(part) for part in line.rstrip("\r"))
    style = {"+": "32", "-": "31", "@": "36"}.get(line[:1])
    return f"\x1b[{style}m{text}\x1b[0m" if color and style else text


def wants_color(stream: IO[str]) -> bool:
    """Colour for terminals, unless NO_COLOR says no or FORCE_COLOR insists."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def say(message: str) -> None:
    """A remark on standard error."""
    print(printable(message), file=sys.stderr)


def report_problem(problem: Problem) -> None:
    """One line on standard error."""
    say(f"error: {problem}")
