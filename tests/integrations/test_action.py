"""The GitHub action: its own steps are well-formed and what they run gives annotations."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(scope="module")
def action() -> dict[str, Any]:
    return dict(yaml.safe_load((ROOT / "action.yml").read_text("utf-8")))


def test_inputs_reach_the_shell_by_the_environment_alone(action: dict[str, Any]) -> None:
    scripts = [step["run"] for step in action["runs"]["steps"] if "run" in step]
    assert scripts
    assert not [script for script in scripts if "${{" in script], "an input in a script could run commands"


def test_the_check_step_annotates(action: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import torch\nstate = torch.load('a.pt')\nprint(state)\n")
    binary = tmp_path / "temp" / "torchlint" / "bin" / "torchlint"
    binary.parent.mkdir(parents=True)
    binary.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m torchlint "$@"\n')
    binary.chmod(0o755)
    script = action["runs"]["steps"][-1]["run"]
    variables = {"RUNNER_TEMP": str(tmp_path / "temp"), "PATHS": ".", "ARGS": "--select TL5"}
    done = subprocess.run(
        ["sh", "-c", script], cwd=tmp_path, env=os.environ | variables, capture_output=True, text=True
    )
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("::error"), done.stdout
    assert "train.py" in done.stdout


def test_a_file_that_does_not_parse_is_annotated(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("import torch\ntorch.load(\n")
    command = [sys.executable, "-m", "torchlint", "check", "--output-format", "github", "."]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stdout.startswith("::error title=torchlint,file=broken.py,line=2::"), done.stdout
