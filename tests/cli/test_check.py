"""``torchlint check``: findings, exit codes, options."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import BAD, GOOD, Run

Check = Callable[..., Run]


def test_clean_files_exit_0(torchlint: Check, folder: Path) -> None:
    (folder / "a.py").write_text(GOOD)
    assert torchlint() == Run(0, "All checks passed (1 file).\n", "")


def test_findings_exit_1_and_are_counted(torchlint: Check, bad: Path) -> None:
    result = torchlint("--output-format", "concise")
    assert result.code == 1
    first, last = result.out.splitlines()
    assert first.startswith("bad.py:3:15: TL501 [*] ")
    assert last == "Found 1 error in 1 file. 1 fixable with `torchlint fix`."


def test_exit_zero_forgives_findings_but_not_errors(torchlint: Check, bad: Path) -> None:
    assert torchlint("--exit-zero").code == 0
    assert torchlint("--exit-zero", "missing.py").code == 2


def test_the_current_folder_is_the_default(torchlint: Check, bad: Path) -> None:
    assert torchlint().out == torchlint(".").out


def test_a_missing_path_is_one_line_and_the_rest_is_checked(torchlint: Check, bad: Path) -> None:
    result = torchlint("missing.py", "bad.py")
    assert result.code == 2
    assert result.err == "error: missing.py: does not exist\n"
    assert "TL501" in result.out


def test_no_files_at_all_is_said(torchlint: Check) -> None:
    result = torchlint()
    assert (result.code, result.out) == (0, "")
    assert "nothing was checked" in result.err


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--select", "TL501"], 1),
        (["--select", "TL5"], 1),
        (["--select", "unmapped-load"], 1),
        (["--select", "all"], 1),
        (["--select", "TL001"], 0),
        (["--ignore", "TL501"], 0),
        (["--select", "TL001,TL501"], 1),
        (["--select", "TL001", "--select", "TL501"], 1),
        (["--select", "TL001", "--extend-select", "TL501"], 1),
        (["--select", "TL501", "--ignore", "TL50"], 1),  # the longer selector wins
        (["--select", "TL5", "--ignore", "TL501"], 0),
        (["--select", "TL501", "--ignore", "TL501"], 0),
    ],
)
def test_selection(torchlint: Check, bad: Path, arguments: list[str], code: int) -> None:
    assert torchlint(*arguments).code == code


def test_an_unknown_code_names_the_nearest(torchlint: Check, bad: Path) -> None:
    result = torchlint("--select", "unmaped-load")
    assert result.code == 2
    assert "unknown rule 'unmaped-load': did you mean 'unmapped-load'?" in result.err


def test_an_unknown_format_names_the_nearest(torchlint: Check, bad: Path) -> None:
    result = torchlint("--output-format", "jsno")
    assert result.code == 2
    assert "did you mean 'json'?" in result.err


def test_an_unknown_command_names_the_nearest(torchlint: Check, bad: Path) -> None:
    assert "did you mean 'check'?" in torchlint("chekc").err


def test_a_path_instead_of_a_command_names_the_command(torchlint: Check, bad: Path) -> None:
    result = torchlint("bad.py")
    assert result.code == 2
    assert "torchlint check bad.py" in result.err


def test_quiet_leaves_findings_and_errors_only(torchlint: Check, bad: Path) -> None:
    result = torchlint("-q", "--output-format", "concise", "missing.py", "bad.py")
    assert len(result.out.splitlines()) == 1
    assert result.err == "error: missing.py: does not exist\n"


def test_statistics_count_by_rule(torchlint: Check, folder: Path) -> None:
    (folder / "a.py").write_text(BAD + 'other = torch.load("b.pt", weights_only=True)\n')
    result = torchlint("--statistics")
    assert result.out.splitlines()[0] == "2  TL501  [*] unmapped-load"


def test_statistics_leave_machine_formats_alone(torchlint: Check, bad: Path) -> None:
    assert len(json.loads(torchlint("--statistics", "--output-format", "json").out)) == 1


def test_standard_input(torchlint: Check, folder: Path) -> None:
    result = torchlint("-", "--output-format", "concise", stdin=BAD.encode())
    assert (result.code, result.out.split(": ")[0]) == (1, "-:3:15")


def test_standard_input_has_the_name_it_is_given(torchlint: Check, folder: Path) -> None:
    (folder / "torchlint.toml").write_text('per-file-ignores = {"tests/*" = ["TL501"]}\n')
    arguments = ["--output-format", "concise", "--stdin-filename"]
    assert torchlint("-", *arguments, "src/a.py", stdin=BAD.encode()).out.startswith("src/a.py:3:15: TL501")
    assert torchlint(*arguments, "tests/a.py", stdin=BAD.encode()).code == 0


def test_standard_input_shows_its_source(torchlint: Check, folder: Path) -> None:
    assert 'state = torch.load("model.pt", weights_only=True)' in torchlint("-", stdin=BAD.encode()).out


def test_standard_input_stands_alone(torchlint: Check, bad: Path) -> None:
    assert torchlint("-", "bad.py").code == 2
    assert torchlint("bad.py", "--stdin-filename", "x.py").code == 2


@pytest.mark.parametrize("separator", ["\n", "\0"])
def test_paths_from_a_list(torchlint: Check, bad: Path, folder: Path, separator: str) -> None:
    (folder / "with space.py").write_text(BAD)
    listed = separator.join(["bad.py", "with space.py", ""])
    (folder / "list").write_text(listed)
    result = torchlint("--files-from", "list", "--output-format", "concise", "-q")
    assert [line.split(":")[0] for line in result.out.splitlines()] == ["bad.py", "with space.py"]
    assert torchlint("--files-from", "-", "--output-format", "concise", "-q", stdin=listed.encode()).out == result.out


def test_an_empty_list_checks_nothing(torchlint: Check, bad: Path) -> None:
    result = torchlint("--files-from", "-", stdin=b"")
    assert (result.code, result.out) == (0, "")


def test_a_missing_list_is_an_error(torchlint: Check, folder: Path) -> None:
    result = torchlint("--files-from", "gone.txt")
    assert (result.code, result.err) == (2, "Error: gone.txt: does not exist\n")


def test_output_file(torchlint: Check, bad: Path, folder: Path) -> None:
    result = torchlint("--output-format", "json", "-o", "out.json")
    assert (result.code, result.out) == (1, "")
    assert json.loads((folder / "out.json").read_text())[0]["code"] == "TL501"
    assert sorted(path.name for path in folder.iterdir() if "tmp" in path.name) == []


def test_an_output_file_that_cannot_be_written(torchlint: Check, bad: Path) -> None:
    result = torchlint("-o", "no/such/folder/out.txt")
    assert result.code == 2
    assert "no/such/folder/out.txt: cannot be written" in result.err


def test_show_files(torchlint: Check, bad: Path, folder: Path) -> None:
    (folder / "venv").mkdir()
    (folder / "venv" / "x.py").write_text(BAD)
    assert torchlint("--show-files") == Run(0, "bad.py\n", "")


def test_show_settings(torchlint: Check, bad: Path, folder: Path) -> None:
    (folder / "torchlint.toml").write_text('select = ["TL501"]\nnum-workers = 3\ntime-limit = 7\n')
    out = torchlint("--show-settings", "--unsafe-fixes").out
    assert 'select = ["TL501"]' in out
    assert "num-workers = 3" in out
    assert "time-limit = 7" in out
    assert "unsafe-fixes = true" in out


def test_findings_are_sorted_by_path_and_place(torchlint: Check, folder: Path) -> None:
    for name in ("b.py", "a.py", "a/z.py", "B.py"):
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(BAD + 'again = torch.load("x", weights_only=True)\n')
    lines = torchlint("--output-format", "concise", "-q").out.splitlines()
    places = [line.split(":")[:2] for line in lines]
    assert places == sorted(places)
    assert len(places) == 8


def test_version_and_help_exit_0(torchlint: Check) -> None:
    assert torchlint("--version").code == 0
    assert "Exit codes" in torchlint("--help").out
