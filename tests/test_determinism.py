"""The report is the same under any hash seed and any number of processes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def report(seed: str, jobs: str) -> str:
    command = ["check", "--isolated", "--no-cache", "--exit-zero", "--output-format", "json", "--jobs", jobs]
    done = subprocess.run(
        [sys.executable, "-m", "torchlint", *command, "fixtures", "examples"],
        cwd=ROOT,
        env=os.environ | {"PYTHONHASHSEED": seed},
        capture_output=True,
        text=True,
    )
    assert done.stdout, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def expected() -> str:
    text = report("0", "1")
    assert text.count('"code"') > 50, "too few findings to show anything"
    return text


@pytest.mark.parametrize(("seed", "jobs"), [("1", "1"), ("2", "2"), ("4711", "3")])
def test_report_is_the_same(expected: str, seed: str, jobs: str) -> None:
    assert report(seed, jobs) == expected
