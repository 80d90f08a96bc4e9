"""The cells of an open notebook are one program; each gets the findings and edits of its own rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lsprotocol import types

SETUP = "%matplotlib inline\nimport torch"
LOAD = "%%time\nstate = torch.load('a.pt')\n!ls"
CODE = types.NotebookCellKind.Code
TEXT = types.NotebookCellKind.Markup


class Notebook:
    """A notebook in the editor."""

    def __init__(self, editor: Any, path: Path) -> None:
        self.client = editor.client
        self.uri = path.as_uri()
        self.version = 1

    def cell(self, name: str) -> str:
        """The uri of a cell."""
        return f"{self.uri.replace('file:', 'vscode-notebook-cell:')}#{name}"

    def open(self, **cells: str) -> None:
        """Open it with code cells; a name that begins with ``text`` makes a Markdown cell, which is not synced."""
        listed = [
            types.NotebookCell(TEXT if name.startswith("text") else CODE, self.cell(name))
            for name in cells
            if not name.startswith("text")
        ]
        documents = [
            types.TextDocumentItem(self.cell(name), "python", 1, text)
            for name, text in cells.items()
            if not name.startswith("text")
        ]
        notebook = types.NotebookDocument(self.uri, "jupyter-notebook", self.version, listed)
        self.client.notebook_document_did_open(types.DidOpenNotebookDocumentParams(notebook, documents))

    def change(self, cells: types.NotebookDocumentCellChanges) -> None:
        """Change it."""
        self.version += 1
        identifier = types.VersionedNotebookDocumentIdentifier(self.version, self.uri)
        event = types.NotebookDocumentChangeEvent(cells=cells)
        self.client.notebook_document_did_change(types.DidChangeNotebookDocumentParams(identifier, event))

    def type(self, name: str, version: int, row: int, column: int, text: str) -> None:
        """Insert text into a cell."""
        place = types.Position(row, column)
        change = types.TextDocumentContentChangePartial(types.Range(place, place), text)
        identifier = types.VersionedTextDocumentIdentifier(version, self.cell(name))
        content = types.NotebookDocumentCellContentChanges(identifier, [change])
        self.change(types.NotebookDocumentCellChanges(text_content=[content]))


def test_findings_are_placed_in_their_cells(session: Any, tmp_path: Path) -> None:
    async def scenario(editor: Any) -> None:
        notebook = Notebook(editor, tmp_path / "a.ipynb")
        notebook.open(a=SETUP, text="# words", b=LOAD, c="%%bash\nls", d="x = (", e="torch.load('b.pt')")
        assert await editor.codes(notebook.cell("b")) == ["1:14 TL501"]
        assert await editor.codes(notebook.cell("e")) == ["0:6 TL501"]
        for name in "acd":
            assert await editor.codes(notebook.cell(name)) == []
        assert editor.newest(notebook.uri) is None, "the notebook itself is no text document"

    session(scenario)


def test_changes_of_text_and_of_structure(session: Any, tmp_path: Path) -> None:
    async def scenario(editor: Any) -> None:
        notebook = Notebook(editor, tmp_path / "a.ipynb")
        notebook.open(a=SETUP, b=LOAD)
        assert await editor.codes(notebook.cell("b")) == ["1:14 TL501"]
        notebook.type("b", 2, 1, 0, "\n")
        await editor.settled(notebook.cell("b"), ["2:14 TL501"])
        notebook.type("b", 3, 2, 25, ", map_location='cpu'")
        await editor.settled(notebook.cell("b"), [])
        # A new cell between the two rebinds the name: it is another load from there on.
        new = types.NotebookCell(CODE, notebook.cell("n"))
        document = types.TextDocumentItem(notebook.cell("n"), "python", 1, "torch.load('n.pt')")
        array = types.NotebookCellArrayChange(start=1, delete_count=0, cells=[new])
        structure = types.NotebookDocumentCellChangeStructure(array, did_open=[document])
        notebook.change(types.NotebookDocumentCellChanges(structure=structure))
        await editor.settled(notebook.cell("n"), ["0:6 TL501"])
        array = types.NotebookCellArrayChange(start=1, delete_count=1)
        gone = [types.TextDocumentIdentifier(notebook.cell("n"))]
        structure = types.NotebookDocumentCellChangeStructure(array, did_close=gone)
        notebook.change(types.NotebookDocumentCellChanges(structure=structure))
        await editor.settled(notebook.cell("n"), [])

    session(scenario)


def test_fixes_and_documentation_in_cells(session: Any, tmp_path: Path) -> None:
    async def scenario(editor: Any) -> None:
        notebook = Notebook(editor, tmp_path / "a.ipynb")
        notebook.open(a=SETUP, b=LOAD, e="é = 1; torch.load('b.pt')")
        cell = notebook.cell("b")
        assert "TL501" in (await editor.hover(cell, 1, 15) or "")
        found = await editor.actions(cell, 1, only=["quickfix"])
        assert len(found) == 2
        for action in found.values():
            [change] = action.edit.document_changes
            assert (change.text_document.uri, change.text_document.version) == (cell, 1)
            assert change.edits[0].range.start.line == 1
        everything = (await editor.actions(cell, 0, only=["source.fixAll.torchlint"]))["torchlint: Fix all (safe)"]
        edited = {change.text_document.uri: change.edits for change in everything.edit.document_changes}
        assert set(edited) == {cell, notebook.cell("e")}
        [edit] = edited[notebook.cell("e")]
        assert edit.range.start == types.Position(0, 24)

    session(scenario)


def test_closing_takes_the_findings_away(session: Any, tmp_path: Path) -> None:
    async def scenario(editor: Any) -> None:
        notebook = Notebook(editor, tmp_path / "a.ipynb")
        notebook.open(a=SETUP, b=LOAD)
        assert await editor.codes(notebook.cell("b")) == ["1:14 TL501"]
        cells = [types.TextDocumentIdentifier(notebook.cell(name)) for name in "ab"]
        closed = types.DidCloseNotebookDocumentParams(types.NotebookDocumentIdentifier(notebook.uri), cells)
        editor.client.notebook_document_did_close(closed)
        await editor.settled(notebook.cell("b"), [])

    session(scenario)


def test_the_configuration_next_to_the_notebook_counts(session: Any, tmp_path: Path) -> None:
    (tmp_path / "torchlint.toml").write_text('[per-file-ignores]\n"*.ipynb" = ["TL501"]\n', encoding="utf-8")

    async def scenario(editor: Any) -> None:
        notebook = Notebook(editor, tmp_path / "a.ipynb")
        notebook.open(a=SETUP, b=LOAD)
        assert await editor.codes(notebook.cell("b")) == []

    session(scenario)
