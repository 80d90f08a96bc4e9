"""The one object a rule receives: its questions to the source, the tree and all that is known about meaning."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

from torchlint.findings import Span
from torchlint.semantics.callees import Callees
from torchlint.semantics.classes import definition
from torchlint.semantics.names import Names
from torchlint.semantics.scopes import Scopes
from torchlint.semantics.surface import defined
from torchlint.semantics.tree import FUNCTIONS, FunctionNode, Tree, build_tree
from torchlint.semantics.values import Values
from torchlint.settings import DEFAULTS, Settings
from torchlint.source import Source, SourceError

if TYPE_CHECKING:
    from torchlint.semantics.flow import Flow
    from torchlint.semantics.project import Definition, Project


class Program:
    """One parsed file. Everything beyond the tree is computed when first asked for."""

    def __init__(
        self, source: Source, module: ast.Module, project: Project | None = None, settings: Settings = DEFAULTS
    ) -> None:
        self.source = source
        self.module = module
        self.project = project
        self.settings = settings
        self._memos: dict[str, dict[ast.AST, Any]] = {}
        self._flows: dict[frozenset[str], Flow] = {}
        if project is not None:
            project.adopt(source.path, self)

    @cached_property
    def tree(self) -> Tree:
        """Parents, blocks and the lists of calls, withs, functions and classes."""
        return build_tree(self.module)

    @cached_property
    def defined(self) -> dict[str, FunctionNode | ast.ClassDef]:
        """The functions and classes that importers get by name, found without looking below the top-level statements."""
        return defined(self.module)

    @cached_property
    def scopes(self) -> Scopes:
        """Bindings of every scope, and which of them reach a use."""
        return Scopes(self.tree)

    @cached_property
    def names(self) -> Names:
        """Dotted names behind expressions."""
        return Names(self.tree, self.scopes, self.project, self.source.path)

    @cached_property
    def callees(self) -> Callees:
        """The calls by the last part of what they call."""
        return Callees(self.tree, self.project, self.source.path)

    @cached_property
    def values(self) -> Values:
        """Constants, call arguments and dict contents."""
        return Values(self.tree, self.scopes)

    @cached_property
    def flow(self) -> Flow:
        """The train/eval mode of every model, and where models run."""
        from torchlint.semantics.flow import Flow

        return Flow(self)

    def flow_to(self, names: frozenset[str]) -> Flow:
        """The same, followed also from whatever leads to functions or classes of these names in other files."""
        from torchlint.semantics.flow import Flow

        if names not in self._flows:
            self._flows[names] = Flow(self, names)
        return self._flows[names]

    def memo(self, purpose: str) -> dict[ast.AST, Any]:
        """A store for results about nodes of this file, one per purpose, kept as long as the file is."""
        return self._memos.setdefault(purpose, {})

    def forget_derived(self) -> None:
        """Drop what was concluded with the help of other files."""
        self._memos.clear()
        self._flows.clear()
        self.__dict__.pop("flow", None)

    def release(self) -> None:
        """Let go of everything that was computed. What refers to itself would otherwise wait for garbage collection."""
        self.forget_derived()
        if "scopes" in self.__dict__:
            self.scopes.release()
        for name in ("tree", "scopes", "names", "callees", "values", "defined"):
            self.__dict__.pop(name, None)

    def definition(self, expr: ast.expr) -> Definition | None:
        """The function or class an expression certainly means, in this file or another of the project."""
        return definition(self, expr)

    def calls_to(self, *dotted: str) -> Iterator[ast.Call]:
        """Calls whose callee certainly is one of the dotted names, in source order."""
        return (call for call in self.callees.candidates(dotted) if self.names.matches(call.func, *dotted))

    def span(self, node: ast.AST) -> Span:
        """Where a finding about ``node`` stands."""
        if isinstance(node, ast.Call):
            return self._last_name(node.func)
        if isinstance(node, ast.With | ast.AsyncWith):
            return self._range(node, node.items[-1].optional_vars or node.items[-1].context_expr)
        if isinstance(node, ast.For | ast.AsyncFor):
            return self._range(node, node.iter)
        if isinstance(node, ast.While):
            return self._range(node, node.test)
        return self._range(node, node)

    def _last_name(self, callee: ast.expr) -> Span:
        span = self._range(callee, callee)
        if isinstance(callee, ast.Attribute):
            width = len(callee.attr)
            if span.end_column > width:
                return Span(span.end_row, span.end_column - width, span.end_row, span.end_column)
        return span

    def _range(self, first: ast.AST, last: ast.AST) -> Span:
        source = self.source
        start = source.position(self.start(first))
        end = source.position(self.end(last))
        return Span(*start, *end)

    def start(self, node: ast.AST) -> int:
        """Character offset of the first character of ``node``."""
        return self.source.offset(node.lineno, node.col_offset)  # type: ignore[attr-defined]

    def end(self, node: ast.AST) -> int:
        """Character offset behind the last character of ``node``."""
        return self.source.offset(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]

    def code(self, node: ast.AST) -> str:
        """The source text of ``node``, exactly as written."""
        return self.source.text[self.start(node) : self.end(node)]

    def statement_rows(self, node: ast.AST) -> tuple[int, int]:
        """First and last row of the statement around ``node``; of a compound statement only the header counts."""
        statement = self.tree.statement(node)
        first, last = statement.lineno, statement.end_lineno or statement.lineno
        if isinstance(statement, (*FUNCTIONS, ast.ClassDef)):
            first = min([first, *(d.lineno for d in statement.decorator_list)])
        body = getattr(statement, "body", None)
        if isinstance(body, list) and body and isinstance(body[0], ast.stmt):
            last = max(statement.lineno, body[0].lineno - 1)
            if isinstance(node, ast.expr):
                last = max(statement.lineno, getattr(node, "end_lineno", 0) or 0)
        return first, last


def parse(source: Source) -> ast.Module:
    """Parse a module. Raises SourceError with the row for anything that is not valid Python here."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source.text, filename=source.path)
    except SyntaxError as error:
        raise SourceError(f"syntax error: {error.msg}", error.lineno, error.offset) from None
    except (RecursionError, MemoryError):
        raise SourceError("is nested too deeply to be parsed") from None
    except ValueError as error:
        raise SourceError(str(error)) from None
