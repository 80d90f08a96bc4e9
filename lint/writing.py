"""Files are replaced in one step: whoever reads one sees the old bytes or the new ones, whatever happens in between."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import tempfile
from collections.abc import Iterator, Sequence
from typing import BinaryIO

PREFIX = ".torchlint-"
SUFFIX = ".tmp"


class WriteError(Exception):
    """A file was not written; it is as it was. ``message`` says why and what to do."""

    def __init__(self, path: str, message: str) -> None:
        super().__init__(f"{path}: {message}")
        self.path = path
        self.message = message


def write_file(path: str, new: bytes, *, expected: bytes, roots: Sequence[str] = ()) -> None:
    """Replace the contents of a file atomically, with its mode, owner and extended attributes kept.

    ``expected`` are the bytes the change was made from: a file that holds others by now is left alone. A symbolic
    link stays and its target is written; with ``roots``, only if the target lies in one of these folders. Raises
    WriteError.
    """
    try:
        target = _target(path, roots)
        status = os.stat(target)
        _check_writable(path, target, status)
        _check_unchanged(path, target, expected)
        folder = os.path.dirname(target) or "."
        remove_stale(folder)
        with _temporary(folder) as (file, temporary):
            _fill(file.fileno(), new)
            _take_over(file.fileno(), target, status)
            os.fsync(file.fileno())
            _check_unchanged(path, target, expected)
            if os.name == "nt":
                file.close()  # elsewhere it stays open, and so locked, until it has its name
            os.replace(temporary, target)
        _sync_folder(folder)
    except OSError as error:
        raise WriteError(path, f"cannot be written, it is as it was: {_reason(error)}") from None


def remove_stale(folder: str) -> None:
    """Remove temporary files that runs which were killed have left in a folder; those of living runs are locked."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith(PREFIX) and entry.name.endswith(SUFFIX):
                with contextlib.suppress(OSError):
                    _remove_if_stale(entry)


def _target(path: str, roots: Sequence[str]) -> str:
    if not os.path.islink(path):
        return path
    target = os.path.realpath(path, strict=True)
    if roots and not any(_inside(target, os.path.realpath(root)) for root in roots):
        raise WriteError(
            path, f"is a link to {target}, which is outside of what is checked; fix that file by its own name"
        )
    return target


def _inside(target: str, root: str) -> bool:
    return target == root or target.startswith(root.rstrip(os.sep) + os.sep)


def _check_writable(path: str, target: str, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise WriteError(path, "is not a regular file, so it cannot be replaced")
    if not status.st_mode & 0o222 or not os.access(target, os.W_OK):  # the superuser may write, but was not asked to
        raise WriteError(path, "is read-only, so it is not fixed; make it writable first (chmod u+w)")


def _check_unchanged(path: str, target: str, expected: bytes) -> None:
    with open(target, "rb") as file:
        if file.read() != expected:
            raise WriteError(path, "was changed by another program meanwhile, so it is not fixed; run again")


@contextlib.contextmanager
def _temporary(folder: str) -> Iterator[tuple[BinaryIO, str]]:
    """A locked temporary file that is gone afterwards unless it was renamed."""
    descriptor, name = tempfile.mkstemp(SUFFIX, PREFIX, folder)
    while not _lock(descriptor, name):  # another run took it for a stale one before it was locked
        os.close(descriptor)
        descriptor, name = tempfile.mkstemp(SUFFIX, PREFIX, folder)
    with open(descriptor, "wb") as file:
        try:
            yield file, name
        finally:
            if os.name == "nt":
                file.close()
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name)


def _fill(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _take_over(descriptor: int, target: str, status: os.stat_result) -> None:
    """Give the new file owner, mode and extended attributes (access lists among them) of the old one."""
    if os.name == "nt":
        return
    own = os.fstat(descriptor)
    if (own.st_uid, own.st_gid) != (status.st_uid, status.st_gid):
        os.fchown(descriptor, status.st_uid, status.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(status.st_mode))
    if hasattr(os, "listxattr"):
        with contextlib.suppress(OSError):
            for name in os.listxattr(target):
                with contextlib.suppress(OSError):
                    os.setxattr(descriptor, name, os.getxattr(target, name))


def _lock(descriptor: int, name: str) -> bool:
    """Mark the file as in use, until the process ends, however that ends; False if it is no longer there.

    A file system without locks marks nothing, and nothing is removed there.
    """
    try:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.path.exists(name)
    except (ImportError, OSError):
        return True


def _remove_if_stale(entry: os.DirEntry[str]) -> None:
    if not entry.is_file(follow_symlinks=False):
        return
    try:
        import fcntl
    except ImportError:
        os.unlink(entry.path)  # a file in use cannot be removed there
        return
    descriptor = os.open(entry.path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.unlink(entry.path)
    finally:
        os.close(descriptor)


def _sync_folder(folder: str) -> None:
    """Make the rename itself lasting; file systems that cannot do this have already renamed."""
    if os.name == "nt":
        return
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _reason(error: OSError) -> str:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "there is no space left; free some and run again"
    if error.errno == errno.EROFS:
        return "the file system is read-only"
    if error.errno in (errno.EACCES, errno.EPERM):
        return "permission denied for the file or its folder; run as its owner, or change the permissions"
    if error.errno == errno.ENOENT:
        return "it is gone"
    return error.strerror or str(error)
