"""A scratch folder, the command line in this process, and the real one in another."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from torchlint.__main__ import main

BAD = 'import torch\n\nstate = torch.load("model.pt", weights_only=True)\n'
GOOD = 'import torch\n\nstate = torch.load("model.pt", weights_only=True, map_location="cpu")\n'


@dataclass(frozen=True)
class Run:
    code: int
    out: str
    err: str


def read_terminal(parent: int) -> bytes:
    """All that a program writes to the other side of a pseudo terminal, until it closes it."""
    seen = b""
    while True:
        try:
            part = os.read(parent, 4096)
        except OSError:  # how Linux tells that the other side is closed
            break
        if not part:
            break
        seen += part
    os.close(parent)
    return seen


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current folder whose parents hold no configuration."""
    monkeypatch.chdir(tmp_path)
    for name in ("NO_COLOR", "FORCE_COLOR", "TORCHLINT_DEBUG", "CI_PROJECT_DIR"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def bad(folder: Path) -> Path:
    """One file with one finding, TL501 in row 3."""
    path = folder / "bad.py"
    path.write_text(BAD)
    return path


@pytest.fixture
def torchlint(folder: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Run]:
    def run(*arguments: str, stdin: bytes = b"") -> Run:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        capfd.readouterr()
        code = main(["check", *arguments] if arguments[:1] not in _COMMANDS else list(arguments))
        sys.stdout.flush()
        out, err = capfd.readouterr()
        assert "Traceback" not in out + err
        return Run(code, out, err)

    return run


_COMMANDS = {(name,) for name in ("fix", "rule", "clean", "train", "server", "--version", "--help", "chekc", "bad.py")}


@pytest.fixture
def process(folder: Path) -> Callable[..., subprocess.CompletedProcess[bytes]]:
    def run(*arguments: str, **options: object) -> subprocess.CompletedProcess[bytes]:
        command = [sys.executable, "-m", "torchlint", *arguments]
        return subprocess.run(command, capture_output=True, cwd=folder, timeout=120, **options)  # type: ignore[call-overload,no-any-return]

    return run
