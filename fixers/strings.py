"""How string literals are written: prefix, quotes, body; and text escaped for them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from torchlint.source import Source

_LITERAL = re.compile(
    r"""(?P<prefix>[A-Za-z]{0,2})(?:
        (?P<three>\"{3}|'{3})(?P<long>(?:\\.|(?!(?P=three))[^\\])*)(?P=three)
      | (?P<one>["'])(?P<short>(?:\\.|(?!(?P=one))[^\\\r\n])*)(?P=one)
    )""",
    re.DOTALL | re.VERBOSE,
)
_GAP = re.compile(r"(?:[ \t\f\r\n]+|#[^\r\n]*|\\(?=[\r\n]))*")


@dataclass(frozen=True, slots=True)
class Literal:
    """One string token; offsets count from the start of the text it was found in."""

    prefix: str
    quote: str
    start: int
    body_start: int
    body_end: int
    end: int

    @property
    def is_raw(self) -> bool:
        return "r" in self.prefix.lower()

    @property
    def is_formatted(self) -> bool:
        return "f" in self.prefix.lower()

    def write(self, text: str, *, braces: bool | None = None) -> str | None:
        """``text`` as it must stand in the body; None when this kind of literal cannot hold it.

        Braces are doubled in an f-string, or as ``braces`` says.
        """
        if not text.isprintable():
            return None
        if self.is_raw and ("\\" in text or self.quote[0] in text):
            return None
        escaped = text.replace("\\", "\\\\").replace(self.quote[0], "\\" + self.quote[0])
        if self.is_formatted if braces is None else braces:
            escaped = escaped.replace("{", "{{").replace("}", "}}")
        return escaped


def literals(text: str) -> list[Literal] | None:
    """The string tokens of an (implicitly joined) literal; None when the text is anything else.

    F-strings whose fields hold the quote of the string (Python 3.12) are not understood and give None.
    """
    found: list[Literal] = []
    at = 0
    while at < len(text):
        match = _LITERAL.match(text, at)
        if match is None or match["prefix"].lower() not in ("", "r", "u", "f", "rf", "fr"):
            return None
        body = "long" if match["three"] is not None else "short"
        quote = match["three"] or match["one"]
        found.append(Literal(match["prefix"], quote, at, match.start(body), match.end(body), match.end()))
        gap = _GAP.match(text, match.end())
        at = gap.end() if gap else match.end()
    return found or None


def quoted(source: Source, text: str) -> str:
    """A new literal in the quotes the file uses most."""
    quote = "'" if source.text.count("'") > source.text.count('"') else '"'
    return repr(text) if quote == "'" or not re.fullmatch(r"[^\"'\\]*", text) else f'"{text}"'
