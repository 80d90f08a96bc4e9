"""The flake8 plugin, run by flake8 itself."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("flake8", reason="flake8 is not installed")

CODE = """\
import torch

a = torch.load("a.pt")
b = torch.load("b.pt", map_location="cpu")
c = torch.load("c.pt")  # noqa: TL501
d = torch.load(
    "d.pt",
    pickle_module=None,  # noqa
)
e = torch.load("e.pt")  # torchlint: ignore[unmapped-load]
"""


def flake8(folder: Path, *arguments: str, stdin: str | None = None) -> list[str]:
    """The findings of ours that flake8 prints, without their sentences."""
    command = [sys.executable, "-m", "flake8", "--isolated", "--jobs=1", "--select=TL,E9", *arguments]
    result = subprocess.run(command, cwd=folder, input=stdin, capture_output=True, text=True, check=False)
    assert result.stderr == ""
    return [" ".join(line.split(" ")[:2]) for line in result.stdout.splitlines()]


def test_findings_come_with_flake8s_own_rows_columns_and_suppressions(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(CODE, encoding="utf-8")
    assert flake8(tmp_path, "train.py") == ["train.py:3:11: TL501"]
    assert flake8(tmp_path, "--disable-noqa", "train.py") == ["train.py:3:11: TL501"], "torchlint honours them as well"
    assert flake8(tmp_path, "--extend-ignore=TL5", "train.py") == []


def test_standard_input(tmp_path: Path) -> None:
    assert flake8(tmp_path, "-", stdin=CODE) == ["stdin:3:11: TL501"]


def test_our_configuration_counts(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(CODE, encoding="utf-8")
    (tmp_path / "pyproject.toml").write_text('[tool.torchlint]\nignore = ["TL501"]\n', encoding="utf-8")
    assert flake8(tmp_path, "train.py") == []
    (tmp_path / "pyproject.toml").write_text('[tool.torchlint]\nexclude = ["tra*.py"]\n', encoding="utf-8")
    assert flake8(tmp_path, "train.py") == []


def test_a_broken_configuration_is_said(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(CODE, encoding="utf-8")
    (tmp_path / "torchlint.toml").write_text("selct = []\n", encoding="utf-8")
    assert flake8(tmp_path, "train.py") == ["train.py:1:1: TL000"]


def test_a_used_noqa_is_not_called_unused(tmp_path: Path) -> None:
    (tmp_path / "clean.py").write_text("import os  # noqa: TL501\n", encoding="utf-8")
    assert flake8(tmp_path, "clean.py") == []


def test_syntax_errors_stay_flake8s_own(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("import torch\ntorch.load(\n", encoding="utf-8")
    assert [line.partition(" ")[2] for line in flake8(tmp_path, "broken.py")] == ["E999"]
