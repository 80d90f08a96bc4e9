"""Colour for terminals."""

from __future__ import annotations

_STYLES = {"code": "1;31", "mark": "36", "place": "1", "gutter": "34", "caret": "1;31", "help": "1;36", "note": "2"}


def paint(text: str, style: str, color: bool) -> str:
    """The text in a style, when there is colour at all."""
    return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if color and text else text
