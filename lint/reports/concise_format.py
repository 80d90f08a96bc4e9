"""One line for each finding."""

from __future__ import annotations

from torchlint.findings import Finding
from torchlint.reports.paint import paint
from torchlint.reports.view import View, mark, printable, where


def show(finding: Finding, view: View) -> str:
    """``path:row:column: CODE [*] message``."""
    parts = [paint(finding.code, "code", view.color)]
    if mark(finding):
        parts.append(paint(mark(finding), "mark", view.color))
    parts.append(printable(view.render(finding.message)))
    return f"{paint(where(finding), 'place', view.color)}: {' '.join(parts)}\n"
