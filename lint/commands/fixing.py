"""``torchlint fix``, ``check --fix`` and ``--diff``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from torchlint.commands.output import Output, report_problem, say
from torchlint.deadline import TimeLimitReached, time_limit
from torchlint.diff import unified_diff
from torchlint.files import read
from torchlint.findings import Problem, Text, text
from torchlint.fixing import Fixed, fix_source, is_wanted
from torchlint.reports.summary import count_errors, count_files
from torchlint.source import SourceError
from torchlint.tasks import FileResult, Task, collecting_later, given_up, internal_error, open_source, project_of
from torchlint.writing import WriteError, write_file

if TYPE_CHECKING:
    from torchlint.commands.checking import Session


@dataclass
class _Done:
    fixed: int = 0
    files: int = 0
    findings: int = 0
    problems: list[Problem] = field(default_factory=list)


def fix(session: Session) -> int:
    """Apply fixes, or show them; report what is left; the exit code."""
    from torchlint.commands.checking import checked, report

    done = _Done()
    results = checked(session)
    if session.options.diff:
        return _show(session, results, done)
    if session.inputs.raw is not None:
        return _filter(session, results, done)
    return report(session, (_fixed(session, *pair, done) for pair in _with_tasks(session, results)), lambda: done.fixed)


def _with_tasks(session: Session, results: Iterator[FileResult]) -> Iterator[tuple[Task, FileResult]]:
    return zip(session.tasks, results, strict=True)


def _fixed(session: Session, task: Task, result: FileResult, done: _Done) -> FileResult:
    """Fix one file on disk; what is left of its result."""
    outcome = _attempt(session, task, result)
    if outcome is None or not outcome.changed:
        return _left(result, outcome)
    try:
        write_file(task.path, outcome.source.raw, expected=_raw(task), roots=session.options.paths or (".",))
    except (WriteError, OSError) as error:
        message = error.message if isinstance(error, WriteError) else f"cannot be written: {error.strerror}"
        return replace(result, problems=(*result.problems, Problem(task.path, message)))
    done.fixed += len(outcome.applied)
    done.files += 1
    session.sources.forget(task.path)
    project_of(task.path).forget(task.path)
    return _left(result, outcome)


def _left(result: FileResult, outcome: Fixed | None) -> FileResult:
    if outcome is None:
        return result
    return replace(result, findings=outcome.remaining, silenced=outcome.silenced, problems=outcome.problems)


def _attempt(session: Session, task: Task, result: FileResult) -> Fixed | None:
    """What fixing would make of a file; None when there is nothing to fix or it cannot be done."""
    if not any(is_wanted(finding.fix, session.unsafe) for finding in result.findings):
        return None
    known = _known_codes(session, result)
    try:
        source = open_source(task.path, _raw(task))
        rules = [rule() for rule in task.plan.rules]
        project = project_of(task.path)
        with collecting_later(), time_limit(task.plan.settings.time_limit):
            fixed = fix_source(
                source,
                rules,
                project,
                task.plan.settings,
                unsafe=session.unsafe,
                select=lambda finding: finding.code not in known,
            )
    except (OSError, SourceError):
        return None  # the file changed between check and fix
    except TimeLimitReached:
        return Fixed(source, remaining=result.findings, problems=(given_up(task, "fix"),))
    except Exception as error:
        return Fixed(source, remaining=result.findings, problems=(internal_error(task.path, error),))
    return fixed


def _known_codes(session: Session, result: FileResult) -> frozenset[str]:
    """Rules with known findings in a file are left alone there: fixing moves lines, so which is which gets lost."""
    if session.baseline is None:
        return frozenset()
    return frozenset(finding.code for finding in session.baseline.known(result.findings, session.sources))


def _raw(task: Task) -> bytes:
    return read(task.path) if task.raw is None else task.raw


def _show(session: Session, results: Iterator[FileResult], done: _Done) -> int:
    """``--diff``: print the changes, write nothing."""
    failed = bool(session.inputs.found.problems)
    with Output(session.options.output_file) as output:
        for task, result in _with_tasks(session, results):
            outcome = _attempt(session, task, result)
            for problem in outcome.problems if outcome is not None else result.problems:
                report_problem(problem)
                failed = True
            if outcome is not None and outcome.changed:
                output.write_bytes(unified_diff(task.path, _raw(task), outcome.source.raw))
                done.fixed += len(outcome.applied)
                done.files += 1
            left = result.findings if outcome is None else outcome.remaining
            done.findings += sum(is_wanted(finding.fix, unsafe=True) for finding in left)
    if not session.options.quiet and (done.fixed or done.findings or not failed):
        say(session.render(_outlook(session, done)))
    if failed:
        return 2
    return 1 if done.fixed and not session.options.exit_zero else 0


def _outlook(session: Session, done: _Done) -> Text:
    errors, files = session.render(count_errors(done.fixed)), session.render(count_files(done.files))
    more = 0 if session.unsafe else done.findings
    if done.fixed and more:
        sentence = text(
            "Would fix {errors} in {files} ({more} more with --unsafe-fixes).", errors=errors, files=files, more=more
        )
    elif done.fixed:
        sentence = text("Would fix {errors} in {files}.", errors=errors, files=files)
    elif more:
        sentence = text("Nothing to fix ({more} more with --unsafe-fixes).", more=more)
    else:
        sentence = text("Nothing to fix.")
    return sentence


def _filter(session: Session, results: Iterator[FileResult], done: _Done) -> int:
    """Standard input comes out fixed on standard output; errors and the count go to standard error."""
    task, result = next(_with_tasks(session, results))
    outcome = _attempt(session, task, result)
    left = _left(result, outcome)
    for problem in left.problems:
        report_problem(problem)
    data = _raw(task) if outcome is None else outcome.source.raw
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    if not session.options.quiet and outcome is not None and outcome.applied:
        fixed, rest = (session.render(count_errors(len(each))) for each in (outcome.applied, left.findings))
        say(session.render(text("Fixed {errors}, {left} left.", errors=fixed, left=rest)))
    if left.problems:
        return 2
    return 1 if left.findings and not session.options.exit_zero else 0
