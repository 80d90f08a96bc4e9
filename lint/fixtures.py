"""Fixture files of a rule: where they lie, which rules run on them, and how they are read and checked."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from torchlint.findings import Finding
from torchlint.inspection import inspect
from torchlint.notebook import is_notebook, read_notebook
from torchlint.selection import available_rules
from torchlint.semantics.project import Project
from torchlint.source import Source, read_source

if TYPE_CHECKING:
    from torchlint.rules.rule import Rule

GOLDEN = ".fixed"
_SUFFIXES = (".py", ".ipynb")


@dataclass(frozen=True, slots=True)
class Case:
    """One fixture file of ``rule``. ``rules`` all run on it; ``root`` is the folder that counts as its project."""

    path: Path
    rule: type[Rule]
    rules: tuple[type[Rule], ...]
    folder: Path
    root: Path

    def __str__(self) -> str:
        return f"{self.rule.code}/{self.path.relative_to(self.folder).as_posix()}"

    @property
    def golden(self) -> Path:
        """Where the fixed form lies, if there is one."""
        return self.path.with_name(f"{self.path.stem}{GOLDEN}{self.path.suffix}")

    @property
    def source(self) -> Source:
        """The file, read anew. Raises SourceError."""
        return read(str(self.path), self.path.read_bytes())

    def findings(self, source: Source) -> tuple[Finding, ...]:
        """What all rules report on ``source``, suppression comments applied. A problem is an AssertionError."""
        result = inspect(source, [rule() for rule in self.rules], Project(str(self.root)))
        assert not result.problems, "\n".join(map(str, result.problems))
        return result.findings


def fixture_cases(folder: Path, rule: type[Rule], alongside: Iterable[type[Rule]] | None = None) -> list[Case]:
    """The fixtures of one rule, sorted.

    ``alongside`` are the rules that run with it, by default all that come with torchlint. Raises FileNotFoundError
    when the folder is missing or holds no fixture.
    """
    others = tuple(available_rules() if alongside is None else alongside)
    rules = others if rule in others else (*others, rule)
    found = []
    for path in sorted(folder.rglob("*")) if folder.is_dir() else ():
        if path.suffix in _SUFFIXES and not path.stem.endswith(GOLDEN):
            inside = path.relative_to(folder).parts
            found.append(Case(path, rule, rules, folder, folder if len(inside) == 1 else folder / inside[0]))
    if not found:
        raise FileNotFoundError(f"{rule.code} {rule.name} has no fixtures: {folder} holds no Python file or notebook")
    return found


def read(path: str, raw: bytes) -> Source:
    """A module or a notebook, by its name. Raises SourceError."""
    return read_notebook(path, raw) if is_notebook(path) else read_source(path, raw)
