"""Results of earlier runs, kept in ``.torchlint_cache/`` below the current folder.

A result is found again by the path, the bytes, the rules and settings, the Python and the torchlint that gave it. What else
it depended on stands in the entry: nothing, which files the project has, or what is in them; and files outside the project's
list by name, whether they were there or not. Entries are written whole or not at all, and an entry that cannot be read is
as good as none, so that runs at the same time and killed runs do no harm.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
import tempfile
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from torchlint import __version__
from torchlint.findings import Edit, Finding, Fix, Safety, Severity, Span, Text
from torchlint.tasks import FileResult, Plan, Task, project_of

FOLDER = ".torchlint_cache"
_MOST_OTHERS = 100  # files outside the project's list that one entry may depend on


@dataclass(frozen=True, slots=True)
class Cache:
    """A :class:`~torchlint.tasks.Store` in a folder; may be used from several processes."""

    folder: str = FOLDER

    def get(self, task: Task, raw: bytes) -> FileResult | None:
        """The result for these bytes under this plan, if everything it depended on is unchanged."""
        try:
            with open(self._place(task, raw), encoding="ascii") as file:
                entry = json.load(file)
            return _result(entry["result"]) if self._holds(task, entry) else None
        except (OSError, ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
            return None

    def put(self, task: Task, raw: bytes, result: FileResult) -> None:
        """Keep a result that has just been computed. A folder that cannot be written, or is a link, is no error."""
        if os.path.islink(self.folder):
            return  # it may have come with the code that is checked, and lead anywhere
        project = project_of(task.path)
        entry: dict[str, Any] = {"depends": project.asked, "result": _plain(result)}
        if project.asked:
            others = sorted(project.others)
            if len(others) > _MOST_OTHERS or os.path.abspath(task.path) not in project.listed():
                return
            entry["root"] = project.root
            entry["project"] = project.fingerprint(project.asked)
            entry["others"] = [[path, project.digest(path)] for path in others]
        with contextlib.suppress(OSError):
            self._write(self._place(task, raw), json.dumps(entry, separators=(",", ":")))

    def _holds(self, task: Task, entry: dict[str, Any]) -> bool:
        if not entry["depends"]:
            return True
        project = project_of(task.path)
        return (
            entry["root"] == project.root
            and os.path.abspath(task.path) in project.listed()
            and entry["project"] == project.fingerprint(entry["depends"])
            and all(project.digest(path) == digest for path, digest in entry["others"])
        )

    def _place(self, task: Task, raw: bytes) -> str:
        key = hashlib.blake2b(_plan_key(task.plan), digest_size=20)
        key.update(os.fsencode(task.path) + b"\0")
        key.update(raw)
        name = key.hexdigest()
        return os.path.join(self.folder, f"{__version__}-{_tool()}", name[:2], name[2:])

    def _write(self, path: str, text: str) -> None:
        if not os.path.isdir(self.folder):
            os.makedirs(self.folder, exist_ok=True)
            with open(os.path.join(self.folder, ".gitignore"), "w", encoding="ascii") as file:
                file.write("*\n")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=os.path.dirname(path), suffix=".new")
        try:
            with open(descriptor, "w", encoding="ascii") as file:
                file.write(text)
            os.replace(temporary, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise


@lru_cache(maxsize=256)
def _plan_key(plan: Plan) -> bytes:
    rules = [(rule.__module__, rule.__qualname__, rule.code, _stamp(rule.__module__)) for rule in plan.rules]
    return repr((rules, plan.settings)).encode()


def _stamp(module: str) -> tuple[int, int] | None:
    """Size and time of the file of a rule: rules of other people change without a new version of torchlint."""
    file = getattr(sys.modules.get(module), "__file__", None)
    try:
        found = os.stat(file) if file else None
    except OSError:
        found = None
    return None if found is None else (found.st_size, found.st_mtime_ns)


@lru_cache(maxsize=1)
def _tool() -> str:
    """What stands for the installed torchlint and the Python that parses: a changed source file makes another tool."""
    import torchlint
    import torchlint.rules

    found: list[tuple[str, int, int]] = []
    pending = [*torchlint.__path__, *torchlint.rules.__path__]
    for folder in pending:
        for entry in os.scandir(folder):
            if entry.is_dir(follow_symlinks=False):
                if entry.name != "__pycache__":
                    pending.append(entry.path)
            elif entry.name.endswith(".py"):
                found.append((entry.path, entry.stat().st_size, entry.stat().st_mtime_ns))
    return hashlib.blake2b(repr((sys.version_info, sorted(found))).encode(), digest_size=8).hexdigest()


def _plain(result: FileResult) -> list[Any]:
    return [result.path, [_plain_finding(f) for f in result.findings], result.silenced, list(result.notes)]


def _result(plain: list[Any]) -> FileResult:
    path, findings, silenced, notes = plain
    return FileResult(path, tuple(_finding(f) for f in findings), int(silenced), (), tuple(map(str, notes)))


def _plain_finding(finding: Finding) -> list[Any]:
    span, fix = finding.span, finding.fix
    return [
        finding.path,
        [span.row, span.column, span.end_row, span.end_column],
        [finding.code, finding.name, finding.severity.value],
        [_plain_text(finding.message), _plain_text(finding.help)],
        [finding.first_row, finding.last_row, finding.cell],
        None
        if fix is None
        else [
            _plain_text(fix.title),
            fix.safety.value,
            [[edit.start, edit.end, edit.text] for edit in fix.edits],
            None if fix.reason is None else _plain_text(fix.reason),
        ],
    ]


def _finding(plain: list[Any]) -> Finding:
    path, span, (code, name, severity), (message, help), (first, last, cell), fix = plain
    return Finding(
        path, Span(*span), code, name, _text(message), _text(help), Severity(severity), first, last,
        None if fix is None else _fix(fix), cell,
    )  # fmt: skip


def _fix(plain: list[Any]) -> Fix:
    title, safety, edits, reason = plain
    made = tuple(Edit(*edit) for edit in edits)
    return Fix(_text(title), Safety(safety), made, None if reason is None else _text(reason))


def _plain_text(text: Text) -> list[Any]:
    return [text.template, [list(pair) for pair in text.args]]


def _text(plain: list[Any]) -> Text:
    template, args = plain
    return Text(template, tuple((key, value) for key, value in args))
