"""Code actions repair and silence; hovering shows the rule's documentation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types

BAD = 'import torch\n\na = torch.load("a.pt")\nb = torch.load("\U0001f600"); c = torch.load("c.pt")  # twice\n'
FIX_ALL = "torchlint: Fix all (safe)"


def applied(text: str, edits: list[Any]) -> str:
    """A text of plain rows after edits with UTF-16 columns."""
    rows = text.split("\n")
    for edit in sorted(edits, key=lambda each: (each.range.start.line, each.range.start.character), reverse=True):
        start, end = edit.range.start, edit.range.end
        assert start.line == end.line
        units = rows[start.line].encode("utf-16-le")
        units = units[: 2 * start.character] + edit.new_text.encode("utf-16-le") + units[2 * end.character :]
        rows[start.line] = units.decode("utf-16-le")
    return "\n".join(rows)


def edits_of(action: types.CodeAction, uri: str) -> list[Any]:
    """The edits of an action that touches one document."""
    assert action.edit is not None
    if action.edit.changes is not None:
        assert list(action.edit.changes) == [uri]
        return list(action.edit.changes[uri])
    [change] = action.edit.document_changes or []
    assert isinstance(change, types.TextDocumentEdit)
    assert change.text_document.uri == uri
    return list(change.edits)


def test_a_fix_for_each_finding_of_the_row(session: Any, tmp_path: Path) -> None:
    uri = (tmp_path / "train.py").as_uri()

    async def scenario(editor: Any) -> None:
        editor.open(uri, BAD)
        assert await editor.actions(uri, 0, only=["quickfix"]) == {}
        found = await editor.actions(uri, 2, only=["quickfix"])
        fix, silence = found.values()
        assert fix.kind == silence.kind == types.CodeActionKind.QuickFix
        assert [each.code for each in fix.diagnostics] == ["TL501"]
        fixed = applied(BAD, edits_of(fix, uri))
        assert fixed == BAD.replace('"a.pt"', '"a.pt", map_location="cpu"')
        editor.change(uri, 2, fixed)
        assert [code.split()[0] for code in await editor.codes(uri, 2)] == ["3:10", "3:32"]

    session(scenario)


def test_silence_one_line(session: Any, tmp_path: Path) -> None:
    uri = (tmp_path / "train.py").as_uri()

    async def scenario(editor: Any) -> None:
        editor.open(uri, BAD)
        silence = (await editor.actions(uri, 2))["torchlint: Silence TL501 on this line"]
        text = applied(BAD, edits_of(silence, uri))
        assert text.split("\n")[2] == 'a = torch.load("a.pt")  # noqa: TL501'
        editor.change(uri, 2, text)
        assert [code.split()[0] for code in await editor.codes(uri, 2)] == ["3:10", "3:32"]
        silence = (await editor.actions(uri, 3))["torchlint: Silence TL501 on this line"]
        text = applied(text, edits_of(silence, uri))
        assert text.split("\n")[3].endswith("# twice  # noqa: TL501")
        editor.change(uri, 3, text)
        assert await editor.codes(uri, 3) == []

    session(scenario)


def test_silencing_extends_a_comment_that_is_there(session: Any, tmp_path: Path) -> None:
    uri = (tmp_path / "train.py").as_uri()
    text = 'import torch\ntorch.load(\n    """a\nb""",\n)  # noqa: E501 (long)\n'

    async def scenario(editor: Any) -> None:
        editor.open(uri, text)
        silence = (await editor.actions(uri, 1))["torchlint: Silence TL501 on this line"]
        assert applied(text, edits_of(silence, uri)).endswith(")  # noqa: E501, TL501 (long)\n")

    session(scenario)


@pytest.mark.parametrize("resolve", [True, False])
@pytest.mark.parametrize("versioned", [True, False])
def test_fix_all(session: Any, tmp_path: Path, resolve: bool, versioned: bool) -> None:
    uri = (tmp_path / "train.py").as_uri()

    async def scenario(editor: Any) -> None:
        editor.open(uri, BAD)
        found = await editor.actions(uri, 0, only=["source.fixAll"])
        assert list(found) == [FIX_ALL]
        action = found[FIX_ALL]
        assert action.kind == "source.fixAll.torchlint"
        if resolve:
            assert action.edit is None
            action = await editor.client.code_action_resolve_async(action)
        assert (action.edit.document_changes is not None) == versioned
        if versioned:
            assert action.edit.document_changes[0].text_document.version == 1
        fixed = applied(BAD, edits_of(action, uri))
        assert fixed.count('map_location="cpu"') == 3
        editor.change(uri, 2, fixed)
        assert await editor.codes(uri, 2) == []
        assert await editor.actions(uri, 0, only=["source.fixAll"]) == {}

    session(scenario, resolve=resolve, versioned=versioned)


def test_kinds_that_were_not_asked_for_stay_away(session: Any, tmp_path: Path) -> None:
    uri = (tmp_path / "train.py").as_uri()

    async def scenario(editor: Any) -> None:
        editor.open(uri, BAD)
        assert await editor.actions(uri, 2, only=["refactor"]) == {}
        assert await editor.actions(uri, 2, only=["source.fixAll.ruff"]) == {}
        assert list(await editor.actions(uri, 2, only=["source.fixAll.torchlint"])) == [FIX_ALL]
        assert FIX_ALL in await editor.actions(uri, 2)

    session(scenario)


def test_hover_shows_the_documentation_of_the_rule(session: Any, tmp_path: Path) -> None:
    uri = (tmp_path / "train.py").as_uri()

    async def scenario(editor: Any) -> None:
        editor.open(uri, BAD)
        shown = await editor.hover(uri, 2, 12)
        assert shown is not None
        assert shown.startswith("# TL501 unmapped-load")
        assert await editor.hover(uri, 2, 2) is None
        assert await editor.hover(uri, 1, 0) is None

    session(scenario)
