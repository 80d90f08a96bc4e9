"""A notebook is a source with cells: its code cells in order are one program, and edits go back to their strings.

The format is nbformat 4 (https://nbformat.readthedocs.io/en/latest/format_description.html).
"""

from __future__ import annotations

import ast
import codecs
import json
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from torchlint.findings import Edit
from torchlint.magics import Masked, foreign, mask
from torchlint.notebook_json import item_separator, rewrite, source_places
from torchlint.source import Cell, Source, SourceError

SEPARATOR = "\n"  # between two cells in the joined text
_PYTHON = ("python", "ipython", "xpython")


@dataclass(frozen=True, slots=True)
class CodeCell:
    """The source of one code cell; ``number`` counts from 1 over all cells. A cell in another language is not read."""

    number: int
    text: str
    foreign: bool = False


def is_notebook(path: str) -> bool:
    """Whether a file is read as a notebook."""
    return path.endswith(".ipynb")


def read_notebook(path: str, raw: bytes) -> Source:
    """Join the code cells of a notebook. Raises SourceError.

    Magics and cells that are not Python are replaced by stand-ins of the same shape, so offsets stay true. A notebook
    of another language gives an empty source with a note.
    """
    bom, text = _decode(raw)
    notebook = _load(text)
    language = _language(notebook)
    if not language.lower().startswith(_PYTHON):
        return Source(path, raw, "", bom=bom, notes=(f"is a notebook in {language}, not Python, so it is skipped",))
    cells: list[CodeCell] = []
    for number, cell in enumerate(notebook["cells"], start=1):
        if isinstance(cell, dict) and cell.get("cell_type") == "code":
            source = _joined(cell.get("source", ""), number)
            cells.append(CodeCell(number, source, foreign=_cell_language(cell) != "python"))
    return join_cells(path, raw, cells, bom=bom)


def join_cells(path: str, raw: bytes, cells: Iterable[CodeCell], *, bom: bool = False) -> Source:
    """One program out of code cells; cells that do not parse are left blank, with a note."""
    pieces: list[str] = []
    starts: list[int] = []
    locked: list[tuple[int, int]] = []
    notes: list[str] = []
    numbers: list[int] = []
    at = 0
    for cell in cells:
        masked = foreign(cell.text) if cell.foreign else _readable(cell, notes)
        pieces.append(masked.text)
        starts.append(at)
        numbers.append(cell.number)
        locked.extend((at + start, at + end) for start, end in masked.locked)
        at += len(masked.text) + len(SEPARATOR)
    source = Source(path, raw, SEPARATOR.join(pieces), bom=bom, notes=tuple(notes), locked=tuple(locked))
    rows = [source.position(start)[0] for start in starts]
    ends = [row - 1 for row in rows[1:]] + [len(source.line_starts)]
    source.cells = tuple(Cell(*values) for values in zip(numbers, rows, ends, strict=False))  # no cells: one end
    return source


def write_back(source: Source, edits: Sequence[Edit]) -> bytes:
    """The bytes of a notebook after non-overlapping edits of its joined text; only the edited strings change.

    Raises ValueError for an edit that crosses cells or touches what is not Python (see :meth:`Source.accepts`).
    """
    if not source.accepts(edits):
        raise ValueError(f"{source.path}: an edit touches a magic line or more than one cell")
    by_cell: dict[int, list[Edit]] = {}
    for edit in edits:
        cell, start = locate(source, edit.start)
        by_cell.setdefault(cell.number, []).append(Edit(start, start + edit.end - edit.start, edit.text))
    if not by_cell:
        return source.raw
    _, text = _decode(source.raw)
    places = source_places(text)
    separator = item_separator(text, places)
    parts: list[str] = []
    at = 0
    for number, own in sorted(by_cell.items()):
        place = places[number - 1]
        if place is None:
            raise ValueError(f"{source.path}: cell {number} has no source")
        parts += [text[at : place.value[0]], rewrite(text, place, own, separator)]
        at = place.value[1]
    parts.append(text[at:])
    data = "".join(parts).encode("utf-8")
    return codecs.BOM_UTF8 + data if source.bom else data


