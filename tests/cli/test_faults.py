"""What the system does to a run: no room, no rights, no home, no locale, signals, a worker that dies."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from torchlint.writing import PREFIX

from .conftest import BAD, GOOD, Run

Check = Callable[..., Run]
Process = Callable[..., "subprocess.CompletedProcess[bytes]"]
posix = pytest.mark.skipif(os.name == "nt", reason="needs POSIX")


def untouched(folder: Path) -> None:
    """The file is as it was, and nothing lies beside it."""
    assert (folder / "bad.py").read_text() == BAD
    assert not [name for name in os.listdir(folder) if name.startswith(PREFIX)]


@posix
def test_no_room_for_the_new_file(process: Process, bad: Path, folder: Path) -> None:
    """A limit on the size of files is met in the middle of a write, as a full disk is."""
    import resource

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(BAD) - 10, resource.RLIM_INFINITY))

    command = [sys.executable, "-m", "torchlint", "fix", "--output-format", "concise"]  # the cache has no room either
    result = subprocess.run(command, cwd=folder, capture_output=True, preexec_fn=limit)
    assert result.returncode == 2
    assert result.stderr == b"error: bad.py: cannot be written, it is as it was: File too large\n"
    assert result.stdout.startswith(b"bad.py:3")
    untouched(folder)


def test_a_read_only_file_and_a_folder_that_refuses(
    torchlint: Check, bad: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import tempfile

    bad.chmod(0o444)
    result = torchlint("fix", "--no-cache")
    assert result.code == 2
    assert result.err.startswith("error: bad.py: is read-only, so it is not fixed")
    untouched(folder)
    bad.chmod(0o644)

    def refuse(
        *arguments: object, **options: object
    ) -> object:  # the superuser, who may run this, is refused nothing by the system
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(tempfile, "mkstemp", refuse)
    result = torchlint("fix")  # the cache cannot be written either, which is no error
    assert result.code == 2
    assert result.err.startswith("error: bad.py: cannot be written, it is as it was: permission denied")
    assert "bad.py:3" in result.out
    untouched(folder)


@posix
def test_no_home_no_locale_no_terminal_no_input(folder: Path) -> None:
    (folder / "größe 图.py").write_text(BAD + 'print("größe 图")\ntorch.load("größe 图", weights_only=True)\n', "utf-8")
    environment = {"PATH": os.defpath, "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    for command in (["check"], ["check", "--output-format", "json"], ["fix", "--diff"], ["fix", "--unsafe-fixes"]):
        result = subprocess.run(
            [sys.executable, "-m", "torchlint", *command],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            start_new_session=True,
        )
        assert result.returncode == (0 if "--unsafe-fixes" in command else 1), result.stderr
        assert b"Error" not in result.stderr
    assert (folder / "größe 图.py").read_text("utf-8").count("map_location") == 2


@posix
def test_fix_goes_on_without_a_reader(bad: Path, folder: Path) -> None:
    command = f"'{sys.executable}' -m torchlint fix --no-cache >&- 2>&- <&-"
    assert subprocess.run(command, shell=True, cwd=folder).returncode == 0
    assert bad.read_text() == GOOD


SLOW = """
import os, sys, time
from torchlint import writing
fill = writing._fill
def slow(descriptor, data):
    fill(descriptor, data[:10])
    print("half-way", flush=True)
    time.sleep(60)
writing._fill = slow
from torchlint.__main__ import main
if __name__ == "__main__":
    sys.exit(main())
"""


@posix
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_a_file_is_written(bad: Path, folder: Path, number: signal.Signals) -> None:
    (folder / "slow.txt").write_text(SLOW)
    command = [sys.executable, "slow.txt", "fix", "--no-cache", "--jobs", "1"]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as program:
        assert program.stdout is not None
        assert program.stderr is not None
        assert program.stdout.readline() == b"half-way\n"
        program.send_signal(number)
        assert program.wait(timeout=30) == 128 + number
        assert program.stderr.read() == b"\ntorchlint: interrupted\n"
    untouched(folder)


OWN_RULE = """
import os, signal
from torchlint.rules.tl501_unmapped_load import UnmappedLoad
class Dying(UnmappedLoad):
    code, name, screen = "XX1", "dying", UnmappedLoad.screen
    def check(self, program):
        if "dies" in program.source.path and os.getpid() != int(os.environ["MAIN"]):
            os.kill(os.getpid(), signal.SIGKILL)
        return iter(())
"""


@posix
def test_a_file_that_kills_its_worker_costs_no_other_file(folder: Path) -> None:
    filler = "# much text, nothing to find\n" * 3000
    for number in range(6):
        (folder / f"file_{number}.py").write_text(BAD + filler)
    (folder / "dies.py").write_text(BAD)
    (folder / "own.py").write_text(OWN_RULE)
    (folder / "torchlint.toml").write_text('rules = ["own.py"]\nexclude = ["own.py"]\n')
    script = (
        "import os, sys\nos.environ['MAIN'] = str(os.getpid())\nfrom torchlint.__main__ import main\nsys.exit(main())"
    )
    command = [sys.executable, "-c", script, "fix", "--jobs", "2", "--no-cache"]
    result = subprocess.run(command, cwd=folder, capture_output=True, timeout=120)
    assert result.returncode == 2
    assert b"error: dies.py: the process that checked it was killed" in result.stderr
    assert [(folder / f"file_{number}.py").read_text() for number in range(6)] == [GOOD + filler] * 6
    assert (folder / "dies.py").read_text() == BAD


def test_files_that_change_while_fix_runs_keep_what_others_wrote(
    torchlint: Check, bad: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An editor saves between the check and the write: its bytes win, and a later run fixes them."""
    from torchlint.commands import fixing

    original = fixing.write_file

    def saved_meanwhile(path: str, *arguments: object, **options: object) -> None:
        bad.write_text("# saved\n" + BAD)
        original(path, *arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(fixing, "write_file", saved_meanwhile)
    result = torchlint("fix", "--no-cache")
    assert result.code == 2
    assert "was changed by another program meanwhile" in result.err
    assert bad.read_text() == "# saved\n" + BAD
    monkeypatch.undo()
    os.chdir(folder)
    assert torchlint("fix", "--no-cache").code == 0
    assert bad.read_text() == "# saved\n" + GOOD
