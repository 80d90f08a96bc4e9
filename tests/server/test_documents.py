"""Diagnostics appear on open, follow changes and leave with the document; positions are the editor's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types

BAD = 'import torch\n\nstate = torch.load("a.pt")\n'
GOOD = 'import torch\n\nstate = torch.load("a.pt", map_location="cpu")\n'


def test_open_change_save_and_close(session: Any, tmp_path: Path) -> None:
    uri = (tmp_path / "train.py").as_uri()

    async def scenario(editor: Any) -> None:
        editor.open(uri, BAD)
        [found] = await editor.diagnostics(uri)
        assert (found.code, found.source) == ("TL501", "torchlint")
        assert found.range == types.Range(types.Position(2, 14), types.Position(2, 18))
        assert "map_location" in found.message
        editor.change(uri, 2, GOOD)
        assert await editor.codes(uri, 2) == []
        editor.change(uri, 3, "\n" + BAD)
        assert await editor.codes(uri, 3) == ["3:14 TL501"]
        before = len(editor.published)
        editor.save(uri)
        await editor.until(lambda: len(editor.published) > before)
        assert await editor.codes(uri, 3) == ["3:14 TL501"]
        editor.client.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(uri)))
        assert await editor.codes(uri, None) == []

    session(scenario)


def test_only_the_last_of_many_changes_is_checked(session: Any, tmp_path: Path) -> None:
    uri = (tmp_path / "train.py").as_uri()

    async def scenario(editor: Any) -> None:
        editor.open(uri, GOOD)
        assert await editor.codes(uri) == []
        for version in range(2, 42):
            editor.change(uri, version, "\n" * version + BAD)
        assert await editor.codes(uri, 41) == ["43:14 TL501"]
        versions = [each.version for each in editor.published if each.uri == uri]
        assert versions == sorted(versions)
        assert len(versions) < 40, "changes that follow each other quickly are checked once"

    session(scenario)


def test_a_request_sees_the_document_as_it_is_now(session: Any, tmp_path: Path) -> None:
    uri = (tmp_path / "train.py").as_uri()

    async def scenario(editor: Any) -> None:
        editor.open(uri, GOOD)
        editor.change(uri, 2, "\n\n" + BAD)
        assert "TL501" in (await editor.hover(uri, 4, 15) or "")

    session(scenario)


@pytest.mark.parametrize(("encoding", "column"), [("utf-8", 22), ("utf-16", 20), ("utf-32", 19)])
def test_columns_count_as_the_editor_asked(session: Any, tmp_path: Path, encoding: str, column: int) -> None:
    uri = (tmp_path / "train.py").as_uri()

    async def scenario(editor: Any) -> None:
        assert editor.capabilities.position_encoding == encoding
        editor.open(uri, 'import torch\nx = "\U0001f600"; y = torch.load("é.pt")\n')
        [found] = await editor.diagnostics(uri)
        assert (found.range.start.character, found.range.end.character) == (column, column + 4)
        position = types.Position(1, column - 11)  # behind the string
        change = types.TextDocumentContentChangePartial(types.Range(position, position), "   ")
        editor.change(uri, 2, change)
        [moved] = await editor.diagnostics(uri, 2)
        assert moved.range.start.character == column + 3

    session(scenario, encodings=[encoding])


def test_a_form_feed_is_no_line_end(session: Any, tmp_path: Path) -> None:
    uri = (tmp_path / "train.py").as_uri()

    async def scenario(editor: Any) -> None:
        editor.open(uri, 'import torch\n\x0c\nx = "\u2028"\r\ntorch.load("a.pt")\r\n')
        assert await editor.codes(uri) == ["3:6 TL501"]
        start = types.Position(3, 0)
        editor.change(uri, 2, types.TextDocumentContentChangePartial(types.Range(start, start), "state = "))
        assert await editor.codes(uri, 2) == ["3:14 TL501"]

    session(scenario)


def test_a_file_that_does_not_parse_is_said_quietly(session: Any, tmp_path: Path) -> None:
    uri = (tmp_path / "train.py").as_uri()

    async def scenario(editor: Any) -> None:
        editor.open(uri, BAD + "x = (\n")
        [found] = await editor.diagnostics(uri)
        assert found.severity == types.DiagnosticSeverity.Information
        assert "cannot check this file: syntax error" in found.message
        assert found.range.start.line == 3
        editor.change(uri, 2, BAD)
        assert await editor.codes(uri, 2) == ["2:14 TL501"]

    session(scenario)


def test_other_languages_and_other_peoples_code_are_left_alone(session: Any, tmp_path: Path) -> None:
    library = (tmp_path / ".venv" / "lib" / "site-packages" / "x.py").as_uri()
    text = (tmp_path / "train.txt").as_uri()
    own = (tmp_path / "train.py").as_uri()

    async def scenario(editor: Any) -> None:
        editor.open(library, BAD)
        editor.open(text, BAD, language="plaintext")
        editor.open(own, BAD)
        assert await editor.codes(own) == ["2:14 TL501"]
        editor.save(own)
        await editor.until(lambda: len([each for each in editor.published if each.uri == own]) > 1)
        assert all(each.diagnostics == [] for each in editor.published if each.uri != own)

    session(scenario)


def test_a_document_without_a_file(session: Any) -> None:
    async def scenario(editor: Any) -> None:
        editor.open("untitled:Untitled-1", BAD)
        assert await editor.codes("untitled:Untitled-1") == ["2:14 TL501"]

    session(scenario)


def test_the_server_stays_responsive_while_a_large_file_is_checked(session: Any, tmp_path: Path) -> None:
    large, small = (tmp_path / "large.py").as_uri(), (tmp_path / "small.py").as_uri()

    async def scenario(editor: Any) -> None:
        editor.open(large, "import torch\n" + "def f(x):\n    return torch.load(x)\n\n\n" * 1500)
        editor.open(small, GOOD)
        assert await editor.hover("file:///nowhere.py", 0, 0) is None
        assert editor.newest(large) is None, "the answer came before the large file was done"
        assert len(await editor.diagnostics(large)) == 1500

    session(scenario)
