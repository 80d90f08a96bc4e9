"""A cheap look at the bytes of a file: whether a rule can report in it at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


class Screen(Protocol):
    """What turns files away before they are parsed; a compiled pattern of bytes is one."""

    def search(self, string: bytes, /) -> object:
        """Something true for every file in which the rule can report."""


@dataclass(frozen=True, slots=True)
class Words:
    """A screen of plain words, of which a search costs a tenth of a pattern's; see :func:`having`."""

    groups: tuple[tuple[bytes, ...], ...]
    absent: tuple[bytes, ...]
    matching: tuple[Screen, ...]

    def search(self, string: bytes, /) -> bool:
        """Whether a file has a word of each group, none of those that must be absent, and passes the further screens."""
        return (
            all(any(word in string for word in group) for group in self.groups)
            and not any(word in string for word in self.absent)
            and all(screen.search(string) for screen in self.matching)
        )


def having(
    *groups: bytes | tuple[bytes, ...],
    without: tuple[bytes, ...] = (),
    matching: Screen | tuple[Screen, ...] = (),
) -> Words:
    """A screen for files that hold each of the words; where several are given together, one of them is enough.

    What is in ``matching`` is asked last. Patterns that begin with letters are fast: ``re`` looks for these first. What
    has to stand before them goes into a look-behind, as in ``load(?<=\\.load)``.
    """
    return Words(
        tuple(group if isinstance(group, tuple) else (group,) for group in groups),
        without,
        matching if isinstance(matching, tuple) else (matching,),
    )


@dataclass(frozen=True, slots=True)
class AnyOf:
    """A screen for files that pass one of several screens."""

    screens: tuple[Screen, ...]

    def search(self, string: bytes, /) -> bool:
        """Whether one of the screens finds something."""
        return any(screen.search(string) for screen in self.screens)
