"""pygls' workspace with the protocol's lines.

The protocol ends a line at LF, CR LF or CR. pygls splits with ``str.splitlines``, which also does so at a form feed or
U+2028; then the changes of an editor would land on the wrong rows.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from pygls.workspace import TextDocument, Workspace

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


class LineTrueDocument(TextDocument):
    """A document with the protocol's lines."""

    @property
    def lines(self) -> Sequence[str]:
        """The rows, each with its line end."""
        return tuple(_LINE.findall(self.source))


class LineTrueWorkspace(Workspace):
    """A workspace of such documents."""

    def _create_text_document(
        self, doc_uri: str, source: str | None = None, version: int | None = None, language_id: str | None = None
    ) -> TextDocument:
        return LineTrueDocument(
            doc_uri,
            source=source,
            version=version,
            language_id=language_id,
            sync_kind=self._sync_kind,
            position_codec=self._position_codec,
        )


def line_true(workspace: Workspace) -> LineTrueWorkspace:
    """The same workspace, still without documents, with the protocol's lines."""
    return LineTrueWorkspace(
        workspace.root_uri,
        workspace._sync_kind,
        list(workspace.folders.values()),
        workspace.position_encoding,
    )
