"""The server: protocol messages in, diagnostics, actions and documentation out."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path

from torchlint import __version__
from torchlint.selection import available_rules
from torchlint.server import actions
from torchlint.server.analysis import Analysis
from torchlint.server.checker import PAUSE, Checker
from torchlint.server.choices import Choices
from torchlint.server.diagnostics import by_document
from torchlint.server.documents import Part, Snapshot
from torchlint.server.hover import hover
from torchlint.server.settings import SECTION, ClientSettings, SettingsError, read_settings
from torchlint.server.workspace import line_true

if TYPE_CHECKING:
    from torchlint.rules.rule import Rule

WATCHED = ("**/pyproject.toml", "**/torchlint.toml", "**/*.py")
_NOTEBOOKS = types.NotebookDocumentSyncOptions(
    notebook_selector=[types.NotebookDocumentFilterWithCells(cells=[types.NotebookCellLanguage(language="python")])],
    save=True,
)


class TorchlintServer(LanguageServer):
    """State of one editor session: documents' revisions, settings, and the checker."""

    def __init__(self) -> None:
        super().__init__("torchlint", __version__, notebook_document_sync=_NOTEBOOKS)
        self.rules: Sequence[type[Rule]] = available_rules()
        self.settings = ClientSettings()
        self.folder_settings: dict[str, ClientSettings] = {}
        self.choices = Choices(self.rules, self.settings, {})
        self.checker = Checker(lambda: self.choices, self.capture, self.publish, self.complain)
        self.ended = False
        self._revisions: dict[str, int] = {}
        self._published: dict[str, set[str]] = {}
        self._complaints: set[str] = set()

    # Documents -------------------------------------------------------------------------------------------------------

    def owner(self, uri: str) -> str:
        """The notebook of a cell, or the document itself."""
        notebook = self.workspace.get_notebook_document(cell_uri=uri)
        return notebook.uri if notebook else uri

    def capture(self, uri: str) -> Snapshot | None:
        """The present state of an open document or notebook."""
        revision = self._revisions.get(uri)
        if revision is None:
            return None
        notebook = self.workspace.get_notebook_document(notebook_uri=uri)
        uris = (
            [uri]
            if notebook is None
            else [cell.document for cell in notebook.cells if cell.kind == types.NotebookCellKind.Code]
        )
        documents = [self.workspace.get_text_document(each) for each in uris]
        parts = tuple(Part(each.uri, each.version, each.source, each.language_id) for each in documents)
        path = to_fs_path(uri) if uri.startswith("file:") else None
        encoding = str(getattr(self.workspace.position_encoding, "value", self.workspace.position_encoding))
        return Snapshot(uri, path or self._unsaved(uri), revision, parts, notebook is not None, encoding)

    def changed(self, uri: str, pause: float = 0) -> None:
        """A document was opened or changed."""
        self._revisions[uri] = self._revisions.get(uri, 0) + 1
        self.checker.schedule(uri, pause)

    def closed(self, uri: str) -> None:
        """A document was closed: nothing is said about it any more."""
        self._revisions.pop(uri, None)
        self.checker.forget(uri)
        self._send(uri, {}, {})

    def check_all(self, pause: float = 0) -> None:
        """Something outside the documents changed."""
        self.choices = Choices(self.rules, self.settings, self.folder_settings)
        self.checker.forget()
        for uri in self._revisions:
            self.checker.schedule(uri, pause)

    def _unsaved(self, uri: str) -> str:
        """A path for a document that has none yet, in the first folder of the workspace."""
        folders = self.folders()
        return os.path.join(folders[0] if folders else os.getcwd(), uri.rpartition("/")[2] or "untitled")

    # What the editor is told -----------------------------------------------------------------------------------------

    def publish(self, snapshot: Snapshot, analysis: Analysis | None) -> None:
        """Send the diagnostics of a document, and of a notebook's cells."""
        found = by_document(analysis) if analysis else {}
        self._send(snapshot.uri, found, {part.uri: part.version for part in snapshot.parts})
        for problem in analysis.problems if analysis else ():
            if problem.message.startswith("internal error"):
                self.window_log_message(types.LogMessageParams(types.MessageType.Error, str(problem)))

    def _send(self, uri: str, found: dict[str, list[types.Diagnostic]], versions: dict[str, int | None]) -> None:
        gone = self._published.pop(uri, set()) - set(found)
        for each in (*found, *sorted(gone)):
            self.text_document_publish_diagnostics(
                types.PublishDiagnosticsParams(each, found.get(each, []), versions.get(each))
            )
        if found:
            self._published[uri] = set(found)

    def complain(self, message: str) -> None:
        """Show what is wrong with a configuration, once."""
        if message not in self._complaints:
            self._complaints.add(message)
            text = f"torchlint checks nothing here until this is corrected: {message}"
            self.window_show_message(types.ShowMessageParams(types.MessageType.Error, text))

    def forgive(self) -> None:
        """A configuration may have been corrected; what is still wrong is said again."""
        self._complaints.clear()

    # Settings --------------------------------------------------------------------------------------------------------

    def folders(self) -> list[str]:
        """The paths of the workspace folders; the root where an editor knows no folders."""
        uris = [folder.uri for folder in self.workspace.folders.values()]
        paths = [to_fs_path(uri) for uri in uris or [self.workspace.root_uri] if uri]
        return [path for path in paths if path]

    def take_settings(self, data: Any) -> None:
        """Use settings for the whole workspace."""
        self.settings = self._read(data)
        self.folder_settings = dict.fromkeys(self.folders(), self.settings)
        self.choices = Choices(self.rules, self.settings, self.folder_settings)

    async def pull_settings(self) -> None:
        """Ask the editor for the settings of each folder, if it answers such questions."""
        workspace = self.client_capabilities.workspace
        uris = [folder.uri for folder in self.workspace.folders.values()]
        if workspace is None or not workspace.configuration:
            self.folder_settings = dict.fromkeys(self.folders(), self.settings)
            return
        items = [types.ConfigurationItem(scope_uri=uri, section=SECTION) for uri in (None, *uris)]
        try:
            answers = await self.workspace_configuration_async(types.ConfigurationParams(items))
        except JsonRpcException:  # it said it would answer; what it sent before then stays
            answers = [None] * len(items)
        given = [self.settings if answer is None else self._read(answer) for answer in answers]
        self.settings = given[0]
        paths = [to_fs_path(uri) for uri in uris]
        self.folder_settings = {path: settings for path, settings in zip(paths, given[1:], strict=True) if path}

    def _read(self, data: Any) -> ClientSettings:
        try:
            return read_settings(data, self.rules)
        except SettingsError as error:
            self.window_show_message(
                types.ShowMessageParams(types.MessageType.Error, f"torchlint ignores the editor's settings: {error}")
            )
            return ClientSettings()

    def abilities(self) -> actions.Abilities:
        """What this editor can do with code actions."""
        workspace, document = self.client_capabilities.workspace, self.client_capabilities.text_document
        edit = workspace.workspace_edit if workspace else None
        support = document.code_action.resolve_support if document and document.code_action else None
        return actions.Abilities(
            versioned=bool(edit and edit.document_changes),
            resolves=bool(support and "edit" in support.properties),
        )


