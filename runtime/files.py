"""Files that are either the old one or the new one, never half of one.

Pitfall shown: a checkpoint written straight to its final name. A process killed in the middle leaves a cut-short file
where the good one was. Here the bytes go to a temporary file in the same folder, reach the disk, and take the name in
one step.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

TEMPORARY = ".tmp"  # the ending of files that were not finished


def write_atomically(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Write a file through `write`, so that `path` changes in one step or not at all."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}{TEMPORARY}")
    try:
        with temporary.open("wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def give_second_name(path: Path, second: Path) -> None:
    """Let `second` be the same file as `path`, in one step; a copy where the file system has no hard links."""
    temporary = second.with_name(f".{second.name}.{os.getpid()}{TEMPORARY}")
    temporary.unlink(missing_ok=True)
    try:
        os.link(path, temporary)
    except OSError:
        with path.open("rb") as file:
            write_atomically(second, lambda copy: shutil.copyfileobj(file, copy))
        return
    os.replace(temporary, second)
    temporary.unlink(missing_ok=True)  # a rename between two names of one file does nothing and leaves both
    sync_folder(second.parent)


def sync_folder(folder: Path) -> None:
    """Make a rename in `folder` outlast a power cut, where the system lets a folder be synced."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(descriptor)
    except OSError:
        pass
    finally:
        os.close(descriptor)
