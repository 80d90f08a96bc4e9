"""What makes a finding the same finding after lines have moved: file, rule and the text of its statement."""

from __future__ import annotations

import hashlib
import re

from torchlint.findings import Finding
from torchlint.source import Source

_BLANKS = re.compile(r"\s+")


def statement(finding: Finding, source: Source | None) -> str:
    """The rows of the finding's statement with blanks made equal; empty when the source is gone."""
    if source is None:
        return ""
    rows = range(finding.first_row, finding.last_row + 1)
    return _BLANKS.sub(" ", " ".join(source.line(row) for row in rows)).strip()


class Fingerprints:
    """Fingerprints for the findings of one report; equal statements in one file are numbered."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, str, str], int] = {}

    def of(self, finding: Finding, source: Source | None, path: str | None = None) -> str:
        """32 hexadecimal digits that stay when the lines move. ``path`` replaces the finding's own."""
        key = (path or finding.path, finding.code, statement(finding, source))
        count = self._seen.get(key, 0)
        self._seen[key] = count + 1
        parts = [*key, str(count)]
        return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:32]
