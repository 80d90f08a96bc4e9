"""A second parser looks at what a fix has made, since no single one should decide alone that a file is intact."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Sequence

from torchlint.findings import Edit
from torchlint.source import Source


def still_accepted(before: Source, after: Source, module: ast.Module, edits: Sequence[Edit]) -> bool:
    """Whether LibCST reads what the edits made of ``before``, and gives its bytes back.

    ``module`` is ``after`` parsed. Only its top-level statements that hold an edit are read: LibCST takes longer than
    all rules together, and the others are as they were. True as well when it could not read ``before``: it does not
    know the newest syntax, and some form feeds do not survive it. Of a notebook the joined text is read.
    """
    pieces = _changed(after, module, edits)
    return all(map(_round_trips, pieces)) or _round_trips(after.text) or not _round_trips(before.text)


def _changed(after: Source, module: ast.Module, edits: Sequence[Edit]) -> Iterator[str]:
    """The top-level statements that edits reach or touch, with the comments behind them, as text."""
    starts = [0, *_starts(after, module), len(after.text)]
    touched = list(_places(edits))
    at = 0
    for start, end in itertools.pairwise(starts):
        while at < len(touched) and touched[at][1] < start:
            at += 1
        if at < len(touched) and touched[at][0] <= end:
            yield after.text[start:end]


def _starts(after: Source, module: ast.Module) -> Iterator[int]:
    """Where the rows of a top-level statement begin that shares none with the one before it."""
    last = 0
    for statement in module.body:
        first = min(each.lineno for each in (statement, *getattr(statement, "decorator_list", ())))
        if first > last and last:
            yield after.line_starts[first - 1]
        last = statement.end_lineno or first


def _places(edits: Sequence[Edit]) -> Iterator[tuple[int, int]]:
    """Where the edits lie in the text they have made, in its order."""
    shift = 0
    for edit in sorted(edits):
        yield edit.start + shift, edit.start + shift + len(edit.text)
        shift += len(edit.text) - (edit.end - edit.start)


def _round_trips(text: str) -> bool:
    import libcst

    try:
        data = text.encode("utf-8")
        return libcst.parse_module(data).bytes == data
    except (libcst.ParserSyntaxError, libcst.CSTValidationError, RecursionError, UnicodeError, ValueError):
        return False
