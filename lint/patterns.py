"""Patterns as ``.gitignore`` has them, counted from a folder."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec


class Patterns:
    """A list of patterns and the folder from which they count. Raises ValueError for a malformed pattern."""

    def __init__(self, lines: Iterable[str], root: str) -> None:
        self.lines = tuple(lines)
        self.root = os.path.abspath(root)
        for line in self.lines:
            _check(line)

    @cached_property
    def _spec(self) -> GitIgnoreSpec:
        from pathspec import GitIgnoreSpec

        return GitIgnoreSpec.from_lines(self.lines)

    def decide(self, path: str, *, folder: bool = False) -> bool | None:
        """True when the patterns match, False when a ``!`` pattern takes it back, None when they say nothing."""
        if not self.lines:
            return None
        start = self.root.rstrip(os.sep) + os.sep
        absolute = os.path.abspath(path)
        if not absolute.startswith(start):
            return None
        relative = absolute[len(start) :]
        if os.sep != "/":
            relative = relative.replace(os.sep, "/")
        return self._spec.check_file(relative + "/" if folder else relative).include

    def matches(self, path: str, *, folder: bool = False) -> bool:
        """Whether the path is matched and not taken back."""
        return bool(self.decide(path, folder=folder))

    def without(self, path: str) -> Patterns:
        """The patterns that do not match this folder itself: who asks for a folder by name wants it looked at."""
        if not self.matches(path, folder=True):
            return self
        kept = (line for line in self.lines if not Patterns([line], self.root).matches(path, folder=True))
        return Patterns(kept, self.root)


def _check(line: str) -> None:
    from pathspec import GitIgnoreSpec

    try:
        GitIgnoreSpec.from_lines([line])
    except ValueError as error:
        raise ValueError(f"{line!r} is not a valid pattern: {error}") from None
