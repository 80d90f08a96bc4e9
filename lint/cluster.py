"""A scan on other machines: chunks of files go to a dask cluster as bytes, so that its workers need no shared disk.

Imported only for ``--cluster``; needs the ``cluster`` extra here and torchlint on the workers.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

from torchlint.files import read
from torchlint.tasks import FileResult
from torchlint.workers import Chunk, check_chunk

_ONE_AT_A_TIME = threading.Lock()  # a worker may run several threads, and what is known about a project is not for two


class ClusterError(Exception):
    """The cluster cannot be used. The message is for users."""


@contextmanager
def cluster(address: str, timeout: float = 20.0) -> Iterator[Executor]:
    """An executor on the scheduler at ``address``. Raises ClusterError."""
    try:
        distributed: Any = importlib.import_module("distributed")  # untyped, and not installed where types are checked
    except ImportError:
        raise ClusterError(
            "--cluster needs dask.distributed; install it with: pip install 'torchlint[cluster]'"
        ) from None
    try:
        client = distributed.Client(address, timeout=timeout, set_as_default=False)
    except (OSError, ValueError) as error:  # TimeoutError is an OSError
        raise ClusterError(f"no scheduler answers at {address} ({error}); start one with: dask scheduler") from None
    try:
        yield _Shipping(client)
    finally:
        client.close()


class _Shipping(Executor):
    """Reads the files of a chunk when it is sent, and takes back results. A dead worker's chunks go to another worker."""

    def __init__(self, client: Any) -> None:
        self._inner: Executor = client.get_executor(pure=False, retries=3)

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Send one chunk."""
        if fn is check_chunk:
            return self._inner.submit(_check_shipped, _shipped(args[0]))
        return self._inner.submit(fn, *args, **kwargs)


def _shipped(chunk: Chunk) -> Chunk:
    tasks = []
    for task in chunk.tasks:
        raw = task.raw
        if raw is None:
            with suppress(OSError, ValueError):  # checking says why it cannot be read
                raw = read(task.path)
        tasks.append(replace(task, raw=raw))
    return Chunk(tuple(tasks))


def _check_shipped(chunk: Chunk) -> list[FileResult]:
    """What a worker of the cluster does."""
    with _ONE_AT_A_TIME:
        return check_chunk(chunk)
