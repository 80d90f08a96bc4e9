"""The hooks, run by pre-commit itself in a scratch repository."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
BAD = "import torch\n\n\ndef resume(model):\n    model.load_state_dict(torch.load('model.pt'))\n"


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


@pytest.fixture(scope="module")
def hooks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with the package and its hooks as they are in this working tree, committed or not."""
    folder = tmp_path_factory.mktemp("hooks")
    listed = run(ROOT, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    if listed.returncode == 0:
        names = [name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]
    else:
        names = [path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*") if path.is_file()]
    wanted = (
        "lint/",
        "rules/",
        "fixers/",
        "runtime/",
        "pyproject.toml",
        "README.md",
        "LICENSE",
        ".pre-commit-hooks.yaml",
    )
    for name in names:
        if name.startswith(wanted):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes((ROOT / name).read_bytes())
    commit(folder)
    return folder


def commit(folder: Path) -> None:
    for command in (["init", "-q"], ["add", "-A"], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x"]):
        done = run(folder, "git", *command)
        assert done.returncode == 0, done.stderr


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    (tmp_path / "train.py").write_text(BAD)
    (tmp_path / "vendor").mkdir()
    (tmp_path / "vendor" / "theirs.py").write_text(BAD)
    (tmp_path / "torchlint.toml").write_text('exclude = ["vendor/"]\n')
    run(tmp_path, "git", "init", "-q")
    run(tmp_path, "git", "add", "-A")
    return tmp_path


def try_hooks(repository: Path, hooks: Path) -> subprocess.CompletedProcess[str]:
    """All hooks at once: pre-commit makes a new environment for each call."""
    return run(repository, sys.executable, "-m", "pre_commit", "try-repo", str(hooks), "--all-files", "--verbose")


def test_a_bad_commit_is_stopped_and_a_fixed_one_passes(repository: Path, hooks: Path) -> None:
    stopped = try_hooks(repository, hooks)
    assert stopped.returncode == 1, stopped.stdout + stopped.stderr
    check, _, fix = stopped.stdout.partition("hook id: torchlint-fix")
    assert "TL501" in check
    assert "files were modified by this hook" in fix, "pre-commit stops the commit, so that one looks at the change"
    assert "map_location" in (repository / "train.py").read_text()
    assert (repository / "vendor" / "theirs.py").read_text() == BAD, "what is excluded is left alone"

    run(repository, "git", "add", "-A")
    passed = try_hooks(repository, hooks)
    assert passed.returncode == 0, passed.stdout + passed.stderr
