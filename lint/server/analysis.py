"""What the linter says about one snapshot; runs in a worker thread and knows nothing of the protocol's messages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchlint.findings import Edit, Finding, Problem
from torchlint.fixing import fix_source
from torchlint.inspection import inspect
from torchlint.semantics.project import Project
from torchlint.server.documents import Snapshot
from torchlint.settings import DEFAULTS, Settings

if TYPE_CHECKING:
    from torchlint.rules.rule import Rule


@dataclass(frozen=True, slots=True)
class Job:
    """How a document is checked."""

    rules: tuple[type[Rule], ...]
    settings: Settings = DEFAULTS
    project: Project | None = None


@dataclass(frozen=True, slots=True)
class Analysis:
    """The result for one snapshot. ``job`` is kept for the fixes that are asked for later."""

    snapshot: Snapshot
    job: Job
    findings: tuple[Finding, ...] = ()
    problems: tuple[Problem, ...] = ()


def analyse(snapshot: Snapshot, job: Job) -> Analysis:
    """Check a snapshot. Never raises for what it contains."""
    found = inspect(snapshot.source, [rule() for rule in job.rules], job.project, job.settings)
    return Analysis(snapshot, job, found.findings, found.problems)


def fix_all(analysis: Analysis, *, unsafe: bool = False) -> Sequence[Edit]:
    """The edits of all fixes that may be applied without looking, over as many rounds as they take."""
    job = analysis.job
    rules = [rule() for rule in job.rules]
    return fix_source(analysis.snapshot.source, rules, job.project, job.settings, unsafe=unsafe).edits
