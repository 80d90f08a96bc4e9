"""The documentation of the rules that report at a position."""

from __future__ import annotations

from lsprotocol import types

from torchlint.catalogue import spoken_language
from torchlint.reports.rule_pages import page
from torchlint.server.analysis import Analysis


def hover(analysis: Analysis, uri: str, position: types.Position) -> types.Hover | None:
    """Markdown for the findings under a position; None where there is none."""
    at = (position.line, position.character)
    pages: dict[str, str] = {}
    place: types.Range | None = None
    for finding in analysis.findings:
        part, found = analysis.snapshot.finding_range(finding)
        inside = (found.start.line, found.start.character) <= at <= (found.end.line, found.end.character)
        if part.uri == uri and inside:
            rule = next((rule for rule in analysis.job.rules if rule.code == finding.code), None)
            if rule is not None:
                pages[rule.code] = page(rule, spoken_language())
                place = place or found
    if not pages:
        return None
    return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, "\n\n---\n\n".join(pages.values())), place)
