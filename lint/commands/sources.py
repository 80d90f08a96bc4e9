"""Sources for reports, read again only for files that have findings."""

from __future__ import annotations

from functools import lru_cache

from torchlint.files import read
from torchlint.source import Source, SourceError
from torchlint.tasks import open_source


class Sources:
    """Sources by path. ``given`` is what does not come from the disk; a file that is gone gives None."""

    def __init__(self) -> None:
        self._given: dict[str, Source] = {}
        self._from_disk = lru_cache(maxsize=16)(_open)

    def give(self, path: str, source: Source) -> None:
        """Use this source for a path."""
        self._given[path] = source

    def forget(self, path: str) -> None:
        """A file was written: read it again."""
        self._given.pop(path, None)
        self._from_disk.cache_clear()

    def __call__(self, path: str) -> Source | None:
        """The source of a path."""
        return self._given.get(path) or self._from_disk(path)


def _open(path: str) -> Source | None:
    try:
        return open_source(path, read(path))
    except (OSError, ValueError, SourceError):
        return None
