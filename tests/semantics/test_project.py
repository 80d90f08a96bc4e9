"""Which folder is the project of a file, and what that makes visible."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchlint.semantics import project
from torchlint.semantics.project import project_root


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two folders below the current one, which nothing marks as a project."""
    for name in ("scripts", "models"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file.py").write_text("")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_marked_folder_above_is_the_project(tree: Path) -> None:
    (tree / "scripts" / "setup.cfg").write_text("")
    assert project_root("scripts/file.py") == str(tree / "scripts")


def test_without_a_mark_it_is_the_current_folder(tree: Path) -> None:
    assert project_root("scripts/file.py") == str(tree)


def test_a_file_elsewhere_has_its_own_folder(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tree / "models")
    assert project_root("../scripts/file.py") == str(tree / "scripts")


def test_a_current_folder_that_is_no_project_by_its_size(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(project, "_MOST_FILES", 1)
    assert project_root("scripts/file.py") == str(tree / "scripts")
