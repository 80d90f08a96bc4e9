"""Code actions: each fix, all safe fixes at once, and a comment that silences the finding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from lsprotocol import types

from torchlint.catalogue import renderer, spoken_language
from torchlint.findings import Edit, Finding, Safety
from torchlint.server.analysis import Analysis, fix_all
from torchlint.server.diagnostics import diagnostic
from torchlint.silencing import silence

FIX_ALL = "source.fixAll.torchlint"
KINDS: list[types.CodeActionKind | str] = [types.CodeActionKind.QuickFix, FIX_ALL]


@dataclass(frozen=True, slots=True)
class Abilities:
    """What the editor can do with an action."""

    versioned: bool = False  # takes edits of a named version only
    resolves: bool = False  # asks for the edit when the action is chosen


def code_actions(analysis: Analysis, params: types.CodeActionParams, abilities: Abilities) -> list[types.CodeAction]:
    """The actions for the rows of a selection, of the kinds asked for."""
    found: list[types.CodeAction] = []
    if _asked(types.CodeActionKind.QuickFix, params.context.only):
        uri = params.text_document.uri
        for finding in analysis.findings:
            part, place = analysis.snapshot.finding_range(finding)
            if part.uri == uri and _rows_meet(place, params.range):
                found.extend(_for_finding(analysis, finding, place, abilities))
    if analysis.findings and _asked(FIX_ALL, params.context.only):
        action = types.CodeAction("torchlint: Fix all (safe)", kind=FIX_ALL, data={"uri": analysis.snapshot.uri})
        if abilities.resolves or resolve(action, analysis, abilities).edit:
            found.append(action)
    return found


def resolve(action: types.CodeAction, analysis: Analysis, abilities: Abilities) -> types.CodeAction:
    """Put its edit into a "fix all" action; none when nothing can be fixed safely."""
    edits = fix_all(analysis)
    if edits:
        action.edit = workspace_edit(analysis, edits, abilities)
    return action


def resolves_for(data: Any) -> str | None:
    """The uri an unresolved action is about."""
    uri = data.get("uri") if isinstance(data, dict) else None
    return uri if isinstance(uri, str) else None


def workspace_edit(analysis: Analysis, edits: Sequence[Edit], abilities: Abilities) -> types.WorkspaceEdit:
    """Edits of the source as the editor takes them."""
    by_part = analysis.snapshot.text_edits(edits)
    if not abilities.versioned:
        return types.WorkspaceEdit(changes={part.uri: changes for part, changes in by_part.items()})
    return types.WorkspaceEdit(
        document_changes=[
            types.TextDocumentEdit(types.OptionalVersionedTextDocumentIdentifier(part.uri, part.version), list(changes))
            for part, changes in by_part.items()
        ]
    )


def _for_finding(
    analysis: Analysis, finding: Finding, place: types.Range, abilities: Abilities
) -> Iterator[types.CodeAction]:
    about = [diagnostic(finding, place)]
    if finding.fix is not None and finding.fix.applicable:
        safe = finding.fix.safety is Safety.SAFE
        yield types.CodeAction(
            f"torchlint: {renderer(spoken_language())(finding.fix.title)} ({finding.code}{'' if safe else ', unsafe'})",
            kind=types.CodeActionKind.QuickFix,
            diagnostics=about,
            is_preferred=safe,
            edit=workspace_edit(analysis, finding.fix.edits, abilities),
        )
    edits, _ = silence(analysis.snapshot.source, [finding])
    if edits:
        yield types.CodeAction(
            f"torchlint: Silence {finding.code} on this line",
            kind=types.CodeActionKind.QuickFix,
            diagnostics=about,
            is_preferred=False,
            edit=workspace_edit(analysis, edits, abilities),
        )


def _asked(kind: str, only: Sequence[str] | None) -> bool:
    """Whether a kind is among those asked for; ``source.fixAll`` asks for ``source.fixAll.torchlint`` as well."""
    return only is None or any(kind == asked or kind.startswith(f"{asked}.") or not asked for asked in only)


def _rows_meet(one: types.Range, other: types.Range) -> bool:
    return one.start.line <= other.end.line and other.start.line <= one.end.line
