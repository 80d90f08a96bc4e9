"""Bad input costs one clear line each, never a traceback, and never the other files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from torchlint import tasks
from torchlint.__main__ import main
from torchlint.deadline import time_limit
from torchlint.findings import Finding
from torchlint.rules.tl501_unmapped_load import UnmappedLoad
from torchlint.semantics.program import Program

from .conftest import BAD, GOOD, Run

Check = Callable[..., Run]
USE = b"import torch\ntorch.load('x')\n"  # what makes a file worth parsing


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (USE + b"x = (\n", "a.py:3:5: syntax error: '(' was never closed"),
        (USE + b"print 'python 2'\n", "a.py:3:1: syntax error"),
        (USE + b"x = 1\n  y = 2\n", "a.py:4"),
        (USE + b"x = '\0'\n", "a.py:3: contains NUL bytes"),
        (USE + b"x = '\xff'\n", "a.py:3: is not valid utf-8"),
        (b"# coding: klingon\n" + USE, "a.py:1: has a bad encoding declaration"),
        (b"# coding: utf-8\n" + USE + b"# \xe9\n", "a.py:4: is not valid utf-8"),
        (b"\xef\xbb\xbf# coding: latin-1\n" + USE, "a.py:1: has a bad encoding declaration"),
        (USE + b"x = " + b"(" * 300 + b")" * 300 + b"\n", "a.py:3"),
        (USE + b"x = " + b"-" * 20000 + b"1\n", "a.py"),
        (USE + b"x = " + b"+".join([b"1"] * 50000) + b"\n", "a.py"),
        (USE + b"".join(b" " * i + b"if 1:\n" for i in range(150)) + b" " * 150 + b"pass\n", "a.py:1"),
        # no rule can report here, so they are not parsed; but this is certainly no source:
        (b"x = '\0'\n", "a.py:1: contains NUL bytes"),
        (b"x = '\xff'\n", "a.py:1: is not valid utf-8"),
    ],
)
def test_files_that_cannot_be_read(torchlint: Check, bad: Path, folder: Path, content: bytes, message: str) -> None:
    path = folder / "a.py"
    path.write_bytes(content)
    os.utime(path, ns=(1, 1))
    for command in ("check", "fix"):
        arguments = [command] if command == "fix" else []
        result = torchlint(*arguments, "--output-format", "concise", "--diff" if command == "fix" else "-q")
        lines = [line for line in result.err.splitlines() if line.startswith("error: ")]
        if not lines:  # a deep expression that this Python does parse
            assert content.count(b"-") + content.count(b"+") > 10000
            continue
        assert result.code == 2
        assert lines[0].startswith(f"error: {message}")
        assert len(lines) == 1
        assert "bad.py" in result.out
    assert path.read_bytes() == content
    assert path.stat().st_mtime_ns == 1


def test_an_empty_file_is_fine(torchlint: Check, folder: Path) -> None:
    (folder / "a.py").write_bytes(b"")
    assert torchlint().code == 0


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"cells": 1, "nbformat": 4}', b"\xff"])
def test_notebooks_that_are_none(torchlint: Check, bad: Path, folder: Path, content: bytes) -> None:
    (folder / "a.ipynb").write_bytes(content)
    result = torchlint()
    assert result.code == 2
    assert result.err.startswith("error: a.ipynb:")
    assert len(result.err.splitlines()) == 1
    assert "TL501" in result.out


def test_a_file_that_vanishes(torchlint: Check, bad: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from torchlint.commands import checking

    original = checking.gather

    def gather_then_remove(*arguments: object) -> object:
        inputs = original(*arguments)  # type: ignore[arg-type]
        (folder / "gone.py").unlink()
        return inputs

    (folder / "gone.py").write_text(BAD)
    monkeypatch.setattr(checking, "gather", gather_then_remove)
    result = torchlint("--output-format", "concise")
    assert (result.code, result.err) == (2, "error: gone.py: does not exist\n")
    assert result.out.startswith("bad.py:3")


def test_an_unreadable_file(torchlint: Check, bad: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from torchlint import runner

    original = runner.read

    def refuse(path: str) -> bytes:  # the superuser, who may run this, is refused nothing by the system
        if path == "closed.py":
            raise PermissionError(13, "Permission denied")
        return original(path)

    (folder / "closed.py").write_text(BAD)
    monkeypatch.setattr(runner, "read", refuse)
    result = torchlint()
    assert (result.code, result.err) == (2, "error: closed.py: cannot be read: permission denied\n")
    assert "bad.py:3" in result.out


class _Crashing(UnmappedLoad):
    """Fails in files with a certain name."""

    def check(self, program: Program) -> Iterator[Finding]:
        if "crash" in program.source.path:
            raise ZeroDivisionError("what \x1b[31m now")
        yield from super().check(program)


def test_a_rule_that_crashes_is_named_and_the_run_goes_on(
    torchlint: Check, bad: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torchlint.commands.checking.available_rules", lambda: (_Crashing,))
    (folder / "crash.py").write_text(BAD)
    result = torchlint()
    assert result.code == 2
    assert result.err == (
        "error: crash.py: internal error in TL501 unmapped-load: ZeroDivisionError: what \\x1b[31m now\n"
    )
    assert "bad.py:3" in result.out


class _Hanging(UnmappedLoad):
    """Never ends in files with a certain name, once it has been asked often enough."""

    left = 0

    def check(self, program: Program) -> Iterator[Finding]:
        if "hang" in program.source.path:
            type(self).left -= 1
            while type(self).left < 0:
                pass
        yield from super().check(program)


@pytest.mark.parametrize(("command", "before"), [("check", 0), ("fix", 0), ("fix", 2)])
def test_a_file_that_takes_too_long_is_given_up_and_the_run_goes_on(
    torchlint: Check, bad: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, command: str, before: int
) -> None:
    from torchlint.commands import fixing

    monkeypatch.setattr("torchlint.commands.checking.available_rules", lambda: (_Hanging,))
    monkeypatch.setattr(tasks, "time_limit", lambda seconds: time_limit(seconds / 600))
    monkeypatch.setattr(fixing, "time_limit", tasks.time_limit)
    monkeypatch.setattr(_Hanging, "left", before)  # with 2, the fix is made and hangs when it is checked again
    (folder / "hang.py").write_text(BAD)
    result = torchlint(*(["fix"] if command == "fix" else []), "--no-cache", "--unsafe-fixes")
    assert result.code == 2
    what = "fix" if before else "check"
    assert result.err.startswith(f"error: hang.py: took more than 60 s of processor time to {what} and was given up")
    assert len(result.err.splitlines()) == 1
    assert (folder / "hang.py").read_text() == BAD
    assert ("hang.py:3" in result.out) == bool(before), "what was found before it was given up is still told"
    assert (bad.read_text() == GOOD) == (command == "fix")


def test_a_slip_in_the_configuration_is_one_line(torchlint: Check, bad: Path, folder: Path) -> None:
    (folder / "torchlint.toml").write_text("selct = []\n")
    result = torchlint()
    assert result.code == 2
    assert result.err.endswith("torchlint.toml: unknown key 'selct': did you mean 'select'?\n")
    assert len(result.err.splitlines()) == 1


def test_a_defect_of_ours_is_a_sentence(torchlint: Check, bad: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise RuntimeError("oops")

    monkeypatch.setattr("torchlint.commands.checking.available_rules", fail)
    result = torchlint()
    assert result.code == 2
    assert result.err.startswith("torchlint: internal error: RuntimeError: oops (test_bad_input.py:")
    assert "please report it" in result.err


def test_that_defect_can_be_looked_into(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCHLINT_DEBUG", "1")
    monkeypatch.setattr("torchlint.commands.checking.available_rules", lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        main(["check"])


def test_interrupted(torchlint: Check, bad: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("torchlint.commands.checking.available_rules", interrupt)
    assert torchlint() == Run(130, "", "\ntorchlint: interrupted\n")


def test_names_cannot_steer_a_terminal(torchlint: Check, folder: Path) -> None:
    (folder / "\x1b[31mred.py").write_text(BAD)
    result = torchlint("missing\x1b[2J.py", ".")
    assert "\x1b" not in result.out + result.err
    assert "\\x1b[31mred.py" in result.out


def test_names_with_dashes(torchlint: Check, folder: Path) -> None:
    (folder / "-q.py").write_text(BAD)
    assert torchlint("--", "-q.py").code == 1
    assert torchlint("./-q.py").code == 1
    assert torchlint().code == 1


@pytest.mark.skipif(os.name == "nt", reason="needs the file types of POSIX")
def test_a_folder_of_odd_things(torchlint: Check, bad: Path, folder: Path) -> None:
    """What is no file is passed over; what is an odd file with valid code is checked and fixed like any other."""
    import socket

    (folder / "folder.py").mkdir()
    os.mkfifo(folder / "pipe.py")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket.py")
        (folder / "nowhere.py").symlink_to("missing.py")
        (folder / "loop.py").symlink_to("loop.py")
        (folder / "up").symlink_to(".")
        odd = {
            "-leading.py": BAD,
            "a b\n.py": BAD,
            "sum.py": BAD + "x = " + " + ".join(["y"] * 2000) + "\n",
            "chain.py": BAD + "x = y" + ".z()" * 300 + "\n",
            "line.py": BAD + "x = '" + "x" * 1_000_000 + "'\n",
            "cr.py": BAD.replace("\n", "\r"),
            "bom.py": "\ufeff" + BAD,
            "feed.py": "\x0c\n" + BAD + "\x0c\nif x:\n\x0c    y = 1\n",
            "nel.py": "# a\u0085b\u2028c\n" + BAD,
            "tabs.py": BAD + "if x:\n\tif y:\n\t    z = 1\n",
            "surrogate.py": BAD + 'x = "\\ud800"\n',
        }
        for name, text in odd.items():
            (folder / name).write_bytes(text.encode())
        (folder / "only_bom.py").write_bytes(b"\xef\xbb\xbf")
        latin = b"# coding: latin-1\n# \xe9\x85\n" + BAD.encode()
        (folder / "latin.py").write_bytes(latin)
        result = torchlint("--output-format", "concise", "--no-cache", "-q")
        assert (result.code, result.err) == (1, "")
        assert len(result.out.splitlines()) == len(odd) + 2
        assert torchlint("fix", "--no-cache", "-q").code == 0
    for name, text in odd.items():
        wanted = text.replace("weights_only=True)", 'weights_only=True, map_location="cpu")')
        assert (folder / name).read_bytes() == wanted.encode(), name
    assert (folder / "latin.py").read_bytes() == latin.replace(b"True)", b'True, map_location="cpu")')
    assert (folder / "only_bom.py").read_bytes() == b"\xef\xbb\xbf"
