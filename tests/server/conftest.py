"""An editor for tests: pygls' own client, talking to ``torchlint server`` over its standard input and output."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pygls", reason="the extra lsp is not installed")

from lsprotocol import types
from pygls.lsp.client import LanguageClient

TIMEOUT = 60.0


class Editor:
    """What an editor knows: the newest diagnostics of each document, and the messages it was shown."""

    def __init__(self, settings: dict[str, Any] | None) -> None:
        self.client = LanguageClient("tests", "1")
        self.published: list[types.PublishDiagnosticsParams] = []
        self.messages: list[str] = []
        self.registered: list[str] = []
        self.settings: dict[str | None, Any] = {} if settings is None else dict(settings)
        self.capabilities = types.ServerCapabilities()
        self._news = asyncio.Event()

        @self.client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def publish(params: types.PublishDiagnosticsParams) -> None:
            self.published.append(params)
            self._news.set()

        @self.client.feature(types.WINDOW_SHOW_MESSAGE)
        def show(params: types.ShowMessageParams) -> None:
            self.messages.append(params.message)
            self._news.set()

        @self.client.feature(types.CLIENT_REGISTER_CAPABILITY)
        def register(params: types.RegistrationParams) -> None:
            self.registered.extend(each.method for each in params.registrations)
            self._news.set()

        @self.client.feature(types.WORKSPACE_CONFIGURATION)
        def configuration(params: types.ConfigurationParams) -> list[Any]:
            return [self.settings.get(item.scope_uri) for item in params.items]

    async def start(self, folders: Sequence[Path], encodings: Sequence[str], **capabilities: bool) -> None:
        """Start the server and shake hands."""
        await self.client.start_io(sys.executable, "-m", "torchlint", "server", "--stdio")
        uris = [types.WorkspaceFolder(folder.as_uri(), folder.name) for folder in folders]
        resolving = types.ClientCodeActionResolveOptions(["edit"]) if capabilities.get("resolve") else None
        result = await self.client.initialize_async(
            types.InitializeParams(
                types.ClientCapabilities(
                    general=types.GeneralClientCapabilities(position_encodings=list(encodings)),
                    workspace=types.WorkspaceClientCapabilities(
                        configuration=True,
                        workspace_folders=True,
                        workspace_edit=types.WorkspaceEditClientCapabilities(
                            document_changes=capabilities.get("versioned", True)
                        ),
                        did_change_watched_files=types.DidChangeWatchedFilesClientCapabilities(
                            dynamic_registration=True
                        ),
                    ),
                    text_document=types.TextDocumentClientCapabilities(
                        code_action=types.CodeActionClientCapabilities(resolve_support=resolving)
                    ),
                ),
                root_uri=folders[0].as_uri(),
                workspace_folders=uris,
            )
        )
        self.capabilities = result.capabilities
        self.client.initialized(types.InitializedParams())

    async def stop(self) -> int | None:
        """Say goodbye; the exit code of the server."""
        await self.client.shutdown_async(None)
        self.client.exit(None)
        server = self.client._server
        code = await asyncio.wait_for(server.wait(), TIMEOUT) if server else None
        await self.client.stop()
        return code

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until the server has said what makes the condition true."""
        async with _deadline(self):
            while not condition():
                self._news.clear()
                await self._news.wait()

    # Documents

    def open(self, uri: str, text: str, language: str = "python") -> None:
        """Open a module."""
        self.client.text_document_did_open(
            types.DidOpenTextDocumentParams(types.TextDocumentItem(uri, language, 1, text))
        )

    def change(self, uri: str, version: int, *changes: types.TextDocumentContentChangeEvent | str) -> None:
        """Change a module: whole texts, or stretches."""
        events = [types.TextDocumentContentChangeWholeDocument(c) if isinstance(c, str) else c for c in changes]
        identifier = types.VersionedTextDocumentIdentifier(version, uri)
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(identifier, events))

    def save(self, uri: str) -> None:
        """Tell that a module was saved."""
        self.client.text_document_did_save(types.DidSaveTextDocumentParams(types.TextDocumentIdentifier(uri)))

    def file_changed(self, path: Path) -> None:
        """Tell that a file changed on the disk."""
        event = types.FileEvent(path.as_uri(), types.FileChangeType.Changed)
        self.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([event]))

    # Answers

    def newest(self, uri: str) -> types.PublishDiagnosticsParams | None:
        """The last diagnostics sent for a document."""
        return next((each for each in reversed(self.published) if each.uri == uri), None)

    async def diagnostics(self, uri: str, version: int | None = 1) -> list[types.Diagnostic]:
        """The diagnostics of a version of a document, once they have come."""
        await self.until(lambda: (new := self.newest(uri)) is not None and new.version == version)
        newest = self.newest(uri)
        assert newest is not None
        return list(newest.diagnostics)

    async def codes(self, uri: str, version: int | None = 1) -> list[str]:
        """``row:column code`` of the diagnostics, rows and columns from 0."""
        found = await self.diagnostics(uri, version)
        return [f"{each.range.start.line}:{each.range.start.character} {each.code}" for each in found]

    async def settled(self, uri: str, expected: list[str]) -> None:
        """Wait until exactly these diagnostics are shown, whatever came before."""

        def shown() -> list[str] | None:
            newest = self.newest(uri)
            return (
                None
                if newest is None
                else [f"{d.range.start.line}:{d.range.start.character} {d.code}" for d in newest.diagnostics]
            )

        await self.until(lambda: shown() == expected)

    async def actions(self, uri: str, row: int, only: list[str] | None = None) -> dict[str, types.CodeAction]:
        """The code actions of a row by title."""
        place = types.Range(types.Position(row, 0), types.Position(row, 0))
        context = types.CodeActionContext([], only=only)  # type: ignore[arg-type]
        params = types.CodeActionParams(types.TextDocumentIdentifier(uri), place, context)
        found = await asyncio.wait_for(self.client.text_document_code_action_async(params), TIMEOUT)
        return {each.title: each for each in found or [] if isinstance(each, types.CodeAction)}

    async def hover(self, uri: str, row: int, column: int) -> str | None:
        """The Markdown shown at a position."""
        params = types.HoverParams(types.TextDocumentIdentifier(uri), types.Position(row, column))
        found = await asyncio.wait_for(self.client.text_document_hover_async(params), TIMEOUT)
        if found is None:
            return None
        assert isinstance(found.contents, types.MarkupContent)
        assert found.contents.kind == types.MarkupKind.Markdown
        return found.contents.value


