"""A second parser looks at what a fix has made, since no single one should decide alone that a file is intact."""

from __future__ import annotations

from torchlint.source import Source


def still_accepted(before: Source, after: Source) -> bool:
    """Whether LibCST reads ``after`` and gives its bytes back.

    True as well when it could not do that with ``before``: it does not know the newest syntax, and some form feeds do
    not survive it. Of a notebook the joined text is read.
    """
    return _round_trips(after) or not _round_trips(before)


def _round_trips(source: Source) -> bool:
    import libcst

    data = source.text.encode("utf-8") if source.cells else source.raw
    try:
        return libcst.parse_module(data).bytes == data
    except (libcst.ParserSyntaxError, libcst.CSTValidationError, RecursionError, UnicodeError, ValueError):
        return False
