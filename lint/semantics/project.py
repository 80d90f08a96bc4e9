"""Facts from other files of the project, parsed only when a rule asks."""

from __future__ import annotations


class Project:
    """One project: the files below the folder that holds ``pyproject.toml`` or the repository."""

    def __init__(self, root: str) -> None:
        self.root = root

    def reexport(self, target: str, path: str) -> frozenset[str] | None:
        """Where a name imported from a file of this project really comes from; None when that is not known."""
        return None
