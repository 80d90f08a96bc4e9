"""Unified diffs of whole files, byte for byte, so that they can be applied again."""

from __future__ import annotations

import difflib
import os
import re

_NO_NEWLINE = b"\n\\ No newline at end of file\n"


def unified_diff(path: str, before: bytes, after: bytes, context: int = 3) -> bytes:
    """The change of one file in the form ``patch -p0`` takes; empty when nothing changed.

    The bytes keep the encoding of the file. Rows end at LF, as they do for ``patch``.
    """
    name = _file_name(path)
    lines = difflib.diff_bytes(
        difflib.unified_diff, _rows(before), _rows(after), name, name, b"", b"", context, lineterm=b"\n"
    )
    return b"".join(line if line.endswith(b"\n") else line + _NO_NEWLINE for line in lines)


def _rows(data: bytes) -> list[bytes]:
    return re.findall(rb"[^\n]*\n|[^\n]+", data)


def _file_name(path: str) -> bytes:
    """The name in the file system's bytes; quoted as Git does when it holds control characters, quotes or
    backslashes.
    """
    name = os.fsencode(path)
    if not re.search(rb'[\x00-\x1f\x7f"\\]', name):
        return name
    return b'"' + re.sub(rb'[\x00-\x1f\x7f"\\]', lambda match: _escaped(match.group()), name) + b'"'


def _escaped(char: bytes) -> bytes:
    known = {b"\n": b"\\n", b"\t": b"\\t", b"\r": b"\\r", b'"': b'\\"', b"\\": b"\\\\"}
    return known.get(char, b"\\%03o" % char[0])
