"""Where the source strings of a notebook stand in its JSON text, and how they change without anything else changing.

``json`` decides whether the text is valid and what it means. The scanner here only finds places in text that ``json``
has accepted, so it can be short.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from torchlint.findings import Edit

_STRING = r'"[^"\\]*(?:\\.[^"\\]*)*"'
_VALUE_PART = re.compile(_STRING + r"|[\[\]{}]")
_SCALAR = re.compile(_STRING + r"|[^\s,\]}]+")
_SPACE = re.compile(r"[ \t\r\n]*")
_CHARACTER = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|[^\\]", re.DOTALL
)
_NON_ASCII_ESCAPE = re.compile(r"(?<!\\)(?:\\\\)*\\u(?!00[0-7])([0-9a-fA-F]{4})")

Place = tuple[int, int]  # start and end offset of a value


@dataclass(frozen=True, slots=True)
class SourcePlace:
    """Where the ``source`` of a cell stands: the whole value, and its strings (one, or one for each list item)."""

    value: Place
    strings: tuple[Place, ...]
    is_list: bool


@dataclass(slots=True)
class _Item:
    """One string on the way to its new form: what stands before it, and the JSON spelling of each of its characters."""

    before: str
    characters: list[str]


def source_places(text: str) -> list[SourcePlace | None]:
    """The place of each cell's source, None for a cell without one; ``text`` must be a valid notebook."""
    places: list[SourcePlace | None] = []
    for cell, _ in _items(text, _members(text, _skip_space(text, 0))["cells"][0]):
        value = _members(text, cell).get("source")
        if value is None:
            places.append(None)
        elif text[value[0]] == "[":
            places.append(SourcePlace(value, tuple(_items(text, value[0])), is_list=True))
        else:
            places.append(SourcePlace(value, (value,), is_list=False))
    return places


def item_separator(text: str, places: Sequence[SourcePlace | None]) -> str:
    """What stands between two list items in this file: as in a source of several lines, else as behind a bracket."""
    for place in places:
        if place and place.is_list and len(place.strings) > 1:
            return text[place.strings[0][1] : place.strings[1][0]]
    for place in places:
        if place and place.is_list and place.strings:
            return "," + text[place.value[0] + 1 : place.strings[0][0]]
    return ", "


def rewrite(text: str, place: SourcePlace, edits: Sequence[Edit], separator: str) -> str:
    """The JSON text of one ``source`` value after edits whose offsets are characters of the cell's source.

    ``separator`` goes between list items where the list itself shows none. New lines in a list become items of their
    own.
    """
    spell = _Speller(text)
    start, end = place.value
    items: list[_Item] = []
    at = start
    for first, last in place.strings:
        items.append(_Item(text[at:first], _CHARACTER.findall(text, first + 1, last - 1)))
        at = last
    tail = text[at:end]
    if len(items) > 1:
        separator = items[1].before
    if not items:
        items, tail = [_Item("[", [])], "]"
    for edit in sorted(edits, reverse=True):
        _apply(items, edit, [spell(character) for character in edit.text], separator, split=place.is_list)
    if place.is_list and not any(item.characters for item in items):
        return "[]"
    return "".join(f'{item.before}"{"".join(item.characters)}"' for item in items) + tail


def _apply(items: list[_Item], edit: Edit, new: list[str], separator: str, *, split: bool) -> None:
    starts = [0]
    for item in items:
        starts.append(starts[-1] + len(item.characters))
    first = max(index for index in range(len(items)) if starts[index] <= edit.start)
    last = max(first, min(index for index in range(len(items)) if starts[index + 1] >= edit.end))
    kept = items[last].characters[edit.end - starts[last] :]
    ended_a_line = items[last].characters[-1:] in (["\\n"], ["\\u000a"], ["\\u000A"])
    pieces = [items[first].characters[: edit.start - starts[first]]]
    for character in new:
        pieces[-1].append(character)
        if split and character == "\\n":
            pieces.append([])
    pieces[-1].extend(kept)
    if ended_a_line and not kept and pieces[-1] and last + 1 < len(items):
        last += 1  # the line goes on in what was the next item
        pieces[-1].extend(items[last].characters)
    befores = [items[first].before] + [separator] * len(pieces)
    filled = [piece for piece in pieces if piece]
    if not filled and len(items) > last - first + 1:
        if first == 0:
            items[last + 1].before = items[0].before
        del items[first : last + 1]
    else:
        items[first : last + 1] = [_Item(*pair) for pair in zip(befores, filled or [[]], strict=False)]


class _Speller:
    """How this file spells a character in a JSON string: beyond ASCII literally, or escaped where it does so itself."""

    def __init__(self, text: str) -> None:
        escape = _NON_ASCII_ESCAPE.search(text) if text.isascii() else None
        self._ascii = escape is not None
        self._upper = escape is not None and escape[1] != escape[1].lower()

    def __call__(self, character: str) -> str:
        lone = "\ud800" <= character <= "\udfff"
        spelling = json.dumps(character, ensure_ascii=self._ascii or lone)[1:-1]
        if self._upper and spelling.startswith("\\u"):
            return re.sub(r"(?<=\\u)[0-9a-f]{4}", lambda digits: digits[0].upper(), spelling)
        return spelling


def _skip_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _members(text: str, at: int) -> dict[str, Place]:
    """The places of an object's values by key; of a repeated key the last counts, as ``json`` has it."""
    places: dict[str, Place] = {}
    at = _skip_space(text, at + 1)
    while text[at] != "}":
        key_end = _value_end(text, at)
        key = json.loads(text[at:key_end])
        start = _skip_space(text, _skip_space(text, key_end) + 1)  # behind the colon
        end = _value_end(text, start)
        places[key] = (start, end)
        at = _skip_space(text, end)
        if text[at] == ",":
            at = _skip_space(text, at + 1)
    return places


def _items(text: str, at: int) -> Iterator[Place]:
    """The places of a list's items."""
    at = _skip_space(text, at + 1)
    while text[at] != "]":
        end = _value_end(text, at)
        yield at, end
        at = _skip_space(text, end)
        if text[at] == ",":
            at = _skip_space(text, at + 1)


def _value_end(text: str, at: int) -> int:
    """The offset behind the value that starts at ``at``; not recursive, so depth does not matter."""
    if text[at] not in "[{":
        found = _SCALAR.match(text, at)
        if found is None:
            raise ValueError(f"no JSON value at offset {at}")
        return found.end()
    depth = 0
    for part in _VALUE_PART.finditer(text, at):
        if part.group() in "[{":
            depth += 1
        elif part.group() in "]}":
            depth -= 1
            if depth == 0:
                return part.end()
    raise ValueError(f"the JSON value at offset {at} has no end")
