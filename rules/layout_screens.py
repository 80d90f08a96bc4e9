"""Screens that look at where words stand in the text: in which line, loop, call or function."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

_NESTED = re.compile(rb"\([^()]*\)")
_ARGUMENTS = re.compile(rb"\s*\([^()'\"#]*(?:\([^()'\"#]*\)[^()'\"#]*)*\)")


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


@dataclass(frozen=True, slots=True)
class Called:
    """A screen for files in which something that ``pattern`` finds, up to the bracket of a call, may lack an argument.

    Calls that visibly have the argument ``given`` do not count, nor do those on ``self``. What ``pattern`` finds without
    a bracket at its end, such as an import under another name, always counts.
    """

    pattern: re.Pattern[bytes]
    given: bytes

    def search(self, string: bytes, /) -> bool:
        """Whether there is such a call, or another name for what would be called."""
        for found in self.pattern.finditer(string):
            if string.startswith(b"self.", max(0, found.start() - 5)) and string[found.end() - 1 : found.end()] == b"(":
                continue
            if not _has(string, found, self.given):
                return True
        return False


def _has(string: bytes, found: re.Match[bytes], argument: bytes) -> bool:
    """Whether the call whose bracket ends a match certainly has an argument; where quotes or comments stand, it is unsure."""
    if string[found.end() - 1 : found.end()] != b"(":
        return False
    inside = _ARGUMENTS.match(string, found.end() - 1)
    return inside is not None and argument in _NESTED.sub(b"", inside.group().strip()[1:-1])


@dataclass(frozen=True, slots=True)
class Within:
    """A screen for files in which a call of one of ``names`` stands inside a function called ``function``.

    Calls that visibly have the argument ``given`` do not count. Where one of the names is given another, any call will
    do. A function ends where a line no further right than its ``def`` defines something else.
    """

    function: bytes
    names: tuple[bytes, ...]
    given: bytes

    def search(self, string: bytes, /) -> bool:
        """Whether there is such a function."""
        if self.function not in string or not any(name in string for name in self.names):
            return False
        words = b"|".join(self.names)
        starts = [found for found in _DEF.finditer(string) if found[1] == self.function]
        if not starts or b"\f" in string or string.count(b"\r") != string.count(b"\r\n"):
            return bool(starts)
        calls = _compiled(rb"\b(?:" + words + rb")\s*\(")
        for start in starts:
            body = _body(string, start)
            if any(not _has(body, found, self.given) for found in calls.finditer(body)):
                return True
        if _compiled(rb"\.(?:" + words + rb")\b(?!\s*\()").search(string):
            return True
        return any(
            string[max(0, alias.start() - 30) : alias.start()].rstrip().endswith(self.names)
            for alias in _AS.finditer(string)
        )


_DEF = re.compile(rb"def\s+(\w+)")
_AS = re.compile(rb" as\b")
_compiled = lru_cache(maxsize=None)(re.compile)


def _body(string: bytes, start: re.Match[bytes]) -> bytes:
    """The text of a function from its ``def`` on, or more."""
    line = string[string.rfind(b"\n", 0, start.start()) + 1 : start.start()]
    indent = len(line) - len(line.lstrip())
    end = _compiled(rb"\n[ \t]{0,%d}(?:async|def|class)\b" % indent).search(string, start.end())
    body = string[start.end() : end.start() if end is not None else len(string)]
    inside_string = body.count(b'"""') % 2 or body.count(b"'''") % 2  # then the line that seems to end it does not
    return string[start.end() :] if inside_string else body


@dataclass(frozen=True, slots=True)
class ForLoops:
    """A screen for files with a ``for`` statement that may run over something ``over`` finds a word of.

    Plain ``range(…)`` does not count, nor does the ``for`` of a comprehension.
    """

    over: re.Pattern[bytes]

    def search(self, string: bytes, /) -> bool:
        """Whether there is such a statement."""
        return any(
            _begins_line(string, found.start()) and self._counts(string, found) for found in _FOR.finditer(string)
        )

    def _counts(self, string: bytes, start: re.Match[bytes]) -> bool:
        depth = 0
        for found in _HEADER.finditer(string, start.end()):
            mark = found.group()
            if mark in b"([{":
                depth += 1
            elif mark in b")]}":
                depth -= 1
            elif mark == b":" and depth == 0:
                header = string[start.end() : found.start()]
                return _RANGE.fullmatch(header) is None and self.over.search(header) is not None
            elif mark in b"\n\r" and depth == 0:
                return False
            elif mark in b"'\"":
                return True
            if depth < 0:
                return False
        return False


_FOR = re.compile(rb"for\b")
_HEADER = re.compile(rb"\\\r?\n|'[^'\\\n\r]*'|\"[^\"\\\n\r]*\"|#[^\n\r]*|[()\[\]{}:\n\r'\"]")
_RANGE = re.compile(rb".*?\bin\s+range\s*\([^()]*(?:\([^()]*\)[^()]*)*\)\s*", re.S)


def _begins_line(string: bytes, at: int) -> bool:
    """Whether nothing but ``async`` stands before a place in its line."""
    line = string[max(string.rfind(b"\n", 0, at), string.rfind(b"\r", max(0, at - 200), at)) + 1 : at].strip()
    return line in (b"", b"async")
