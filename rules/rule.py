"""What a rule is, and how all rules are found."""

from __future__ import annotations

import abc
import ast
import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from functools import lru_cache
from types import GenericAlias
from typing import TYPE_CHECKING, ClassVar

from torchlint.findings import Finding, Fix, Severity, Span, Text
from torchlint.rules.screens import Screen

if TYPE_CHECKING:
    from torchlint.semantics.program import Program

SECTIONS = (
    "What it does",
    "Why it matters",
    "Example",
    "Use instead",
    "Fix safety",
    "Stays quiet when",
    "References",
)


class Rule(abc.ABC):
    """One defect. Subclasses set the class variables, a docstring with all :data:`SECTIONS`, and :meth:`check`.

    ``screen`` must find something in every file in which the rule can report: another file is never parsed. A pattern of
    bytes will do; :func:`torchlint.rules.screens.having` is faster.
    """

    code: ClassVar[str]
    name: ClassVar[str]
    severity: ClassVar[Severity]
    screen: ClassVar[Screen]
    default: ClassVar[bool] = True

    @abc.abstractmethod
    def check(self, program: Program) -> Iterator[Finding]:
        """Yield the findings of one file, in any order."""

    def finding(
        self,
        program: Program,
        node: ast.AST,
        message: Text,
        help: Text,
        fix: Fix | None = None,
        *,
        span: Span | None = None,
    ) -> Finding:
        """A finding at ``node``: on the last name of a call's callee, on the header of a ``with``, else on the node itself."""
        first, last = program.statement_rows(node)
        return Finding(
            path=program.source.path,
            span=span or program.span(node),
            code=self.code,
            name=self.name,
            message=message,
            help=help,
            severity=self.severity,
            first_row=first,
            last_row=last,
            fix=fix,
        )


class DuplicateRule(Exception):
    """Two rules claim one code or one name."""


@lru_cache(maxsize=1)
def builtin_rules() -> tuple[type[Rule], ...]:
    """The rules of this package in the order of their codes. Raises DuplicateRule."""
    package = importlib.import_module("torchlint.rules")
    found: list[type[Rule]] = []
    for module in pkgutil.iter_modules(package.__path__):
        if re.fullmatch(r"tl\d{3}_\w+", module.name):
            found.extend(rules_in(importlib.import_module(f"torchlint.rules.{module.name}")))
    return check_unique(found)


def rules_in(module: object) -> list[type[Rule]]:
    """The concrete rules a module defines itself."""
    return [
        value
        for value in vars(module).values()
        if isinstance(value, type)
        and not isinstance(value, GenericAlias)  # such as list[int], which Python 3.10 takes for a class
        and issubclass(value, Rule)
        and not inspect.isabstract(value)
        and value.__module__ == getattr(module, "__name__", None)
    ]


def check_unique(rules: list[type[Rule]]) -> tuple[type[Rule], ...]:
    """The rules sorted by code. Raises DuplicateRule when a code or name occurs twice."""
    seen: dict[str, type[Rule]] = {}
    for rule in rules:
        for key in (rule.code, rule.name):
            if key in seen:
                raise DuplicateRule(f"{key} is claimed by {seen[key].__qualname__} and {rule.__qualname__}")
            seen[key] = rule
    return tuple(sorted(rules, key=lambda rule: rule.code))


def documentation(rule: type[Rule]) -> dict[str, str]:
    """The docstring of a rule, section by section, dedented; the text before the first section has the key ''."""
    parts: dict[str, str] = {}
    title = ""
    lines: list[str] = []
    for line in inspect.cleandoc(rule.__doc__ or "").splitlines():
        heading = line.removeprefix("## ").strip()
        if line.startswith("## ") and heading in SECTIONS:
            parts[title] = "\n".join(lines).strip("\n")
            title, lines = heading, []
        else:
            lines.append(line)
    parts[title] = "\n".join(lines).strip("\n")
    return parts
