"""The public functions of the package: check and fix text, check files. They stay stable between minor versions.

Findings, fixes and edits are the frozen data of :mod:`torchlint.findings`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

from torchlint.findings import Finding, Problem

if TYPE_CHECKING:
    from os import PathLike

    from torchlint.rules.rule import Rule
    from torchlint.source import Source
    from torchlint.tasks import FileResult

Code = TypeVar("Code", str, bytes)


class TorchlintError(Exception):
    """A source cannot be read, a rule or a fix failed on it; the text names file, row and reason."""


def check_source(
    code: str | bytes,
    path: str = "source.py",
    *,
    select: Sequence[str] | None = None,
    ignore: Sequence[str] = (),
) -> list[Finding]:
    """The findings in a module, or in a notebook if ``path`` ends in ``.ipynb``; suppression comments count.

    ``select`` and ``ignore`` take codes, prefixes, names and ``ALL``; without ``select`` the rules that are on by
    default run. ``path`` names the source in findings, and other files of its project are looked up from there. No
    configuration file is read. Raises TorchlintError, and SelectionError for an unknown rule.
    """
    from torchlint.inspection import inspect
    from torchlint.tasks import project_of

    result = inspect(_source(code, path), _rules(select, ignore), project_of(path))
    _sound(result.problems)
    return list(result.findings)


def fix_source(
    code: Code,
    path: str = "source.py",
    *,
    unsafe: bool = False,
    select: Sequence[str] | None = None,
    ignore: Sequence[str] = (),
) -> Code:
    """The source with all safe fixes applied, with ``unsafe`` all of them; bytes for bytes, text for text.

    Options and errors are those of :func:`check_source`.
    """
    from torchlint.fixing import fix_source as fix
    from torchlint.tasks import project_of

    result = fix(_source(code, path), _rules(select, ignore), project_of(path), unsafe=unsafe)
    _sound(result.problems)
    raw = result.source.raw
    return raw.decode(result.source.encoding) if isinstance(code, str) else raw


def check_paths(
    paths: Iterable[str | PathLike[str]],
    *,
    select: Sequence[str] | None = None,
    ignore: Sequence[str] = (),
    jobs: int = 1,
) -> Iterator[FileResult]:
    """Check files and folders as ``torchlint check`` does: ``.gitignore``, configuration files and comments count.

    Yields one result a file, sorted by path, with its findings and problems; a file that cannot be read is a problem,
    not an exception. With ``jobs`` above 1, worker processes start if there is enough to do. Raises ConfigError, and
    SelectionError for an unknown rule.
    """
    import os

    from torchlint.config import Configs
    from torchlint.files import discover
    from torchlint.planning import Planner
    from torchlint.runner import run
    from torchlint.selection import Selection, available_rules
    from torchlint.tasks import FileResult

    rules = available_rules()
    found = discover([os.fspath(path) for path in paths], Configs(rules))
    layer = Selection(None if select is None else tuple(select), ignore=tuple(ignore))
    tasks = Planner(rules, [layer]).tasks(found.targets)
    for problem in found.problems:
        yield FileResult(problem.path, problems=(problem,))
    yield from run(tasks, jobs=jobs)


def _rules(select: Sequence[str] | None, ignore: Sequence[str]) -> list[Rule]:
    from torchlint.selection import Selection, available_rules, choose

    layer = Selection(None if select is None else tuple(select), ignore=tuple(ignore))
    return [rule() for rule in choose(available_rules(), [layer])]


def _source(code: str | bytes, path: str) -> Source:
    """The source as if it lay in a file. Raises TorchlintError."""
    from torchlint.source import SourceError
    from torchlint.tasks import open_source

    try:
        if isinstance(code, bytes):
            return open_source(path, code)
        source = open_source(path, code.encode("utf-8"))
        # A cookie counts: the text is taken as what a file with these characters would hold.
        return source if source.encoding == "utf-8" else open_source(path, code.encode(source.encoding))
    except SourceError as error:
        raise TorchlintError(str(Problem(path, error.message, error.row, error.column))) from None
    except UnicodeEncodeError as error:
        raise TorchlintError(f"{path}: cannot be written as {error.encoding}: {error.reason}") from None


def _sound(problems: Sequence[Problem]) -> None:
    if problems:
        raise TorchlintError("; ".join(map(str, problems)))
