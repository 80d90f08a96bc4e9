"""A cheap look at the bytes of a file: whether a rule can report in it at all."""

from __future__ import annotations

import re
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
    matching: tuple[re.Pattern[bytes], ...]

    def search(self, string: bytes, /) -> bool:
        """Whether a file has a word of each group, none of those that must be absent, and matches all patterns."""
        return (
            all(any(word in string for word in group) for group in self.groups)
            and not any(word in string for word in self.absent)
            and all(pattern.search(string) is not None for pattern in self.matching)
        )


def having(
    *groups: bytes | tuple[bytes, ...],
    without: tuple[bytes, ...] = (),
    matching: re.Pattern[bytes] | tuple[re.Pattern[bytes], ...] = (),
) -> Words:
    """A screen for files that hold each of the words; where several are given together, one of them is enough."""
    return Words(
        tuple(group if isinstance(group, tuple) else (group,) for group in groups),
        without,
        matching if isinstance(matching, tuple) else (matching,),
    )


@dataclass(frozen=True, slots=True)
class Discarded:
    """A screen for files in which a call that ``pattern`` finds may stand as a statement of its own.

    It looks at what stands before the call in its line, behind the last ``;`` or ``:``: no assignment, no keyword.
    """

    pattern: re.Pattern[bytes]

    def search(self, string: bytes, /) -> bool:
        """Whether there is such a line."""
        for found in self.pattern.finditer(string):
            start = 1 + max(string.rfind(end, 0, found.start()) for end in (b"\n", b"\r", b";", b":"))
            if _USED.match(string, start, found.start()) is None:
                return True
        return False


_USED = re.compile(
    rb"[ \t\f]*(?:(?:return|yield|if|elif|while|for|with|assert|raise|del|def|class|import|from)\b"
    rb"|[\w.,* \t\[\]'\"]+[-+*/@|&^%]?=(?!=)|[#@])"
)
