"""Living with old code: ``--write-baseline`` and ``--add-noqa``."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from torchlint import baseline as baselines
from torchlint.commands.output import report_problem, say
from torchlint.files import read
from torchlint.findings import Problem, text
from torchlint.fixing import edited
from torchlint.reports.summary import count_files, count_findings
from torchlint.silencing import silence
from torchlint.source import SourceError
from torchlint.tasks import FileResult, Task, open_source
from torchlint.writing import WriteError, write_file

if TYPE_CHECKING:
    from torchlint.commands.checking import Session


def write_baseline(session: Session, path: str) -> int:
    """Make all findings known ones. What the file knows of files that were not checked stays."""
    from torchlint.commands.checking import checked

    try:
        old = baselines.read(path) if os.path.exists(path) else baselines.Baseline(path)
    except baselines.BaselineError as error:
        raise click.ClickException(str(error)) from None
    entries = list(old.elsewhere(task.path for task in session.tasks))
    kept = len(entries)
    failed = bool(session.inputs.found.problems)
    for result in checked(session):
        for problem in result.problems:
            report_problem(problem)
            failed = True
        entries.extend(old.entry(finding, session.sources(finding.path)) for finding in result.findings)
    temporary = f"{path}.{os.getpid()}.tmp"
    try:
        with open(temporary, "wb") as file:
            file.write(baselines.content(entries))
        os.replace(temporary, path)
    except OSError as error:
        raise click.ClickException(f"{path}: cannot be written: {error.strerror}") from None
    if not session.options.quiet:
        render = session.render
        wrote = render(count_findings(len(entries) - kept))
        if kept:
            told = text(
                "Wrote {findings} to {path} and kept {kept} of files that were not checked.",
                findings=wrote,
                path=path,
                kept=kept,
            )
        else:
            told = text("Wrote {findings} to {path}.", findings=wrote, path=path)
        say(render(told))
        say(render(text("From now on, --baseline {path} reports new ones only.", path=path)))
    return 2 if failed else 0


def add_noqa(session: Session) -> int:
    """Write ``# noqa`` comments for all findings."""
    from torchlint.commands.checking import checked

    if session.inputs.raw is not None:
        raise click.UsageError("--add-noqa writes into files, so it does not take standard input")
    failed = bool(session.inputs.found.problems)
    silenced = files = 0
    for task, result in zip(session.tasks, checked(session), strict=True):
        done, problems = _silence(session, task, result)
        for problem in (*result.problems, *problems):
            report_problem(problem)
            failed = True
        silenced += done
        files += bool(done)
    if not session.options.quiet:
        what, where = session.render(count_findings(silenced)), session.render(count_files(files))
        say(session.render(text("Silenced {findings} in {files}.", findings=what, files=where)))
    return 2 if failed else 0


def _silence(session: Session, task: Task, result: FileResult) -> tuple[int, list[Problem]]:
    """How many findings of a file were silenced, and what went wrong."""
    findings = [finding for finding in result.findings if finding.code != "TL001"]
    if session.baseline is not None:
        findings = list(session.baseline.new(findings, session.sources))
    if not findings:
        return 0, []
    try:
        raw = read(task.path)
        source = open_source(task.path, raw)
        edits, failed = silence(source, findings)
        problems = [
            Problem(task.path, f"no row of the statement can carry a comment for {finding.code}", finding.span.row)
            for finding in failed
        ]
        if edits:
            write_file(task.path, edited(source, edits).raw, expected=raw, roots=session.options.paths or (".",))
    except WriteError as error:
        return 0, [Problem(task.path, error.message)]
    except (OSError, SourceError, ValueError) as error:
        return 0, [Problem(task.path, f"is not changed: {error}")]
    return len(findings) - len(failed), problems
