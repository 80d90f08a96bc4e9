"""``fix`` over a tree, killed again and again: every file is the old one or the new one, and the next run cleans up."""

from __future__ import annotations

import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import click

from torchlint.__main__ import main
from torchlint.writing import PREFIX, SUFFIX

_FILES, _FOLDERS = 12, 3
_CODE = 'import torch\n\nstate = torch.load("model.pt", weights_only=True)\n'
_PADDING = "# " + "x" * 30_000 + "\n"  # one long comment: little to read, much to write


def plant(folder: Path) -> dict[Path, bytes]:
    """Write files with one finding each; what they hold."""
    files = {}
    for number in range(_FILES):
        path = folder / f"part_{number % _FOLDERS}" / f"file_{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        files[path] = (_CODE + _PADDING + f"# {number}\n").encode()
        path.write_bytes(files[path])
    return files


def start(folder: Path) -> int:
    """Fix a folder in a process of its own, forked so that it starts at once; its process number."""
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, 1)
        os.dup2(nothing, 2)
        code = 2
        try:
            code = main(["fix", "--isolated", "--no-cache", "--jobs", "1", str(folder)])
        finally:
            os._exit(code)
    return pid


def finish(folder: Path) -> float:
    """Fix a folder to the end; the seconds it took."""
    started = time.monotonic()
    _, status = os.waitpid(start(folder), 0)
    if os.waitstatus_to_exitcode(status) != 0:
        raise click.ClickException("fix failed without having been killed")
    return time.monotonic() - started


def leftovers(folder: Path) -> list[Path]:
    """Temporary files below a folder."""
    return [path for path in folder.rglob("*") if path.name.startswith(PREFIX) and path.name.endswith(SUFFIX)]


@click.command()
@click.option("--kills", default=200, show_default=True)
@click.option("--seed", default=0, show_default=True)
def kill(kills: int, seed: int) -> None:
    """Kill ``fix`` with SIGKILL at random moments; exits 1 when a file is torn or a temporary file stays."""
    chance = random.Random(seed)
    counts: Counter[str] = Counter()
    failures: list[str] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        old = plant(folder)
        longest = max(finish(folder), finish(folder) if plant(folder) else 0.0)
        new = {path: path.read_bytes() for path in old}
        if any(new[path] == old[path] for path in old):
            raise click.ClickException("fix fixes nothing, so this shows nothing")
        for number in range(kills):
            plant(folder)
            pid = start(folder)
            time.sleep(chance.uniform(0, longest))
            os.kill(pid, signal.SIGKILL)
            _, status = os.waitpid(pid, 0)
            counts["killed"] += os.waitstatus_to_exitcode(status) == -signal.SIGKILL
            done = 0
            for path in old:
                now = path.read_bytes()
                done += now == new[path]
                if now not in (old[path], new[path]):
                    failures.append(f"kill {number}: {path.name} is torn: {len(now)} bytes")
            counts["half-way"] += 0 < done < len(old)
            counts["with a temporary file left"] += bool(leftovers(folder))
            finish(folder)
            failures += [f"kill {number}: {path.name} is not fixed" for path in old if path.read_bytes() != new[path]]
            failures += [f"kill {number}: {path.name} stays" for path in leftovers(folder)]
            for path in leftovers(folder):
                path.unlink()
    for failure in failures:
        click.echo(failure, err=True)
    told = ", ".join(f"{number} {what}" for what, number in counts.items())
    click.echo(f"{kills} runs over {_FILES} files: {told}; {len(failures)} failures")
    raise SystemExit(1 if failures else 0)