def create_server() -> TorchlintServer:
    """A server with all its handlers, not started."""
    server = TorchlintServer()
    _on_lifecycle(server)
    _on_documents(server)
    _on_requests(server)
    return server


def _on_lifecycle(server: TorchlintServer) -> None:
    @server.feature(types.INITIALIZE)
    def initialize(params: types.InitializeParams) -> None:
        server.protocol._workspace = line_true(server.workspace)
        server.take_settings(params.initialization_options)

    @server.feature(types.INITIALIZED)
    async def initialized(params: types.InitializedParams) -> None:
        await server.pull_settings()
        server.check_all()
        workspace = server.client_capabilities.workspace
        watching = workspace.did_change_watched_files if workspace else None
        if watching and watching.dynamic_registration:
            watchers = [types.FileSystemWatcher(glob) for glob in WATCHED]
            options = types.DidChangeWatchedFilesRegistrationOptions(watchers)
            registration = types.Registration("torchlint-files", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)
            await server.client_register_capability_async(types.RegistrationParams([registration]))

    @server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
    async def did_change_configuration(params: types.DidChangeConfigurationParams) -> None:
        if isinstance(params.settings, dict) and SECTION in params.settings:
            server.take_settings(params.settings[SECTION])
        server.forgive()
        await server.pull_settings()
        server.check_all()

    @server.feature(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    async def did_change_folders(params: types.DidChangeWorkspaceFoldersParams) -> None:
        await server.pull_settings()
        server.check_all()

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def did_change_files(params: types.DidChangeWatchedFilesParams) -> None:
        server.forgive()
        server.check_all(PAUSE)

    @server.feature(types.SHUTDOWN)
    def shutdown(params: None) -> None:
        server.ended = True
        server.checker.stop()


def _on_documents(server: TorchlintServer) -> None:
    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def did_open(params: types.DidOpenTextDocumentParams) -> None:
        if params.text_document.language_id == "python":
            server.changed(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def did_change(params: types.DidChangeTextDocumentParams) -> None:
        if server.workspace.get_text_document(params.text_document.uri).language_id == "python":
            server.changed(params.text_document.uri, PAUSE)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    def did_save(params: types.DidSaveTextDocumentParams) -> None:
        server.check_all()  # rules look into other files as well

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def did_close(params: types.DidCloseTextDocumentParams) -> None:
        server.closed(params.text_document.uri)

    @server.feature(types.NOTEBOOK_DOCUMENT_DID_OPEN)
    def notebook_did_open(params: types.DidOpenNotebookDocumentParams) -> None:
        server.changed(params.notebook_document.uri)

    @server.feature(types.NOTEBOOK_DOCUMENT_DID_CHANGE)
    def notebook_did_change(params: types.DidChangeNotebookDocumentParams) -> None:
        server.changed(params.notebook_document.uri, PAUSE)

    @server.feature(types.NOTEBOOK_DOCUMENT_DID_SAVE)
    def notebook_did_save(params: types.DidSaveNotebookDocumentParams) -> None:
        server.check_all()

    @server.feature(types.NOTEBOOK_DOCUMENT_DID_CLOSE)
    def notebook_did_close(params: types.DidCloseNotebookDocumentParams) -> None:
        server.closed(params.notebook_document.uri)


def _on_requests(server: TorchlintServer) -> None:
    options = types.CodeActionOptions(code_action_kinds=actions.KINDS, resolve_provider=True)

    @server.feature(types.TEXT_DOCUMENT_CODE_ACTION, options)
    async def code_action(params: types.CodeActionParams) -> list[types.CodeAction]:
        analysis = await server.checker.current(server.owner(params.text_document.uri))
        if analysis is None:
            return []
        return await server.checker.in_thread(actions.code_actions, analysis, params, server.abilities())

    @server.feature(types.CODE_ACTION_RESOLVE)
    async def resolve(action: types.CodeAction) -> types.CodeAction:
        uri = actions.resolves_for(action.data)
        analysis = await server.checker.current(uri) if uri else None
        if analysis is None:
            return action
        return await server.checker.in_thread(actions.resolve, action, analysis, server.abilities())

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    async def show_documentation(params: types.HoverParams) -> types.Hover | None:
        analysis = await server.checker.current(server.owner(params.text_document.uri))
        return hover(analysis, params.text_document.uri, params.position) if analysis else None
