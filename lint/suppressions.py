"""Comments that silence findings, read from tokens: a string or docstring that contains such words silences nothing."""

from __future__ import annotations

import re
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from torchlint.findings import Finding
from torchlint.source import Source

MENTIONED = re.compile(r"noqa|torchlint\s*:", re.IGNORECASE)
_CODE = r"[A-Z]+[0-9]+(?!\w)"
_NOQA = re.compile(
    rf"#\s*(?P<word>noqa)(?![\w-])(?:\s*:\s*(?P<codes>{_CODE}(?:(?:\s*,\s*|\s+){_CODE})*)|(?P<bare>\s*:))?",
    re.IGNORECASE,
)
_IGNORE = re.compile(
    r"#\s*torchlint\s*:\s*(?P<word>ignore-file|ignore)(?![\w-])(?:\s*\[(?P<codes>[^\]#]*)\])?", re.IGNORECASE
)
# A file-level comment of another tool, such as ruff or flake8, names it before the word.
_FOREIGN = re.compile(r"#\s*(?!torchlint)[\w-]+\s*:\s*$", re.IGNORECASE)
_ITEM = re.compile(r"[\w-]+")


@dataclass(frozen=True, slots=True)
class Item:
    """One code or name in a comment, and where it stands (character offsets into the text)."""

    word: str
    start: int
    end: int

    def names(self, finding: Finding) -> bool:
        """Whether the finding's rule is meant."""
        return self.word.upper() == finding.code or self.word.lower() == finding.name


@dataclass(frozen=True, slots=True)
class Suppression:
    """One comment, ``items`` None for the blanket form; ``start``/``end`` span the directive, not the whole comment."""

    row: int
    start: int
    end: int
    style: str  # "noqa" or "torchlint"
    whole_file: bool
    items: tuple[Item, ...] | None

    def covers(self, finding: Finding) -> bool:
        """Whether it silences this finding, and so is of use."""
        if not self.whole_file and not finding.first_row <= self.row <= finding.last_row:
            return False
        return self.items is None or any(item.names(finding) for item in self.items)


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment token: its row, its text and the offset of its ``#``."""

    row: int
    text: str
    start: int


class Suppressions:
    """All suppression comments of a source; tokenised only if the text mentions the words."""

    def __init__(self, source: Source) -> None:
        self._source = source

    @cached_property
    def all(self) -> tuple[Suppression, ...]:
        """In the order of the text."""
        if not MENTIONED.search(self._source.text):
            return ()
        found: list[Suppression] = []
        for comment in comments(self._source):
            found.extend(_read(comment))
        return tuple(found)

    def split(self, findings: Iterable[Finding]) -> tuple[tuple[Finding, ...], tuple[Finding, ...]]:
        """The findings to report and the silenced ones."""
        if not self.all:
            return tuple(findings), ()
        kept: list[Finding] = []
        silenced: list[Finding] = []
        for finding in findings:
            (silenced if any(each.covers(finding) for each in self.all) else kept).append(finding)
        return tuple(kept), tuple(silenced)


def comments(source: Source) -> Iterator[Comment]:
    """The comments of a source. Ends early where the text cannot be tokenised: such a file is not checked either."""
    lines = tokenizable(source)
    try:
        for token in tokenize.generate_tokens(lambda: next(lines, "")):
            if token.type == tokenize.COMMENT:
                row, column = token.start
                yield Comment(row, token.string, source.line_starts[row - 1] + column)
    except (tokenize.TokenError, SyntaxError):
        return


def tokenizable(source: Source) -> Iterator[str]:
    """The rows of a source with ends that ``tokenize`` knows: it takes a CR alone for an error."""
    starts = source.line_starts
    for start, end in zip(starts, [*starts[1:], len(source.text)], strict=True):
        row = source.text[start:end]
        yield row[:-1] + "\n" if row.endswith("\r") else row


def _read(comment: Comment) -> Iterator[Suppression]:
    text = comment.text
    for match in _IGNORE.finditer(text):
        codes = match["codes"]
        items = None if codes is None else tuple(_items(comment, match.start("codes"), match.end("codes")))
        whole = match["word"].lower() == "ignore-file"
        yield _suppression(comment, match, "torchlint", whole, items)
    for match in _NOQA.finditer(text):
        if _FOREIGN.search(text[: match.start("word")]):
            continue
        if match["bare"]:
            continue  # a colon and then no code: reading it as blanket would silence too much
        items = None if match["codes"] is None else tuple(_items(comment, match.start("codes"), match.end("codes")))
        yield _suppression(comment, match, "noqa", False, items)


def _suppression(
    comment: Comment, match: re.Match[str], style: str, whole: bool, items: tuple[Item, ...] | None
) -> Suppression:
    start, end = comment.start + match.start(), comment.start + match.end()
    return Suppression(comment.row, start, end, style, whole, items)


def _items(comment: Comment, start: int, end: int) -> Iterator[Item]:
    for match in _ITEM.finditer(comment.text, start, end):
        yield Item(match.group(), comment.start + match.start(), comment.start + match.end())
