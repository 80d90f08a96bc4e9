"""One run of one command: processor seconds of it and its children, wall time, and peak memory of the largest process."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Run:
    """``cpu`` and ``wall`` in seconds, ``memory`` in megabytes."""

    cpu: float
    wall: float
    memory: float
    code: int


def measure(command: Sequence[str], folder: Path, limit: float | None = None) -> Run:
    """Run a command with its output thrown away. Raises TimeoutError after ``limit`` wall seconds."""
    started = time.perf_counter()
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG if limit else 0)
        wall = time.perf_counter() - started
        if pid:
            break
        if limit and wall > limit:
            process.kill()
            os.wait4(process.pid, 0)
            process.returncode = -9
            raise TimeoutError(f"{command[0]} took more than {limit:.0f} s")
        time.sleep(0.005)
    process.returncode = os.waitstatus_to_exitcode(status)
    return Run(usage.ru_utime + usage.ru_stime, wall, _megabytes(usage), process.returncode)


def _megabytes(usage: resource.struct_rusage) -> float:
    return usage.ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)
