"""What ``check`` and ``fix`` do, from options to exit code."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import click

from torchlint import baseline as baselines
from torchlint.cache import Cache
from torchlint.catalogue import renderer
from torchlint.commands.inputs import Inputs, gather, run_config
from torchlint.commands.options import Options
from torchlint.commands.output import Output, report_problem, say
from torchlint.commands.progress import Progress
from torchlint.commands.sources import Sources
from torchlint.commands.stopping import stoppable
from torchlint.config import OUTPUT_FORMATS, Config, ConfigError, Configs
from torchlint.findings import Finding, Problem, Text, text
from torchlint.planning import Planner
from torchlint.reports import STREAMED, Report, View, one, whole
from torchlint.reports.github_format import show_problem
from torchlint.reports.summary import Tally, statistics, summary
from torchlint.runner import run
from torchlint.selection import Selection, SelectionError, available_rules, unknown
from torchlint.source import SourceError
from torchlint.tasks import FileResult, Task, open_source

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from torchlint.rules.rule import Rule

FOR_PEOPLE = ("full", "concise")


@dataclass(frozen=True)
class Session:
    """One run: what was asked, what the configuration adds, and the files."""

    options: Options
    config: Config
    rules: Sequence[type[Rule]]
    tasks: Sequence[Task]
    inputs: Inputs
    sources: Sources
    jobs: int
    output_format: str
    unsafe: bool
    baseline: baselines.Baseline | None
    render: Callable[[Text], str] = str


def execute(options: Options) -> int:
    """Run and return the exit code. Raises ClickException for what the command line or the configuration gets wrong."""
    with stoppable():
        return _execute(options)


def _execute(options: Options) -> int:
    try:
        session = prepare(options)
    except (ConfigError, SelectionError, baselines.BaselineError) as error:
        raise click.ClickException(str(error)) from None
    for problem in session.inputs.found.problems:
        report_problem(problem)
    if options.show_files or options.show_settings:
        from torchlint.commands.showing import show_files, show_settings

        return show_files(session) if options.show_files else show_settings(session)
    if options.write_baseline is not None:
        from torchlint.commands.adopting import write_baseline

        return write_baseline(session, options.write_baseline)
    if options.add_noqa:
        from torchlint.commands.adopting import add_noqa

        return add_noqa(session)
    if options.fix or options.diff:
        from torchlint.commands.fixing import fix

        return fix(session)
    return report(session, checked(session))


def prepare(options: Options) -> Session:
    """Read the configuration and find the files. Raises ConfigError, SelectionError, BaselineError, ClickException."""
    rules = available_rules()
    configs = Configs(rules, options.config, options.isolated)
    config = run_config(options, configs)
    inputs = gather(options, configs)
    layer = Selection(options.select or None, options.extend_select, options.ignore)
    planner = Planner(rules, [layer])
    planner.plan(os.curdir, config)  # a mistyped code is told even when there is no file
    tasks = planner.tasks(inputs.found.targets)
    sources = Sources()
    if inputs.raw is not None:
        tasks = [replace(task, raw=inputs.raw) for task in tasks]
        with contextlib.suppress(SourceError):  # checking says so
            sources.give(tasks[0].path, open_source(tasks[0].path, inputs.raw))
    output_format = options.output_format or config.output_format or "full"
    if output_format not in OUTPUT_FORMATS:
        raise click.BadParameter(unknown("format", output_format, OUTPUT_FORMATS), param_hint="--output-format")
    path = options.baseline or config.baseline
    return Session(
        options=options,
        config=config,
        rules=rules,
        tasks=tasks,
        inputs=inputs,
        sources=sources,
        jobs=options.jobs or config.jobs or processors(),
        output_format=output_format,
        unsafe=config.unsafe_fixes if options.unsafe_fixes is None else options.unsafe_fixes,
        baseline=None if path is None or options.write_baseline else baselines.read(path),
        render=renderer(options.lang),
    )


def processors() -> int:
    """The processors this process may use."""
    if hasattr(os, "process_cpu_count"):
        return os.process_cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def checked(session: Session) -> Iterator[FileResult]:
    """The results of all files, with a progress bar where a terminal waits."""
    with Progress(len(session.tasks), session.options.quiet) as progress:
        store = None if session.options.no_cache else Cache()
        with executor(session.options.cluster) as elsewhere:
            for result in run(
                session.tasks, jobs=session.jobs, executor=elsewhere, store=store, progress=progress.advance
            ):
                progress.pause()
                yield result


@contextlib.contextmanager
def executor(address: str | None) -> Iterator[Executor | None]:
    """The cluster at an address, if one is given. Raises ClickException."""
    if address is None:
        yield None
        return
    from torchlint.cluster import ClusterError, cluster

    try:
        with cluster(address) as found:
            yield found
    except ClusterError as error:
        raise click.ClickException(str(error)) from None


def report(session: Session, results: Iterator[FileResult], fixed: Callable[[], int] = lambda: 0) -> int:
    """Print findings, problems and the summary; the exit code."""
    options = session.options
    tally = Tally()
    problems: list[Problem] = list(session.inputs.found.problems)
    kept: list[Finding] = []
    with Output(options.output_file, options.quiet) as output:
        view = View(session.sources, session.render, output.color, {rule.code: rule for rule in _all_rules(session)})
        streamed = session.output_format in STREAMED and not shows_statistics(session)
        write = one(session.output_format) if streamed else None
        for result in results:
            tally.checked += 1
            tally.silenced += result.silenced
            for problem in result.problems:
                report_problem(problem)
            problems.extend(result.problems)
            if not options.quiet:
                for note in result.notes:
                    say(f"note: {result.path}: {note}")
            findings = result.findings
            if session.baseline is not None and findings:
                findings = tuple(session.baseline.new(findings, session.sources))
                tally.known += len(result.findings) - len(findings)
            tally.add(findings)
            if write is not None:
                for finding in findings:
                    output.write(write(finding, view))
                if findings:
                    output.flush()
            elif not shows_statistics(session):
                kept.extend(findings)
        if shows_statistics(session):
            output.write(statistics(tally))
        elif write is None:
            for piece in whole(session.output_format)(Report(kept, problems, view)):
                output.write(piece)
        elif session.output_format == "github":
            output.write("".join(map(show_problem, problems)))
        if not options.quiet and session.output_format in FOR_PEOPLE:
            closing(session, output, tally, fixed(), bool(problems))
    return exit_code(options, bool(tally.findings), bool(problems))


def _all_rules(session: Session) -> Sequence[type[Rule]]:
    """Those that come with torchlint and those that the configurations of the files bring along."""
    used = (rule for plan in dict.fromkeys(task.plan for task in session.tasks) for rule in plan.rules)
    return sorted({*session.rules, *used}, key=lambda rule: rule.code)


def closing(session: Session, output: Output, tally: Tally, fixed: int, failed: bool) -> None:
    """The last lines of a report for people."""
    render = session.render
    if session.baseline is not None:
        path = session.baseline.path
        if tally.known:
            known = text("{number} known to {baseline} not shown.", number=tally.known, baseline=path)
            output.write(render(known) + "\n")
        for entry in session.baseline.vanished([task.path for task in session.tasks]):
            gone = text(
                "note: {baseline}: no longer there: {entry} (--write-baseline drops it)", baseline=path, entry=entry
            )
            say(render(gone))
    if not session.tasks and not failed:
        say(render(text("warning: no Python files or notebooks here, so nothing was checked")))
    elif tally.findings or fixed or not failed:
        output.write(summary(tally, fixed, render))


def shows_statistics(session: Session) -> bool:
    """Whether counts take the place of findings; machine formats keep their form."""
    wanted = session.config.statistics if session.options.statistics is None else session.options.statistics
    return wanted and session.output_format in FOR_PEOPLE


def exit_code(options: Options, found: bool, failed: bool) -> int:
    """2 when anything could not be checked, 1 for findings, else 0."""
    if failed:
        return 2
    return 1 if found and not options.exit_zero else 0
