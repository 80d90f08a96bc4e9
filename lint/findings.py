"""The data that travels between stages: findings, fixes and edits. Frozen, picklable, free of syntax nodes."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Safety(enum.Enum):
    """How far a fix may be trusted.

    SAFE means the same program, or exactly what its author meant; UNSAFE is right but can change behaviour the author may rely
    on; MANUAL is a suggestion that is shown and never applied.
    """

    SAFE = "safe"
    UNSAFE = "unsafe"
    MANUAL = "manual"


class Severity(enum.Enum):
    """What happens if the finding is ignored."""

    ERROR = "error"  # wrong results or a crash
    WARNING = "warning"  # wasted time, memory or portability


@dataclass(frozen=True, slots=True)
class Text:
    """A sentence with its parameters kept apart, so that a report can show it in another language.

    ``template`` is the English sentence and at the same time the key of the translation catalogue.
    """

    template: str
    args: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        return self.template.format(**dict(self.args)) if self.args else self.template.format()


def text(template: str, **args: object) -> Text:
    """Build a :class:`Text`; literal braces in the template must be doubled."""
    return Text(template, tuple((key, str(value)) for key, value in args.items()))


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A stretch of source: rows and columns count from 1, columns in characters, the end is exclusive."""

    row: int
    column: int
    end_row: int
    end_column: int


@dataclass(frozen=True, slots=True, order=True)
class Edit:
    """Replace ``text[start:end]`` (character offsets into :attr:`Source.text`) by ``text``."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Fix:
    """What would cure a finding.

    ``edits`` is empty exactly when ``safety`` is MANUAL and no concrete text can be offered. ``reason`` says why the fix is not
    SAFE (or why it is withheld); it is None for safe fixes that need no words.
    """

    title: Text
    safety: Safety
    edits: tuple[Edit, ...] = ()
    reason: Text | None = None

    @property
    def applicable(self) -> bool:
        """Whether a tool may apply it at all (safe or unsafe)."""
        return bool(self.edits) and self.safety is not Safety.MANUAL


@dataclass(frozen=True, slots=True)
class Finding:
    """One defect at one place.

    ``message`` says what is wrong and why it matters, ``help`` what to do. ``first_row``/``last_row`` are the rows of the
    statement (the header of a compound one) on which a suppression comment counts. ``cell`` and the rows of ``span`` refer to
    the notebook cell when the source is a notebook (cells count from 1), else ``cell`` is None.
    """

    path: str
    span: Span
    code: str
    name: str
    message: Text
    help: Text
    severity: Severity
    first_row: int
    last_row: int
    fix: Fix | None = None
    cell: int | None = None

    @property
    def sort_key(self) -> tuple[str, int, int, int, str]:
        """Order of reports: path, cell, row, column, code."""
        return (self.path, self.cell or 0, self.span.row, self.span.column, self.code)


@dataclass(frozen=True, slots=True)
class Problem:
    """A file that could not be handled, or a rule that failed on it; goes to stderr and makes the exit code 2."""

    path: str
    message: str
    row: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        where = self.path if self.row is None else f"{self.path}:{self.row}"
        if self.row is not None and self.column is not None:
            where += f":{self.column}"
        return f"{where}: {self.message}"
