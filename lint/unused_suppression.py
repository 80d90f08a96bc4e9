"""TL001: suppression comments that silence nothing; needs the findings of all other rules, so it stands above them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

from torchlint.findings import Edit, Finding, Fix, Safety, Severity, Span, text
from torchlint.rules.rule import Rule
from torchlint.suppressions import Item, Suppression

if TYPE_CHECKING:
    from torchlint.semantics.program import Program
    from torchlint.source import Source

_OURS = re.compile(r"TL\d+", re.IGNORECASE)


class UnusedSuppression(Rule):
    """A suppression comment that silences no finding.

    ## What it does
    Reports `# noqa: TL…`, `# torchlint: ignore[…]` and `# torchlint: ignore-file[…]` where the rule they name reports
    nothing.

    ## Why it matters
    The comment hides the next real finding on that line, and tells readers of a trap that is no longer there.

    ## Example
    ```python
    import torch

    state = torch.load("model.pt", map_location="cpu")  # noqa: TL501
    ```

    ## Use instead
    ```python
    import torch

    state = torch.load("model.pt", map_location="cpu")
    ```

    ## Fix safety
    Safe: only the unused code leaves the comment, and the comment itself if nothing else is left in it.

    ## Stays quiet when
    - the code belongs to another tool (`E501`), or the comment is a blanket `# noqa`, which other tools read as well;
    - the rule named is not switched on in this run, so nobody knows whether it would report;
    - the file was not read completely, or a rule failed on it.

    ## References
    - ruff has the same check for all other codes as `RUF100`.
    """

    code = "TL001"
    name = "unused-suppression"
    severity = Severity.WARNING
    screen = re.compile(rb"noqa[^\r\n]*TL\d|torchlint\s*:\s*ignore", re.IGNORECASE)

    def check(self, program: Program) -> Iterator[Finding]:
        """Nothing by itself: :func:`unused` needs the findings of all other rules."""
        return iter(())


def unused(
    source: Source,
    suppressions: Sequence[Suppression],
    findings: Sequence[Finding],
    enabled: Collection[str],
    names: Collection[str],
) -> Iterator[tuple[Suppression, Finding]]:
    """Each comment with something unused in it, and the finding about it. ``findings`` are all, silenced ones too.

    ``enabled`` are the codes that ran, ``names`` the codes and names of all rules there are.
    """
    for each in suppressions:
        covered = [finding for finding in findings if each.covers(finding)]
        if each.items is None:
            if each.style == "torchlint" and not covered:
                yield each, _finding(source, each, [], "blanket")
            continue
        idle = [item for item in each.items if _idle(item, each, covered, enabled, names)]
        if idle or not each.items:
            yield each, _finding(source, each, idle, ", ".join(item.word for item in idle) or "no rule")


def _idle(
    item: Item, each: Suppression, covered: Sequence[Finding], enabled: Collection[str], names: Collection[str]
) -> bool:
    if any(item.names(finding) for finding in covered):
        return False
    known = item.word.upper() in names or item.word.lower() in names
    if not known:
        # An unknown code in ``noqa`` may be another tool's; in our own comment it is a slip.
        return each.style == "torchlint"
    return item.word.upper() in enabled or item.word.lower() in enabled


def _finding(source: Source, each: Suppression, idle: Sequence[Item], what: str) -> Finding:
    everything = each.items is None or len(idle) == len(each.items)
    edit = _whole(source, each) if everything else _without(source, each, idle)
    span = Span(*source.position(each.start), *source.position(each.end))
    if what == "blanket":
        message = text("suppression comment silences nothing here: it would hide the next real finding")
    else:
        message = text("suppression of {what} silences nothing here: it would hide the next real finding", what=what)
    return Finding(
        path=source.path,
        span=span,
        code=UnusedSuppression.code,
        name=UnusedSuppression.name,
        message=message,
        help=text("remove it"),
        severity=UnusedSuppression.severity,
        first_row=each.row,
        last_row=each.row,
        fix=Fix(text("Remove the unused suppression"), Safety.SAFE, (edit,)),
    )


def _whole(source: Source, each: Suppression) -> Edit:
    """Drop the directive; with the whole comment, its blanks and, if nothing else stands there, its row."""
    row_start = source.line_starts[each.row - 1]
    row_end = row_start + len(source.line(each.row))
    before, after = source.text[row_start : each.start], source.text[each.end : row_end]
    if after.strip():
        # More words follow in the comment: they stay, behind a ``#`` of their own.
        rest = after.lstrip(" \t,;.-:")
        return Edit(each.start, row_end - len(rest), "" if rest.startswith("#") or not rest else "# ")
    if before.strip():
        start = row_start + len(before.rstrip())
        return Edit(start, row_end, "")
    next_row = source.line_starts[each.row] if each.row < len(source.line_starts) else row_end
    cell = source.cell_at(each.row)
    if cell is not None and cell.last_row == each.row:
        return Edit(row_start, row_end, "")
    return Edit(row_start, next_row, "")


def _without(source: Source, each: Suppression, idle: Sequence[Item]) -> Edit:
    """The directive with the used items only."""
    items = each.items or ()
    kept = [item.word for item in items if item not in idle]
    return Edit(items[0].start, items[-1].end, ", ".join(kept))
