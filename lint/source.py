"""Bytes in, text out: encoding, byte order mark, line starts, and the way back without losing a byte."""

from __future__ import annotations

import bisect
import codecs
import io
import re
import tokenize
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from torchlint.findings import Edit

_LINE_END = re.compile(r"\r\n|\r|\n")


class SourceError(Exception):
    """The bytes cannot be read as Python source; carries the row where that is known."""

    def __init__(self, message: str, row: int | None = None, column: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.row = row
        self.column = column


@dataclass(frozen=True, slots=True)
class Cell:
    """Where one code cell of a notebook lies in the joined text; ``number`` counts from 1 over all cells of the notebook."""

    number: int
    first_row: int
    last_row: int


@dataclass(eq=False)
class Source:
    """One file as text. Offsets are characters into ``text``; rows count from 1, byte columns are the parser's (UTF-8, from 0)."""

    path: str
    raw: bytes
    text: str
    encoding: str = "utf-8"
    bom: bool = False
    cells: tuple[Cell, ...] = ()
    notes: tuple[str, ...] = field(default=())
    locked: tuple[tuple[int, int], ...] = ()  # what stands for a magic or a skipped cell; edits stay out of it

    @cached_property
    def line_starts(self) -> list[int]:
        """Offset of the first character of each row; the parser's rows end at LF, CR LF and CR alone, nothing else."""
        return [0, *(match.end() for match in _LINE_END.finditer(self.text))]

    @cached_property
    def _ascii(self) -> bool:
        return self.text.isascii()

    def line(self, row: int) -> str:
        """The text of a row without its line end; empty beyond the last row."""
        starts = self.line_starts
        if not 1 <= row <= len(starts):
            return ""
        end = starts[row] if row < len(starts) else len(self.text)
        return self.text[starts[row - 1] : end].rstrip("\r\n")

    def offset(self, row: int, byte_column: int) -> int:
        """Character offset of the parser's position."""
        start = self.line_starts[row - 1]
        if self._ascii:
            return start + byte_column
        head = self.text[start : start + byte_column].encode("utf-8", "surrogatepass")[:byte_column]
        return start + len(head.decode("utf-8", "surrogatepass"))

    def position(self, offset: int) -> tuple[int, int]:
        """Row and column (both from 1, the column in characters) of a character offset."""
        row = bisect.bisect_right(self.line_starts, offset)
        return row, offset - self.line_starts[row - 1] + 1

    @cached_property
    def newline(self) -> str:
        """The line end that new lines get: the first one of the file, LF when it has none."""
        match = _LINE_END.search(self.text)
        return match.group() if match else "\n"

    def cell_at(self, row: int) -> Cell | None:
        """The notebook cell a row of the joined text belongs to."""
        for cell in self.cells:
            if cell.first_row <= row <= cell.last_row:
                return cell
        return None

    def accepts(self, edits: Sequence[Edit]) -> bool:
        """Whether the edits can be written back: in a notebook each has to stay in one cell and off the magics."""
        for edit in edits:
            if self.cells and self.cell_at(self.position(edit.start)[0]) != self.cell_at(self.position(edit.end)[0]):
                return False
            if any(edit.start < end and edit.end > start for start, end in self.locked):
                return False
        return True

    def encode(self, text: str) -> bytes:
        """The bytes of ``text`` in this file's encoding. Raises UnicodeEncodeError when a character does not exist in it."""
        data = text.encode(self.encoding)
        return codecs.BOM_UTF8 + data if self.bom else data

    @property
    def round_trips(self) -> bool:
        """Whether writing the unchanged text gives the unchanged bytes; a file that fails this is never written."""
        try:
            return self.encode(self.text) == self.raw
        except UnicodeError:
            return False


def read_source(path: str, raw: bytes) -> Source:
    """Decode the bytes of a module as Python does. Raises SourceError."""
    bom = raw.startswith(codecs.BOM_UTF8)
    body = raw[len(codecs.BOM_UTF8) :] if bom else raw
    encoding = "utf-8"
    if not body.isascii() or b"coding" in body[:400]:
        encoding = _declared_encoding(raw)
    try:
        text = body.decode(encoding)
    except UnicodeDecodeError as error:
        row = raw.count(b"\n", 0, error.start) + 1
        raise SourceError(f"is not valid {encoding}: cannot decode byte 0x{body[error.start]:02x}", row) from None
    except LookupError:
        raise SourceError(f"declares the unknown encoding {encoding!r}", 1) from None
    if "\0" in text:
        raise SourceError("contains NUL bytes, so it is not Python source", text.count("\n", 0, text.index("\0")) + 1)
    return Source(path, raw, text, encoding, bom)


def _declared_encoding(raw: bytes) -> str:
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(raw).readline)
    except SyntaxError as error:
        if "missing" in str(error):  # no declaration, and not UTF-8: decoding will say where
            return "utf-8"
        raise SourceError(f"has a bad encoding declaration: {error.msg or error}", 1) from None
    return "utf-8" if encoding == "utf-8-sig" else encoding


def apply_edits(text: str, edits: tuple[Edit, ...]) -> str:
    """The text after non-overlapping edits, given in any order."""
    parts: list[str] = []
    at = 0
    for edit in sorted(edits):
        parts.append(text[at : edit.start])
        parts.append(edit.text)
        at = edit.end
    parts.append(text[at:])
    return "".join(parts)