class _deadline:
    """A limit that says what the server had sent when time ran out."""

    def __init__(self, editor: Editor) -> None:
        self._editor = editor
        self._timer: asyncio.TimerHandle | None = None
        self._late = False

    async def __aenter__(self) -> None:
        task = asyncio.current_task()
        assert task is not None

        def end() -> None:
            self._late = True
            task.cancel()

        self._timer = asyncio.get_running_loop().call_later(TIMEOUT, end)

    async def __aexit__(self, *error: object) -> None:
        assert self._timer is not None
        self._timer.cancel()
        if self._late:
            raise AssertionError(f"the server said only {self._editor.published} {self._editor.messages}")


Scenario = Callable[[Editor], Awaitable[None]]
Session = Callable[..., None]


@pytest.fixture
def session(tmp_path: Path) -> Session:
    """Run a scenario in an editor whose workspace is ``folders``, by default the test's folder."""

    def run(
        scenario: Scenario,
        *,
        folders: Sequence[Path] = (tmp_path,),
        encodings: Sequence[str] = ("utf-16",),
        settings: dict[str, Any] | None = None,
        **capabilities: bool,
    ) -> None:
        async def whole() -> None:
            editor = Editor(settings)
            await editor.start(folders, encodings, **capabilities)
            await scenario(editor)
            assert await editor.stop() == 0

        asyncio.run(whole())

    return run
