"""``--show-files`` and ``--show-settings``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from torchlint.commands.output import Output
from torchlint.reports.view import printable
from torchlint.tasks import Plan

if TYPE_CHECKING:
    from torchlint.commands.checking import Session


def show_files(session: Session) -> int:
    """List the files, one a line."""
    with Output(session.options.output_file) as output:
        for task in session.tasks:
            output.write(printable(task.path) + "\n")
    return 2 if session.inputs.found.problems else 0


def show_settings(session: Session) -> int:
    """Show what counts for each group of files that share a configuration, as TOML with comments."""
    groups: dict[tuple[str | None, Plan], list[str]] = {}
    for task, target in zip(session.tasks, session.inputs.found.targets, strict=True):
        groups.setdefault((target.config.file, task.plan), []).append(task.path)
    config = session.config
    with Output(session.options.output_file) as output:
        output.write(f"# for the whole run, from {printable(config.file or 'the defaults')}\n")
        output.write(f"output-format = {json.dumps(session.output_format)}\n")
        output.write(f"unsafe-fixes = {json.dumps(session.unsafe)}\n")
        output.write(f"jobs = {session.jobs}\n")
        if session.baseline is not None:
            output.write(f"baseline = {json.dumps(session.baseline.path)}\n")
        for (file, plan), paths in groups.items():
            rest = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
            output.write(f"\n# for {printable(paths[0])}{rest}, from {printable(file or 'the defaults')}\n")
            output.write(f"select = {json.dumps([rule.code for rule in plan.rules])}\n")
            workers = plan.settings.num_workers
            output.write(f"num-workers = {workers}\n" if workers else "# num-workers = min(4, os.cpu_count() or 1)\n")
            output.write(f"time-limit = {plan.settings.time_limit}\n")
    return 2 if session.inputs.found.problems else 0
