"""What a fixture says about itself: comments that name the findings a file must give.

``# expect: TL501`` stands at the end of the reported row, ``# expect-next: TL501`` on the row before where the reported
row cannot hold a comment. Several codes are separated by commas; a code may carry its column (``TL501@19``, from 1) and
the safety of its fix (``TL501[unsafe]``, ``TL501[manual]``, ``TL501[none]``): ``TL501@19[safe]``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from torchlint.findings import Finding
from torchlint.source import Source
from torchlint.suppressions import comments

_EXPECT = re.compile(r"#\s*expect(?P<next>-next)?:(?P<items>[^#]*)")
_ITEM = re.compile(r"(?P<code>[A-Z]+\d+)(?:@(?P<column>\d+))?(?:\[(?P<safety>safe|unsafe|manual|none)\])?")


class BadExpectation(Exception):
    """An expectation comment that cannot be read."""


@dataclass(frozen=True, slots=True)
class Expectation:
    """One finding that has to be there. Row and cell count as in :class:`~torchlint.findings.Finding`."""

    row: int
    code: str
    column: int | None = None
    safety: str | None = None
    cell: int | None = None

    def fits(self, finding: Finding) -> bool:
        """Whether a finding is the expected one."""
        return (
            (self.cell, self.row, self.code) == (finding.cell, finding.span.row, finding.code)
            and self.column in (None, finding.span.column)
            and self.safety in (None, safety_of(finding))
        )

    def __str__(self) -> str:
        place = f"row {self.row}" if self.cell is None else f"cell {self.cell} row {self.row}"
        column = "" if self.column is None else f" column {self.column}"
        return f"{place}{column}: {self.code}" + (f" [{self.safety}]" if self.safety else "")


def expectations(source: Source) -> tuple[Expectation, ...]:
    """The expectations written in a source, in the order of the text. Raises BadExpectation."""
    return tuple(_read(source))


def unmet(expected: Iterable[Expectation], findings: Iterable[Finding]) -> tuple[list[Expectation], list[Finding]]:
    """What was expected and is missing, and what was found and not expected. Every finding answers one expectation."""
    left = list(findings)
    missing: list[Expectation] = []
    # The most exact expectations choose first, else a bare code could take the finding another one describes.
    for each in sorted(expected, key=lambda e: (e.column is None) + (e.safety is None)):
        match = next((finding for finding in left if each.fits(finding)), None)
        if match is None:
            missing.append(each)
        else:
            left.remove(match)
    return sorted(missing, key=lambda e: (e.cell or 0, e.row, e.code)), left


def safety_of(finding: Finding) -> str:
    """``safe``, ``unsafe`` or ``manual`` as the fix says, ``none`` where there is no fix."""
    return finding.fix.safety.value if finding.fix else "none"


def _read(source: Source) -> Iterator[Expectation]:
    for comment in comments(source):
        for match in _EXPECT.finditer(comment.text):
            row = comment.row + (1 if match["next"] else 0)
            cell = source.cell_at(comment.row)
            for word in match["items"].split(","):
                item = _ITEM.fullmatch(word.strip())
                if item is None:
                    raise BadExpectation(f"{source.path}:{comment.row}: cannot read expectation {word.strip()!r}")
                yield Expectation(
                    row=row - (cell.first_row - 1 if cell else 0),
                    code=item["code"],
                    column=int(item["column"]) if item["column"] else None,
                    safety=item["safety"],
                    cell=cell.number if cell else None,
                )
