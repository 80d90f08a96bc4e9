"""Open documents as sources, and the way between character offsets and an editor's positions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from lsprotocol import types

from torchlint.findings import Edit, Finding
from torchlint.notebook import locate, read_notebook
from torchlint.source import Cell, Source


@dataclass(frozen=True, slots=True)
class Part:
    """One text document: a module, or one cell of a notebook."""

    uri: str
    version: int | None
    text: str
    language: str | None = "python"


@dataclass(frozen=True)
class Snapshot:
    """What one module or notebook was at one moment. ``uri`` is the notebook's own where there are cells.

    ``revision`` grows with every change, so a result is stale when the document has another one by now.
    """

    uri: str
    path: str
    revision: int
    parts: tuple[Part, ...]
    notebook: bool = False
    encoding: str = "utf-16"  # in which the editor counts columns

    @cached_property
    def source(self) -> Source:
        """The program. A notebook's cells become a notebook in memory, so that it is fixed as one on disk is."""
        if not self.notebook:
            text = self.parts[0].text
            return Source(self.path, text.encode("utf-8", "surrogatepass"), text)
        cells = [
            {"cell_type": "code", "metadata": {"vscode": {"languageId": part.language}}, "source": part.text}
            for part in self.parts
        ]
        return read_notebook(self.path, json.dumps({"cells": cells, "nbformat": 4}).encode())

    def part_of(self, cell: Cell | None) -> Part:
        """The document a cell of the source came from."""
        return self.parts[cell.number - 1 if cell else 0]

    def first_row(self, uri: str) -> int | None:
        """The row of the source where a document begins; None when it is not part of it."""
        for index, part in enumerate(self.parts):
            if part.uri == uri:
                return self.source.cells[index].first_row if self.notebook else 1
        return None

    def location(self, start: int, end: int) -> tuple[Part, types.Range]:
        """The document of a stretch of the source, and its range there."""
        cell = locate(self.source, start)[0] if self.notebook else None
        shift = cell.first_row - 1 if cell else 0
        return self.part_of(cell), types.Range(self._position(start, shift), self._position(end, shift))

    def finding_range(self, finding: Finding) -> tuple[Part, types.Range]:
        """The document of a finding, and its range there."""
        cell = next((cell for cell in self.source.cells if cell.number == finding.cell), None)
        shift = cell.first_row - 1 if cell else 0
        starts, span = self.source.line_starts, finding.span
        start = starts[span.row + shift - 1] + span.column - 1
        end = starts[span.end_row + shift - 1] + span.end_column - 1
        return self.location(start, end)

    def text_edits(self, edits: Sequence[Edit]) -> dict[Part, list[types.TextEdit]]:
        """Edits of the source as edits of its documents."""
        found: dict[Part, list[types.TextEdit]] = {}
        for edit in sorted(edits):
            part, place = self.location(edit.start, edit.end)
            found.setdefault(part, []).append(types.TextEdit(place, edit.text))
        return found

    def _position(self, offset: int, shift: int) -> types.Position:
        row, column = self.source.position(offset)
        start = self.source.line_starts[row - 1]
        head = self.source.text[start : start + column - 1]
        return types.Position(row - 1 - shift, units(head, self.encoding))


def units(text: str, encoding: str) -> int:
    """How many code units a piece of a line has in ``utf-8``, ``utf-16`` or ``utf-32``."""
    if encoding == "utf-32" or text.isascii():
        return len(text)
    if encoding == "utf-8":
        return len(text.encode("utf-8", "surrogatepass"))
    return len(text) + sum(character > "\uffff" for character in text)
