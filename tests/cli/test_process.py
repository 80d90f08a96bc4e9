"""The real program in a process of its own: pipes, signals, hash seeds, jobs, start methods."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import BAD, GOOD, read_terminal

Process = Callable[..., "subprocess.CompletedProcess[bytes]"]


@pytest.fixture
def many(folder: Path) -> Path:
    """Files enough for worker processes, with findings here and there."""
    filler = "# much text, nothing to find\n" * 3000
    for number in range(24):
        content = BAD if number % 3 == 0 else GOOD
        (folder / f"file_{number:02}.py").write_text(content + filler)
    (folder / "broken.py").write_text(BAD + "x = (\n" + filler)
    (folder / "missing_link.py").symlink_to("nowhere")
    return folder


def test_the_output_is_the_same_under_any_jobs_and_hash_seed(process: Process, many: Path) -> None:
    results = []
    for jobs, seed in (("1", "0"), ("2", "1"), ("3", "random")):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        result = process("check", "--jobs", jobs, "--no-cache", "--output-format", "concise", env=environment)
        results.append((result.returncode, result.stdout, result.stderr))
    assert results[0] == results[1] == results[2]
    assert results[0][0] == 2
    assert len(results[0][1].splitlines()) == 9
    assert results[0][2].startswith(b"error: broken.py:4:5: syntax error")


def test_a_reader_that_leaves_is_no_error(folder: Path) -> None:
    (folder / "a.py").write_text("import torch\n" + 'torch.load("x", weights_only=True)\n' * 3000)
    with subprocess.Popen(
        [sys.executable, "-m", "torchlint", "check", "--no-cache", "--output-format", "concise"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as program:
        assert program.stdout is not None
        assert program.stderr is not None
        assert program.stdout.readline().startswith(b"a.py:2")
        program.stdout.close()
        assert program.stderr.read() == b""


def test_ctrl_c_ends_cleanly(many: Path) -> None:
    script = many / "slow.py"
    script.write_text(
        "import os, sys, time\n"
        "import torchlint.tasks as tasks\n"
        "original = tasks.check_file\n"
        "def slow(task, store=None):\n"
        "    os.write(2, b'checking' + bytes([10]))\n"
        "    time.sleep(60)\n"
        "    return original(task, store)\n"
        "tasks.check_file = slow\n"
        "from torchlint.__main__ import main\n"
        "if __name__ == '__main__':\n"
        "    sys.exit(main())\n"
    )
    for jobs in ("1", "2"):
        with subprocess.Popen(
            [sys.executable, str(script), "check", "--no-cache", "--jobs", jobs],
            cwd=many,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        ) as program:
            assert program.stderr is not None
            assert program.stderr.readline() == b"checking\n"
            os.killpg(program.pid, signal.SIGINT)
            rest = program.stderr.read()
            assert program.wait(timeout=30) == 130
            assert rest.replace(b"checking\n", b"") == b"\ntorchlint: interrupted\n"


SPIN = """
from torchlint.rules.tl501_unmapped_load import UnmappedLoad
class Spin(UnmappedLoad):
    code, name, screen = "XX1", "spin", UnmappedLoad.screen
    def check(self, program):
        while "slow" in program.source.path:
            pass
        return iter(())
