"""What users see of one source: the rules' findings, less the silenced ones, plus suppressions that silence nothing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchlint.engine import check, in_cell
from torchlint.findings import Finding, Problem
from torchlint.settings import DEFAULTS, Settings
from torchlint.source import Source
from torchlint.suppressions import MENTIONED, Suppressions

if TYPE_CHECKING:
    from torchlint.rules.rule import Rule
    from torchlint.semantics.project import Project


@dataclass(frozen=True, slots=True)
class Inspected:
    """Findings to report in report order, how many a comment silenced, and problems."""

    findings: tuple[Finding, ...] = ()
    silenced: int = 0
    problems: tuple[Problem, ...] = ()


def inspect(
    source: Source, rules: Iterable[Rule], project: Project | None = None, settings: Settings = DEFAULTS
) -> Inspected:
    """Check one source and apply its suppression comments. Never raises for what the source contains."""
    running = tuple(rules)
    checked = check(source, running, project, settings)
    findings = checked.findings
    if not MENTIONED.search(source.text):
        return Inspected(findings, 0, checked.problems)
    comments = Suppressions(source)
    kept, silenced = comments.split(findings) if findings else (findings, ())
    if not checked.problems:
        idle = _unused(source, comments, running, findings)
        if idle:
            kept = tuple(sorted((*kept, *idle), key=lambda finding: finding.sort_key))
    return Inspected(kept, len(silenced), checked.problems)


def _unused(
    source: Source, comments: Suppressions, rules: Iterable[Rule], findings: tuple[Finding, ...]
) -> list[Finding]:
    from torchlint.selection import available_rules
    from torchlint.unused_suppression import UnusedSuppression, unused

    ours = UnusedSuppression
    raw = source.text.encode("utf-8", "surrogatepass") if source.cells else source.raw
    if not any(rule.code == ours.code for rule in rules) or not ours.screen.search(raw):
        return []
    enabled = {word for rule in rules for word in (rule.code, rule.name)} - {ours.code, ours.name}
    names = {word for known in available_rules() for word in (known.code, known.name)} | enabled
    found = unused(source, comments.all, findings, enabled, names)
    return [
        in_cell(source, finding)
        for comment, finding in found
        if not any(each.covers(finding) for each in comments.all if each is not comment or each.items is not None)
    ]
