"""The folder of a run: settings, metrics, events, checkpoints and curves in one place.

Pitfalls shown: two runs that write into one folder and mix their files, and a log in which a resumed run repeats the
epochs after its last checkpoint. A folder is claimed by one process at a time, a folder with other files is refused,
and the metrics are trimmed to the state that is resumed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from torchlint.runtime.errors import UserError
from torchlint.runtime.files import TEMPORARY, write_atomically

LOCK = ".lock"


class RunFolder:
    """Where the files of a run are."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.checkpoints = path / "checkpoints"
        self.board = path / "tensorboard"
        self.settings = path / "config.toml"
        self.metrics = path / "metrics.jsonl"
        self.curves = path / "curves.png"

    def rows(self) -> list[dict[str, Any]]:
        """The finished epochs, one dict each; a last line that was cut short by a kill does not count."""
        rows: list[dict[str, Any]] = []
        if self.metrics.is_file():
            for line in self.metrics.read_text(encoding="utf-8").splitlines():
                with suppress(json.JSONDecodeError):
                    rows.append(json.loads(line))
        return rows

    def append(self, row: dict[str, Any]) -> None:
        """Add the row of a finished epoch and wait until it is on the disk."""
        with self.metrics.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def trim(self, epochs: int) -> None:
        """Keep the rows of the first `epochs` epochs; later ones belong to work that is about to be done again."""
        kept = [json.dumps(row) + "\n" for row in self.rows() if row["epoch"] <= epochs]
        write_atomically(self.metrics, lambda file: file.write("".join(kept).encode()))


@contextmanager
def claimed(folder: RunFolder, *, fresh: bool) -> Iterator[None]:
    """Hold the folder for this process; made when missing.

    Raises UserError when it belongs to something else, when another process trains there, and with `fresh` when it
    holds anything.
    """
    path = folder.path
    try:
        held = sorted(entry.name for entry in path.iterdir() if entry.name != LOCK) if path.exists() else []
        if held and fresh:
            raise UserError(f"--out {path}: --fresh needs an empty folder and this one holds {some(held)}")
        if held and not (folder.settings.is_file() or folder.checkpoints.is_dir()):
            raise UserError(f"--out {path}: holds {some(held)}, which is no run; choose a folder of its own")
        folder.checkpoints.mkdir(parents=True, exist_ok=True)
        lock = (path / LOCK).open("w", encoding="ascii")
    except OSError as error:
        raise UserError(f"--out {path}: cannot be used as a folder ({error.strerror}: {error.filename})") from error
    with lock:
        if not try_lock(lock.fileno()):
            raise UserError(f"--out {path}: another process is training there; wait for it or choose another folder")
        for left_over in folder.checkpoints.glob(f".*{TEMPORARY}"):
            left_over.unlink(missing_ok=True)
        yield


def try_lock(descriptor: int) -> bool:
    """Take the lock that the system drops however this process ends; without `fcntl` (Windows) nothing is locked."""
    try:
        import fcntl
    except ImportError:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def some(names: list[str]) -> str:
    """The first few names, for a message."""
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