"""


def test_a_file_that_takes_too_long_in_a_worker_costs_no_other_file(process: Process, many: Path) -> None:
    (many / "broken.py").unlink()
    (many / "slow.py").write_text(BAD)
    (many / "spin.txt.py").write_text(SPIN)
    (many / "torchlint.toml").write_text('rules = ["spin.txt.py"]\ntime-limit = 1\nexclude = ["spin.*"]\n')
    result = process("check", "--jobs", "2", "--no-cache", "--output-format", "concise")
    assert result.returncode == 2
    assert result.stderr.startswith(b"error: slow.py: took more than 1 s of processor time to check and was given up")
    assert len(result.stderr.splitlines()) == 1
    assert len(result.stdout.splitlines()) == 9


def test_output_that_the_terminal_cannot_encode(process: Process, folder: Path) -> None:
    (folder / "a.py").write_text('import torch\ntorch.load("größe 图", weights_only=True)\n', encoding="utf-8")
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    result = process("check", "--no-cache", env=environment)
    assert result.returncode == 1
    assert b"gr\\xf6\\xdfe" in result.stdout


@pytest.mark.skipif(sys.platform != "linux", reason="file names are bytes on Linux only")
def test_file_names_that_are_not_utf_8_are_shown_in_all_formats(folder: Path) -> None:
    (folder / os.fsdecode(b"caf\xe9.py")).write_text(BAD)
    script = (
        "from torchlint.__main__ import main\n"
        "from torchlint.config import OUTPUT_FORMATS\n"
        "print([main(['check', '--no-cache', '--output-format', name]) for name in OUTPUT_FORMATS])\n"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, cwd=folder)
    assert result.stderr == b""
    assert result.stdout.decode("utf-8").splitlines()[-1] == str([1] * 9)


def test_color_when_forced_and_never_when_refused(process: Process, folder: Path) -> None:
    (folder / "a.py").write_text(BAD)
    forced = process("check", "--no-cache", env={**os.environ, "FORCE_COLOR": "1"})
    refused = process("check", "--no-cache", env={**os.environ, "FORCE_COLOR": "1", "NO_COLOR": "1"})
    assert b"\x1b[" in forced.stdout
    assert b"\x1b[" not in refused.stdout


def test_a_terminal_that_waits_sees_progress(many: Path) -> None:
    import pty

    script = (
        "import sys\n"
        "from torchlint.commands import progress\n"
        "progress._PATIENCE = 0.0\n"
        "from torchlint.__main__ import main\n"
        "sys.exit(main(['check', '--no-cache', '--jobs', '1', '-o', 'out.txt']))\n"
    )
    parent, child = pty.openpty()
    with subprocess.Popen([sys.executable, "-c", script], cwd=many, stderr=child, stdout=subprocess.PIPE) as program:
        os.close(child)
        seen = read_terminal(parent)
    assert b"Checking" in seen
    assert b"100%" in seen
    assert program.returncode == 2


def test_no_progress_in_pipes(process: Process, many: Path) -> None:
    assert b"Checking" not in process("check", "--no-cache", "--jobs", "1").stderr


def test_help_and_version_import_little(process: Process) -> None:
    script = (
        "import sys\n"
        "from torchlint.__main__ import main\n"
        "main([sys.argv[1]])\n"
        "heavy = {'torch', 'libcst', 'pathspec', 'ast', 'difflib', 'tomllib'}\n"
        "heavy |= {'torchlint.engine', 'torchlint.commands'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)\n"
    )
    light = subprocess.run([sys.executable, "-c", "import sys, click; print(sorted(sys.modules))"], capture_output=True)
    for option in ("--version", "--help"):
        result = subprocess.run([sys.executable, "-c", script, option], capture_output=True)
        loaded = eval(result.stderr)
        assert [name for name in loaded if f"'{name}'".encode() not in light.stdout] == []


def test_checking_imports_no_torch(process: Process, folder: Path) -> None:
    (folder / "a.py").write_text(BAD)
    script = (
        "import sys\n"
        "from torchlint.__main__ import main\n"
        "assert main(['check', '--no-cache', '-q']) == 1\n"
        "print('torch' in sys.modules)\n"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, cwd=folder, check=True)
    assert result.stdout.splitlines()[-1] == b"False"


def test_the_wait_for_a_pipe_ends(folder: Path) -> None:
    os.mkfifo(folder / "pipe.py")
    result = subprocess.run(
        [sys.executable, "-m", "torchlint", "check", "pipe.py", "--no-cache"],
        cwd=folder,
        capture_output=True,
        timeout=60,
    )
    assert result.returncode == 2


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="the system has no full device")
def test_output_that_cannot_be_written_is_said(folder: Path) -> None:
    (folder / "a.py").write_text(BAD)
    with open("/dev/full", "wb") as full:
        command = [sys.executable, "-m", "torchlint", "check", "--no-cache"]
        result = subprocess.run(command, cwd=folder, stdout=full, stderr=subprocess.PIPE)
    assert result.returncode == 2
    assert result.stderr == b"torchlint: the report cannot be written: No space left on device\n"


def test_closed_output_is_no_error(folder: Path) -> None:
    (folder / "a.py").write_text(BAD)
    command = f"'{sys.executable}' -m torchlint check --no-cache >&- 2>&-"
    assert subprocess.run(command, shell=True, cwd=folder).returncode == 1


def test_an_output_file_may_be_a_device_or_a_link(process: Process, folder: Path) -> None:
    (folder / "a.py").write_text(BAD)
    (folder / "link.txt").symlink_to("real.txt")
    (folder / "real.txt").write_text("old")
    concise = ("check", "--no-cache", "--output-format", "concise", "-o")
    assert process(*concise, "/dev/stdout").stdout.startswith(b"a.py:3")
    process(*concise, "link.txt")
    assert (folder / "link.txt").is_symlink()
    assert (folder / "real.txt").read_text().startswith("a.py:3")
