"""Living with old code: baseline and ``--add-noqa``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import BAD, GOOD, Run

Check = Callable[..., Run]
CONCISE = ("--output-format", "concise")


@pytest.fixture
def known(torchlint: Check, bad: Path) -> str:
    """A baseline that knows the finding in ``bad.py``."""
    result = torchlint("--write-baseline", "known.json")
    assert result.code == 0
    assert "Wrote 1 finding to known.json." in result.err
    return "known.json"


def test_known_findings_are_not_reported(torchlint: Check, known: str) -> None:
    result = torchlint("--baseline", known)
    assert (result.code, result.out) == (0, "1 known to known.json not shown.\nAll checks passed (1 file).\n")


def test_the_file_is_readable(known: str, folder: Path) -> None:
    data = json.loads((folder / known).read_text())
    entry = {
        "path": "bad.py",
        "code": "TL501",
        "statement": 'state = torch.load("model.pt", weights_only=True)',
        "count": 1,
    }
    assert data == {"version": 1, "findings": [entry]}


def test_lines_may_move(torchlint: Check, known: str, bad: Path) -> None:
    bad.write_text("# a new line\n\n" + BAD.replace("state =", "state  ="))
    assert torchlint("--baseline", known).code == 0


def test_one_more_of_the_same_is_new(torchlint: Check, known: str, bad: Path) -> None:
    bad.write_text(BAD + BAD)
    result = torchlint("--baseline", known, "-q", *CONCISE)
    assert (result.code, len(result.out.splitlines())) == (1, 1)


def test_the_same_statement_in_another_file_is_new(torchlint: Check, known: str, folder: Path) -> None:
    (folder / "other.py").write_text(BAD)
    assert torchlint("--baseline", known, "-q", *CONCISE).out.startswith("other.py:3")


def test_what_vanished_is_said(torchlint: Check, known: str, bad: Path) -> None:
    bad.write_text(GOOD)
    result = torchlint("--baseline", known)
    assert result.code == 0
    assert 'no longer there: bad.py: TL501 state = torch.load("model.pt", weights_only=True)' in result.err


def test_a_file_that_is_gone_vanished_one_not_checked_did_not(
    torchlint: Check, known: str, bad: Path, folder: Path
) -> None:
    (folder / "other.py").write_text(GOOD)
    assert torchlint("--baseline", known, "other.py").err == ""
    bad.unlink()
    assert "no longer there" in torchlint("--baseline", known, "other.py").err


def test_writing_again_keeps_what_was_not_checked(torchlint: Check, known: str, folder: Path) -> None:
    (folder / "other.py").write_text(BAD)
    assert "kept 1 of files that were not checked" in torchlint("--write-baseline", known, "other.py").err
    assert torchlint("--baseline", known).code == 0


def test_paths_count_from_the_baseline(
    torchlint: Check, known: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "sub").mkdir()
    monkeypatch.chdir(folder / "sub")
    assert torchlint("--baseline", "../known.json", "..").code == 0


def test_the_configuration_may_name_it(torchlint: Check, known: str, folder: Path) -> None:
    (folder / "torchlint.toml").write_text('baseline = "known.json"\n')
    assert torchlint().code == 0


def test_fix_leaves_known_findings_alone(torchlint: Check, known: str, bad: Path) -> None:
    torchlint("fix", "--baseline", known)
    assert bad.read_text() == BAD


@pytest.mark.parametrize(
    "content", [None, "{", "[]", '{"version": 9, "findings": []}', '{"version": 1}', '{"version": 1, "findings": [1]}']
)
def test_a_baseline_that_cannot_be_read(torchlint: Check, bad: Path, folder: Path, content: str | None) -> None:
    if content is not None:
        (folder / "known.json").write_text(content)
    result = torchlint("--baseline", "known.json")
    assert result.code == 2
    assert result.err.startswith("Error: known.json: ")


def test_add_noqa(torchlint: Check, bad: Path) -> None:
    result = torchlint("--add-noqa")
    assert (result.code, result.err) == (0, "Silenced 1 finding in 1 file.\n")
    assert bad.read_text() == BAD.rstrip("\n") + "  # noqa: TL501\n"
    assert torchlint().code == 0
    assert torchlint("--add-noqa").err == "Silenced 0 findings in 0 files.\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            'torch.load("a", weights_only=True)  # type: ignore\n',
            'torch.load("a", weights_only=True)  # type: ignore  # noqa: TL501\n',
        ),
        (
            'torch.load("a", weights_only=True)  # noqa: E501\n',
            'torch.load("a", weights_only=True)  # noqa: E501, TL501\n',
        ),
        ('torch.load("a", weights_only=True)\r\n', 'torch.load("a", weights_only=True)  # noqa: TL501\r\n'),
        ('torch.load("a", weights_only=True)', 'torch.load("a", weights_only=True)  # noqa: TL501'),
        ('torch.load("""\na""", weights_only=True)\n', 'torch.load("""\na""", weights_only=True)  # noqa: TL501\n'),
        (
            'x = \\\n  torch.load("a", weights_only=True)\n',
            'x = \\\n  torch.load("a", weights_only=True)  # noqa: TL501\n',
        ),
    ],
)
def test_add_noqa_finds_a_place(torchlint: Check, folder: Path, before: str, after: str) -> None:
    path = folder / "a.py"
    path.write_bytes(b"import torch\n" + before.encode())
    assert torchlint("--add-noqa").code == 0
    assert path.read_bytes() == b"import torch\n" + after.encode()
    assert torchlint().code == 0


def test_add_noqa_passes_over_rows_that_cannot_carry_a_comment(torchlint: Check, folder: Path) -> None:
    (folder / "a.py").write_text('import torch\nx = torch.load("a", weights_only=True), """\n""", \\\n1\n')
    assert torchlint("--add-noqa").code == 0
    assert (folder / "a.py").read_text().endswith("\n1  # noqa: TL501\n")
    assert torchlint().code == 0


def test_add_noqa_takes_no_standard_input(torchlint: Check, folder: Path) -> None:
    assert torchlint("--add-noqa", "-", stdin=BAD.encode()).code == 2
