"""``torchlint fix``, ``check --fix`` and ``--diff``."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import BAD, GOOD, Run

Check = Callable[..., Run]
UNSAFE = 'import torch\n\nmodel = torch.load("model.pt", weights_only=True)\nmodel(torch.ones(1))\n'


def test_fix_writes_the_file_and_says_so(torchlint: Check, bad: Path) -> None:
    result = torchlint("fix")
    assert (result.code, result.out) == (0, "Fixed 1 error, nothing left.\n")
    assert bad.read_text() == GOOD
    assert torchlint("fix").out == "All checks passed (1 file).\n"


def test_check_fix_is_the_same(torchlint: Check, bad: Path) -> None:
    assert torchlint("--fix").code == 0
    assert bad.read_text() == GOOD


def test_unsafe_fixes_are_asked_for(torchlint: Check, folder: Path) -> None:
    path = folder / "a.py"
    path.write_text(UNSAFE)
    before = torchlint("fix", "--output-format", "concise")
    assert before.code == 1
    assert "[unsafe]" in before.out
    assert before.out.endswith("Found 1 error in 1 file. 1 fixable with `torchlint fix --unsafe-fixes`.\n")
    assert path.read_text() == UNSAFE
    assert torchlint("fix", "--unsafe-fixes").code == 0
    assert "map_location" in path.read_text()


def test_unsafe_fixes_can_be_configured_and_refused(torchlint: Check, folder: Path) -> None:
    path = folder / "a.py"
    path.write_text(UNSAFE)
    (folder / "torchlint.toml").write_text("unsafe-fixes = true\n")
    assert torchlint("fix", "--no-unsafe-fixes").code == 1
    assert path.read_text() == UNSAFE
    assert torchlint("fix").code == 0


def test_files_without_fixes_are_not_touched(torchlint: Check, folder: Path) -> None:
    path = folder / "a.py"
    path.write_text(GOOD)
    os.utime(path, ns=(1, 1))
    torchlint("fix")
    assert path.stat().st_mtime_ns == 1


def test_a_broken_file_is_an_error_and_the_rest_is_fixed(torchlint: Check, bad: Path, folder: Path) -> None:
    broken = folder / "broken.py"
    broken.write_text("import torch\ntorch.load(\n")
    os.utime(broken, ns=(1, 1))
    result = torchlint("fix")
    assert result.code == 2
    assert result.err.startswith("error: broken.py:2")
    assert bad.read_text() == GOOD
    assert broken.stat().st_mtime_ns == 1


def test_silenced_findings_are_not_fixed(torchlint: Check, folder: Path) -> None:
    text = BAD.rstrip("\n") + "  # noqa: TL501\n"
    (folder / "a.py").write_text(text)
    assert torchlint("fix").code == 0
    assert (folder / "a.py").read_text() == text


def test_ignored_rules_are_not_fixed(torchlint: Check, bad: Path, folder: Path) -> None:
    (folder / "torchlint.toml").write_text('per-file-ignores = {"bad.py" = ["TL501"]}\n')
    torchlint("fix")
    assert bad.read_text() == BAD


def test_unused_suppressions_go(torchlint: Check, folder: Path) -> None:
    (folder / "a.py").write_text("x = 1  # noqa: TL501\n")
    assert torchlint("fix").code == 0
    assert (folder / "a.py").read_text() == "x = 1\n"


def test_diff_changes_nothing_and_can_be_applied(torchlint: Check, bad: Path, folder: Path) -> None:
    result = torchlint("--diff")
    assert (result.code, result.err) == (1, "Would fix 1 error in 1 file.\n")
    assert bad.read_text() == BAD
    (folder / "change.patch").write_text(result.out)
    subprocess.run(["patch", "-p0", "-i", "change.patch"], cwd=folder, check=True, capture_output=True)
    assert bad.read_text() == GOOD
    assert torchlint("fix", "--diff") == Run(0, "", "Nothing to fix.\n")


@pytest.mark.parametrize("arguments", [(), ("--diff",)])
def test_a_path_that_is_not_there_is_all_that_is_said(torchlint: Check, folder: Path, arguments: tuple[str]) -> None:
    assert torchlint("fix", *arguments, "nope.py") == Run(2, "", "error: nope.py: does not exist\n")


def test_diff_keeps_line_ends_and_names_more(torchlint: Check, folder: Path) -> None:
    (folder / "a.py").write_bytes((BAD + UNSAFE).replace("\n", "\r\n").encode())
    result = torchlint("--diff")
    assert "1 more with --unsafe-fixes" in result.err
    assert result.out.count("\r\n") > 3


def test_standard_input_comes_out_fixed(torchlint: Check, folder: Path) -> None:
    result = torchlint("fix", "-", stdin=BAD.encode())
    assert (result.code, result.out, result.err) == (0, GOOD, "Fixed 1 error, 0 errors left.\n")


def test_standard_input_that_is_clean_or_broken_comes_out_as_it_went_in(torchlint: Check, folder: Path) -> None:
    assert torchlint("fix", "-", stdin=GOOD.encode()) == Run(0, GOOD, "")
    result = torchlint("fix", "-", stdin=b"torch.load(\r\n")
    assert (result.code, result.out) == (2, "torch.load(\r\n")
    assert result.err.startswith("error: -:1")


def test_standard_input_as_a_diff(torchlint: Check, folder: Path) -> None:
    result = torchlint("fix", "--diff", "-", "--stdin-filename", "x.py", stdin=BAD.encode())
    assert result.code == 1
    assert result.out.startswith("--- x.py\n+++ x.py\n")


def test_a_read_only_file_is_an_error(torchlint: Check, bad: Path) -> None:
    bad.chmod(0o444)
    result = torchlint("fix")
    assert result.code == 2
    assert result.err.startswith("error: bad.py: is read-only")
    assert bad.read_text() == BAD


def test_a_link_out_of_the_folder_is_not_written(
    torchlint: Check, folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside") / "real.py"
    outside.write_text(BAD)
    (folder / "link.py").symlink_to(outside)
    result = torchlint("fix")
    assert result.code == 2
    assert "outside of what is checked" in result.err
    assert outside.read_text() == BAD
    assert torchlint("fix", "link.py").code == 0
    assert outside.read_text() == GOOD
    assert (folder / "link.py").is_symlink()


def test_the_report_shows_the_file_as_it_is_now(torchlint: Check, folder: Path) -> None:
    (folder / "a.py").write_text("# noqa: TL501\n" + UNSAFE)
    out = torchlint("fix").out
    assert '3 | model = torch.load("model.pt", weights_only=True)' in out
