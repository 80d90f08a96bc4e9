"""The flake8 plugin: the findings of ``torchlint check``, by flake8's own files, selection and output.

flake8 selects (``--select``, ``--ignore``, ``per-file-ignores``) and honours ``# noqa``; the configuration of torchlint
still chooses the rules, their settings and what is left out.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator, Sequence
from functools import lru_cache

from torchlint import __version__
from torchlint.catalogue import renderer, spoken_language
from torchlint.config import ConfigError, Configs
from torchlint.inspection import inspect
from torchlint.patterns import Patterns
from torchlint.selection import SelectionError, available_rules
from torchlint.source import Source
from torchlint.tasks import project_of
from torchlint.unused_suppression import UnusedSuppression


class Plugin:
    """What flake8 makes for each file; ``tree`` marks it as a plugin that runs once a file."""

    name = "torchlint"
    version = __version__

    def __init__(self, tree: ast.AST, lines: Sequence[str], filename: str) -> None:
        self._text = "".join(lines)
        self._path = filename

    def run(self) -> Iterator[tuple[int, int, str, type[Plugin]]]:
        """Row, column (from 0), ``CODE message`` and the plugin, for each finding."""
        path = "stdin.py" if self._path in ("stdin", "-") else self._path
        try:
            config = _configs(os.getcwd()).of_file(path)
            # flake8 itself removes what a noqa comment silences, so no comment can be called unused here.
            rules = [rule for rule in config.rules_for(path, available_rules()) if rule is not UnusedSuppression]
        except (ConfigError, SelectionError) as error:
            yield 1, 0, f"TL000 configuration error, nothing is checked: {error}", type(self)
            return
        if Patterns(config.exclude, config.root).matches(path):
            return
        source = Source(path, self._text.encode("utf-8", "surrogatepass"), self._text)
        result = inspect(source, [rule() for rule in rules], project_of(path), config.settings)
        render = renderer(spoken_language())
        for finding in result.findings:
            yield (
                finding.span.row,
                finding.span.column - 1,
                f"{finding.code} {render(finding.message)}: {render(finding.help)}",
                type(self),
            )
        for problem in result.problems:  # what does not parse is flake8's own E999
            if problem.message.startswith("internal error"):
                yield problem.row or 1, 0, f"TL000 {problem.message}", type(self)


@lru_cache(maxsize=1)
def _configs(folder: str) -> Configs:
    return Configs(available_rules())
