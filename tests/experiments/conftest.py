"""Experiments with real torch on the CPU: a script is run as it is, fixed by the tool itself, and run again.

Scripts print one JSON object as their last line. They run with one thread, for OpenMP threads spin against each other,
and without any GPU, so that the outcome is the same on every machine.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from torchlint.fixing import fix_source
from torchlint.rules.rule import builtin_rules
from torchlint.source import read_source

os.environ["OMP_NUM_THREADS"] = "1"  # for the server from which scripts are forked
sys.path.insert(0, str(Path(__file__).parent))
BEFORE = Path(__file__).parent / "before"
_PATIENCE = 300  # seconds until a script that hangs is given up; no result depends on it


@dataclass(frozen=True)
class Run:
    """How a script ended: its exit status, the object it printed last, and what it wrote to standard error."""

    status: int
    result: dict[str, Any]
    errors: str


class Laboratory:
    """Runs and fixes scripts in one scratch folder; importing torch takes seconds, so equal runs are made once.

    ``interpreter``: each script gets an interpreter of its own instead of a fork of one that has imported torch.
    """

    def __init__(self, folder: Path, *, interpreter: bool = False) -> None:
        self.folder = folder
        self.interpreter = interpreter
        self._runs: dict[tuple[str, ...], Run] = {}

    def before(self, name: str) -> str:
        """The text of a script with its pitfall."""
        return (BEFORE / name).read_text("utf-8")

    def fix(self, text: str, code: str, *, unsafe: bool) -> str:
        """The text after the fixes of one rule; the experiment fails if there is nothing to fix."""
        rules = [rule() for rule in builtin_rules() if rule.code == code]
        fixed = fix_source(read_source("script.py", text.encode()), rules, unsafe=unsafe)
        assert not fixed.problems, fixed.problems
        assert fixed.changed, f"{code} fixes nothing here; it reports {[str(each.message) for each in fixed.remaining]}"
        assert not fixed.remaining, [str(each.message) for each in fixed.remaining]
        return fixed.source.text

    def run(self, text: str, *arguments: str | Path) -> Run:
        """Run a script with arguments."""
        key = (text, *map(str, arguments))
        if key not in self._runs:
            self._runs[key] = self._run(*key)
        return self._runs[key]

    def _run(self, text: str, *arguments: str) -> Run:
        script = self.folder / "script.py"
        script.write_text(text, "utf-8")
        if not self.interpreter:
            from forking import run_forked

            return _ended(*run_forked(script, arguments, _PATIENCE))
        env = os.environ | {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "", "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(
            [sys.executable, str(script), *arguments],
            capture_output=True,
            text=True,
            cwd=self.folder,
            env=env,
            timeout=_PATIENCE,
        )
        return _ended(done.returncode, done.stdout, done.stderr)

    def succeed(self, text: str, *arguments: str | Path) -> dict[str, Any]:
        """Run a script that must end well, and give what it printed."""
        run = self.run(text, *arguments)
        assert run.status == 0, run.errors
        return run.result


def _ended(status: int, printed: str, errors: str) -> Run:
    lines = printed.strip().splitlines()
    return Run(status, json.loads(lines[-1]) if status == 0 and lines else {}, errors)


@pytest.fixture(scope="module")
def lab(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Laboratory:
    own = getattr(request.module, "OWN_INTERPRETER", False)
    return Laboratory(tmp_path_factory.mktemp("lab"), interpreter=own)
