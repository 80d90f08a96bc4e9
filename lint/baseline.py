"""Findings that are known and not reported again: a file to keep under version control, readable entry by entry."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from torchlint.findings import Finding
from torchlint.fingerprints import statement
from torchlint.source import Source

_VERSION = 1


class BaselineError(Exception):
    """The baseline file cannot be read; the text names it."""


@dataclass(frozen=True, slots=True, order=True)
class Entry:
    """A known finding: its file (from the baseline's folder, with slashes), rule and statement."""

    path: str
    code: str
    statement: str

    def __str__(self) -> str:
        return f"{self.path}: {self.code} {self.statement}"


class Baseline:
    """Known findings, each as often as it is known. Lines may move; a changed statement is a new finding."""

    def __init__(self, path: str, known: Iterable[Entry] = ()) -> None:
        self.path = path
        self._folder = os.path.dirname(os.path.abspath(path))
        self._left = Counter(known)

    def entry(self, finding: Finding, source: Source | None) -> Entry:
        """What stands for a finding in the file."""
        return Entry(self._relative(finding.path), finding.code, statement(finding, source))

    def new(self, findings: Iterable[Finding], sources: Callable[[str], Source | None]) -> Iterator[Finding]:
        """The findings that are not known; each known one is used up."""
        for finding in findings:
            entry = self.entry(finding, sources(finding.path))
            if self._left[entry] > 0:
                self._left[entry] -= 1
            else:
                yield finding

    def known(self, findings: Iterable[Finding], sources: Callable[[str], Source | None]) -> Iterator[Finding]:
        """The findings that are known; none is used up."""
        left = self._left.copy()
        for finding in findings:
            entry = self.entry(finding, sources(finding.path))
            if left[entry] > 0:
                left[entry] -= 1
                yield finding

    def elsewhere(self, checked: Iterable[str]) -> Iterator[Entry]:
        """What is known of files that are there and were not checked."""
        seen = {self._relative(path) for path in checked}
        for entry in self._left.elements():
            if entry.path not in seen and os.path.exists(os.path.join(self._folder, entry.path)):
                yield entry

    def vanished(self, checked: Iterable[str]) -> list[Entry]:
        """Known findings that did not occur again although their file was checked, or is gone."""
        seen = {self._relative(path) for path in checked}
        return sorted(
            e for e in self._left.elements() if e.path in seen or not os.path.exists(os.path.join(self._folder, e.path))
        )

    def _relative(self, path: str) -> str:
        return os.path.relpath(os.path.abspath(path), self._folder).replace(os.sep, "/")


def read(path: str) -> Baseline:
    """Load a baseline. Raises BaselineError."""
    try:
        with open(path, "rb") as file:
            data = json.loads(file.read())
        if data["version"] != _VERSION:
            raise BaselineError(f"{path}: is a baseline of version {data['version']!r}, this is {_VERSION}")
        entries = [
            Entry(item["path"], item["code"], item["statement"])
            for item in data["findings"]
            for _ in range(int(item.get("count", 1)))
        ]
    except OSError as error:
        raise BaselineError(f"{path}: cannot be read: {error.strerror}; --write-baseline makes a new one") from None
    except (ValueError, TypeError, KeyError, AttributeError):
        raise BaselineError(f"{path}: is not a baseline; --write-baseline makes a new one") from None
    return Baseline(path, entries)


def content(entries: Iterable[Entry]) -> bytes:
    """The bytes of a baseline that knows these findings."""
    counts = Counter(entries)
    items = [
        {"path": entry.path, "code": entry.code, "statement": entry.statement, "count": count}
        for entry, count in sorted(counts.items())
    ]
    return (json.dumps({"version": _VERSION, "findings": items}, indent=1) + "\n").encode("utf-8")