def locate(source: Source, offset: int) -> tuple[Cell, int]:
    """The cell that holds an offset of the joined text, and the offset inside it. Raises ValueError without cells."""
    cell = source.cell_at(source.position(offset)[0])
    if cell is None:
        raise ValueError(f"{source.path}: offset {offset} is in no cell")
    return cell, offset - source.line_starts[cell.first_row - 1]


def _readable(cell: CodeCell, notes: list[str]) -> Masked:
    """The cell as Python that parses, or blank."""
    masked = mask(cell.text)
    error = None if masked.foreign else _parse_error(masked.text)
    if error is None:
        return masked
    plain = mask(cell.text, read_timed=False)
    if plain.text != masked.text and _parse_error(plain.text) is None:
        return plain
    notes.append(f"cell {cell.number} is skipped, it is not valid Python: {error}")
    return foreign(cell.text)


def _parse_error(text: str) -> str | None:
    """Why a cell does not parse; rows count in the cell. It must also parse behind another one."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse("pass\n" + text)
    except SyntaxError as error:
        return f"line {error.lineno - 1}: {error.msg}" if error.lineno else error.msg
    except (RecursionError, MemoryError):
        return "nested too deeply"
    except ValueError as error:
        return str(error)
    return None


def _decode(raw: bytes) -> tuple[bool, str]:
    bom = raw.startswith(codecs.BOM_UTF8)
    try:
        return bom, raw[len(codecs.BOM_UTF8) if bom else 0 :].decode("utf-8")
    except UnicodeDecodeError as error:
        row = raw.count(b"\n", 0, error.start) + 1
        raise SourceError("is not UTF-8, which a notebook has to be; save it again in Jupyter", row) from None


def _load(text: str) -> dict[str, Any]:
    """The notebook as data. Raises SourceError that says what it is instead."""
    if not text.strip():
        raise SourceError("is empty, not a notebook; save it again in Jupyter, or delete it")
    try:
        notebook = json.loads(text, parse_int=_integer)
    except json.JSONDecodeError as error:
        conflict = " (it holds merge conflict markers)" if "\n<<<<<<< " in "\n" + text else ""
        raise SourceError(
            f"is not valid JSON{conflict}, so its cells cannot be read: {error.msg}; restore it, or save it in Jupyter",
            error.lineno,
            error.colno,
        ) from None
    except RecursionError:
        raise SourceError("is JSON that is nested too deeply to be a notebook") from None
    if not isinstance(notebook, dict):
        raise SourceError("is JSON, but not a notebook: its top level is not an object")
    version = notebook.get("nbformat")
    if "worksheets" in notebook or (isinstance(version, int) and version < 4):
        raise SourceError(
            f"is in notebook format {version or 3}, and only format 4 is read; "
            "convert it: jupyter nbconvert --to notebook --inplace FILE"
        )
    if not isinstance(notebook.get("cells"), list):
        raise SourceError("is JSON, but not a notebook: it has no list of cells")
    if isinstance(version, int) and version > 4:
        raise SourceError(f"is in notebook format {version}, which this version cannot read; only format 4 is read")
    return notebook


def _integer(digits: str) -> int:
    """A number of an output may have more digits than Python turns into an int; it is never written back."""
    return int(digits[:20])


def _joined(source: object, number: int) -> str:
    if isinstance(source, str):
        return source
    if isinstance(source, list) and all(isinstance(line, str) for line in source):
        return "".join(source)
    raise SourceError(f"is not a valid notebook: the source of cell {number} is neither a string nor a list of strings")


def _language(notebook: dict[str, Any]) -> str:
    """The language of the kernel; Python when the notebook does not say."""
    metadata = notebook.get("metadata")
    for section, key in (("language_info", "name"), ("kernelspec", "language")):
        entry = metadata.get(section) if isinstance(metadata, dict) else None
        language = entry.get(key) if isinstance(entry, dict) else None
        if isinstance(language, str) and language:
            return language
    return "python"


def _cell_language(cell: dict[str, Any]) -> str:
    """VS Code notes the language of a cell where it differs from the kernel's."""
    metadata = cell.get("metadata")
    vscode = metadata.get("vscode") if isinstance(metadata, dict) else None
    language = vscode.get("languageId") if isinstance(vscode, dict) else None
    return language if isinstance(language, str) else "python"
