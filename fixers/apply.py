"""Many fixes over one text: each is applied whole or not at all; and several rounds told as edits of the first text."""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Sequence
from itertools import pairwise

from torchlint.findings import Edit, Fix
from torchlint.fixers.layout import Edits


def apply_round(fixes: Sequence[Fix]) -> tuple[tuple[int, ...], Edits]:
    """Choose the fixes that go together in one round.

    Returns the indices of the chosen fixes and all their edits in text order. Fixes are taken in the order of their
    first edit; one that overlaps or touches an earlier one waits for the next round, when its place is known again.
    Equal edits of several fixes (the same import) are made once.
    """
    order = sorted((min(fix.edits), index) for index, fix in enumerate(fixes) if fix.edits)
    taken: list[Edit] = []
    chosen: list[int] = []
    for _, index in order:
        new = [edit for edit in sorted(set(fixes[index].edits)) if not _holds(taken, edit)]
        if all(_is_free(taken, edit) for edit in new):
            for edit in new:
                bisect.insort(taken, edit)
            chosen.append(index)
    return tuple(sorted(chosen)), tuple(taken)


def is_well_formed(fix: Fix, length: int) -> bool:
    """Whether a fix's edits lie inside a text of ``length`` characters and do not overlap each other."""
    edits = sorted(fix.edits)
    inside = all(0 <= edit.start <= edit.end <= length for edit in edits)
    apart = all(one.end <= other.start and one != other for one, other in pairwise(edits))
    return inside and apart


def _holds(taken: list[Edit], edit: Edit) -> bool:
    at = bisect.bisect_left(taken, edit)
    return at < len(taken) and taken[at] == edit


def _is_free(taken: list[Edit], edit: Edit) -> bool:
    """Whether an edit of another fix keeps clear of those taken.

    Two replacements may stand side by side. An insertion at the border of another edit may not: which of the two
    comes first would be chance.
    """
    at = bisect.bisect_left(taken, edit)
    for other in taken[max(at - 2, 0) : at + 2]:
        if edit.start < other.end and other.start < edit.end:
            return False
        insertion = edit.start == edit.end or other.start == other.end
        if insertion and (edit.start <= other.end and other.start <= edit.end):
            return False
    return True


class Composer:
    """Follows a text through rounds of edits and tells the sum as edits of the first text."""

    def __init__(self, length: int) -> None:
        # The current text in pieces: a stretch (start, end) of the first text, or new text.
        self._pieces: list[tuple[int, int] | str] = [(0, length)]

    def apply(self, edits: Iterable[Edit]) -> None:
        """Take in one round; offsets count in the text as it is after the rounds before."""
        for edit in sorted(edits, reverse=True):
            first = self._cut(edit.start)
            self._pieces[first : self._cut(edit.end)] = [edit.text]

    def _cut(self, offset: int) -> int:
        """The index of the piece that begins at an offset of the current text, which is made a border of pieces."""
        at = 0
        for index, piece in enumerate(self._pieces):
            if at == offset:
                return index
            length = len(piece) if isinstance(piece, str) else piece[1] - piece[0]
            if offset < at + length:
                inside = offset - at
                if isinstance(piece, str):
                    self._pieces[index : index + 1] = [piece[:inside], piece[inside:]]
                else:
                    middle = piece[0] + inside
                    self._pieces[index : index + 1] = [(piece[0], middle), (middle, piece[1])]
                return index + 1
            at += length
        return len(self._pieces)

    def edits(self, length: int) -> Edits:
        """All rounds as one list of edits of the first text, which has ``length`` characters."""
        found: list[Edit] = []
        at, new = 0, ""
        for piece in [*self._pieces, (length, length)]:
            if isinstance(piece, str):
                new += piece
                continue
            if new or piece[0] > at:
                found.append(Edit(at, piece[0], new))
            at, new = piece[1], ""
        return tuple(found)
