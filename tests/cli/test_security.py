"""What torchlint reads is never run, never steers a terminal, and leads no fix out of the tree."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from torchlint.config import OUTPUT_FORMATS

from .conftest import BAD, GOOD, Run, read_terminal

Check = Callable[..., Run]
Process = Callable[..., "subprocess.CompletedProcess[bytes]"]

TRAP = "import os, pathlib\npathlib.Path(os.environ['TRAP']).open('a').write(__file__ + chr(10))\n"
# Whatever torchlint, pytest, setuptools, pip, IPython or Python itself would import from a folder if they were let.
NAMES = (
    "sitecustomize.py", "usercustomize.py", "conftest.py", "setup.py", "noxfile.py", "__init__.py", "__main__.py",
    "torch.py", "torchlint.py", "torchlint/__init__.py", "torchlint_rules.py", "rules/__init__.py", "lint/__init__.py",
    "fixers/__init__.py", "tools/my_rules.py", "click.py", "libcst/__init__.py", "pathspec.py", "ast.py", "json.py",
    "ipython_config.py", ".ipython/profile_default/startup/00.py", "model.py", "package/__init__.py", "package/part.py",
)  # fmt: skip


@pytest.fixture
def trap(folder: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Files with side effects everywhere; the file that comes to be when one of them is run."""
    sprung = tmp_path_factory.mktemp("trap") / "sprung"
    monkeypatch.setenv("TRAP", str(sprung))
    for name in NAMES:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(TRAP + BAD + "from package.part import *\nimport model, torch.utils.data\n")
    cell = {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": TRAP + BAD}
    magic = {**cell, "source": f"!echo x >> {sprung}\n%run model.py\n%load_ext model\n{BAD}"}
    (folder / "a.ipynb").write_text(
        json.dumps({"cells": [cell, magic], "metadata": {}, "nbformat": 4, "nbformat_minor": 4})
    )
    (folder / "pyproject.toml").write_text(
        '[build-system]\nrequires = []\nbuild-backend = "model"\nbackend-path = ["."]\n'
        '[project]\nname = "x"\nversion = "1"\n[project.entry-points."torchlint.rules"]\nmine = "model"\n'
        '[tool.torchlint]\nselect = ["ALL"]\n'
    )
    (folder / "x.egg-info").mkdir()
    (folder / "x.egg-info" / "entry_points.txt").write_text("[torchlint.rules]\nmine = model\n")
    (folder / "start.pth").write_text("import model\n")
    return sprung


@pytest.mark.parametrize("command", [["check"], ["fix", "--unsafe-fixes"], ["check", "--add-noqa"]])
def test_nothing_that_is_read_is_run(process: Process, trap: Path, folder: Path, command: list[str]) -> None:
    # The program as it is installed; `python -m` itself puts the current folder first, before torchlint is asked.
    script = "import sys; sys.path[:] = sys.path[1:] if sys.path[0] == '' else sys.path; "
    script += "from torchlint.__main__ import main; sys.exit(main())"
    result = subprocess.run(
        [sys.executable, "-c", script, *command, "--no-cache", "--jobs", "2"], cwd=folder, capture_output=True
    )
    assert result.returncode in (0, 1), result.stderr
    assert not trap.exists(), trap.read_text()
    assert command == ["check"] or "torch.load" in (folder / "model.py").read_text() != TRAP + BAD
    subprocess.run([sys.executable, "model.py"], cwd=folder, capture_output=True)
    assert trap.exists(), "the trap does not work, so this shows nothing"


def test_rules_run_only_when_the_configuration_names_them(torchlint: Check, trap: Path, folder: Path) -> None:
    assert torchlint("--no-cache", "model.py").code == 1
    assert not trap.exists()
    (folder / "torchlint.toml").write_text('rules = ["tools/my_rules.py"]\n')
    assert torchlint("--no-cache", "--isolated", "model.py").code == 1
    assert not trap.exists(), "--isolated reads no configuration, so it runs nothing"
    assert torchlint("--no-cache", "model.py").code == 2  # the file holds no rule
    assert trap.exists()


def test_no_link_leads_a_fix_out_of_the_tree(
    torchlint: Check, folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "other.py").write_text(BAD)
    (outside / "sub").mkdir()
    (outside / "sub" / "deep.py").write_text(BAD)
    (folder / "link.py").symlink_to(outside / "other.py")
    (folder / "folder").symlink_to(outside / "sub")
    (folder / "real.py").write_text(BAD)
    (folder / "inside.py").symlink_to("real.py")
    for command in (["fix"], ["--add-noqa"]):
        result = torchlint(*command, "--no-cache")
        assert result.code == 2
        assert result.err.startswith("error: link.py: is a link to ")
        assert "outside of what is checked" in result.err
    assert (folder / "real.py").read_text() == GOOD
    assert (folder / "inside.py").is_symlink()
    assert (outside / "other.py").read_text() == BAD
    assert (outside / "sub" / "deep.py").read_text() == BAD
    assert sorted(os.listdir(outside)) == ["other.py", "sub"]


def test_the_cache_is_not_written_through_a_link(
    torchlint: Check, bad: Path, folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (folder / ".torchlint_cache").symlink_to(outside)
    assert torchlint().code == 1
    assert torchlint("fix").code == 0
    torchlint("clean")
    assert os.listdir(outside) == []


EVIL = "\x1b[2J\x1b]0;pwned\x07\x9b31m\u202e<![CDATA[&]]>%0A::error::x\r`|"
EVIL_CODE = (
    f'import torch\n\nm{{n}} = torch.load("{EVIL}", weights_only=True)\nwriter.add_scalar("{EVIL}", 1)\n'.replace(
        "\r", ""
    ).replace("{n}", "")
)


@pytest.mark.parametrize("name", OUTPUT_FORMATS)
def test_no_report_lets_a_file_steer_its_reader(torchlint: Check, folder: Path, name: str) -> None:
    path = folder / "\x1b[31m\n::error::x%0A,<&\"'|`.py"
    path.write_text(EVIL_CODE, encoding="utf-8")
    (folder / "broken\x1b[2J\n::error::x.py").write_text(BAD + "x = (\n")
    notebook = {"cells": [{"cell_type": "code", "metadata": {}, "source": EVIL_CODE}], "metadata": {}, "nbformat": 4}
    (folder / "\x1b[31m.ipynb").write_text(json.dumps(notebook))
    result = torchlint("--no-cache", "--output-format", name, "--select", "ALL")
    assert result.code == 2
    for text in (result.out, result.err):
        assert not [c for c in text if c != "\n" and not c.isprintable()], "control characters reach the reader"
    assert len(result.err.splitlines()) == 1
    if name == "github":
        assert all(
            line.startswith(("::error title=torchlint", "::warning title=torchlint"))
            for line in result.out.splitlines()
        )
    elif name == "junit":
        cases = ElementTree.fromstring(result.out).iter("testcase")
        assert {case.get("file") for case in cases} >= {"\\x1b[31m\\n::error::x%0A,<&\"'|`.py"}
    elif name == "jsonl":
        assert all(json.loads(line)["filename"] for line in result.out.splitlines())
    elif name in ("json", "sarif", "gitlab", "rdjson"):
        json.loads(result.out)
    else:
        assert not [line for line in result.out.splitlines() if line.startswith("::")]


def test_a_diff_cannot_steer_a_terminal(folder: Path) -> None:
    import pty

    (folder / "a.py").write_text(f'import torch\nx = "{EVIL}"\n'.replace("\r", "") + BAD, encoding="utf-8")
    parent, child = pty.openpty()
    command = [sys.executable, "-m", "torchlint", "fix", "--diff", "--no-cache"]
    environment = {**os.environ, "NO_COLOR": "1"}
    with subprocess.Popen(command, cwd=folder, stdout=child, stderr=subprocess.PIPE, env=environment) as program:
        os.close(child)
        seen = read_terminal(parent)
    assert program.returncode == 1
    assert b"map_location" in seen
    assert b"\x1b" not in seen
    assert b"\\x1b[2J" in seen
