"""``fix`` killed with SIGKILL: no file is torn, and the next run leaves no temporary file. The long run is ``bench kill``."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from torchlint.writing import PREFIX

OLD = 'import torch\n\nstate = torch.load("model.pt", weights_only=True)\n'
NEW = OLD.replace("weights_only=True)", 'weights_only=True, map_location="cpu")')
NAMES = ("a.py", "sub/b.py", "sub/c.py")
CALLS = ("write", "fsync", "fchmod", "replace")

# Children are forked, so that ten runs cost one start. Each kills itself just before or after one call that touches
# the disk while the second file is written; what the test looks at is what is left on the disk.
SCRIPT = textwrap.dedent(
    """
    import os, signal, sys
    from torchlint import writing
    from torchlint.__main__ import main

    def dying(name, when):
        real = getattr(os, name)
        def call(*arguments, **options):
            if when == "before":
                os.kill(os.getpid(), signal.SIGKILL)
            result = real(*arguments, **options)
            os.kill(os.getpid(), signal.SIGKILL)
            return result
        return call

    def run(folder, name, when):
        pid = os.fork()
        if pid:
            return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        if name:
            fill, count = writing._fill, []
            def armed(descriptor, data):
                count.append(1)
                if len(count) == 2:
                    setattr(os, name, dying(name, when))
                fill(descriptor, data)
            writing._fill = armed
        os._exit(main(FIX + [folder]))

    FIX = ["fix", "--isolated", "--no-cache", "--jobs", "1", "-q"]
    main(FIX + [{warm!r}])
    """
)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and SIGKILL")
def test_a_run_that_is_killed_tears_no_file_and_the_next_one_cleans_up(tmp_path: Path) -> None:
    points = [(name, when) for name in CALLS for when in ("before", "after")]
    folders = {(name, when): tmp_path / f"{name}-{when}" for name, when in points}
    for folder in (*folders.values(), tmp_path / "warm"):
        (folder / "sub").mkdir(parents=True)
        for each in NAMES:
            (folder / each).write_text(OLD)

    def fixing(*runs: tuple[Path, tuple[str, str]]) -> list[int]:
        lines = "".join(f"print(run({str(folder)!r}, *{point!r}))\n" for folder, point in runs)
        script = SCRIPT.format(warm=str(tmp_path / "warm")) + lines
        result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
        return [int(line) for line in result.stdout.split()]

    assert fixing(*((folders[point], point) for point in points)) == [-signal.SIGKILL] * len(points)
    for point, folder in folders.items():
        texts = [(folder / each).read_text() for each in NAMES]
        assert set(texts) == {OLD, NEW}, f"killed {point}: a file is neither old nor new"
        assert bool(leftovers(folder)) == (point != ("replace", "after")), (
            f"killed {point}: not where it was meant to be"
        )
    assert fixing(*((folder, ("", "")) for folder in folders.values())) == [0] * len(points)
    for point, folder in folders.items():
        assert [(folder / each).read_text() for each in NAMES] == [NEW] * len(NAMES)
        assert leftovers(folder) == [], f"killed {point}: a temporary file stays"


def leftovers(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.name.startswith(PREFIX)]
