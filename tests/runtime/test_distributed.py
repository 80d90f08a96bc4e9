"""Several processes are one run: the same result, every sample once, one writer, and a visible end when one crashes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from runtime_support.comparing import points
from runtime_support.launching import run, start_ranks

from torchlint.runtime.checkpoint import load

PLAIN = ["--model", "plain", "--epochs", "2", "--batch-size", "128"]
SUPPORT = Path(__file__).parent / "runtime_support"


def torchrun(arguments: Sequence[str], restarts: int = 0) -> subprocess.CompletedProcess[str]:
    """What a user types, on two processes."""
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    launcher.append(f"--max-restarts={restarts}")
    env = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.run([*launcher, *arguments], capture_output=True, text=True, env=env, timeout=300, check=False)


def rows(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]


@pytest.fixture(scope="session")
def one_process(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("one") / "run"
    result = run(["train", *PLAIN, "--out", str(out)], plant=("use_float64", ()))
    assert result.code == 0, result.text
    return out


@pytest.mark.parametrize("flags", [[], ["--accumulate", "4"]])
def test_two_ranks_equal_one_process(one_process: Path, tmp_path: Path, flags: list[str]) -> None:
    """In double precision nothing but the last digits may differ: same batches, same steps, same sums."""
    out = tmp_path / "two"
    double = dict.fromkeys((0, 1), ("use_float64", ()))
    results = [rank.result() for rank in start_ranks(["train", *PLAIN, *flags, "--out", str(out)], 2, double)]
    assert [result.code for result in results] == [0, 0], results
    one, two = (load(folder / "checkpoints" / "last.pt")["model"] for folder in (one_process, out))
    for name, tensor in one.items():
        torch.testing.assert_close(two[name], tensor, rtol=1e-8, atol=1e-10)
    for mine, theirs in zip(rows(one_process), rows(out), strict=True):
        for phase in ("train", "val"):
            assert theirs[phase]["loss"] == pytest.approx(mine[phase]["loss"], rel=1e-9)
            assert theirs[phase]["accuracy"] == mine[phase]["accuracy"]
    assert {tag: len(series) for tag, series in points(one_process).items()} == {
        tag: len(series) for tag, series in points(out).items()
    }


def test_torchrun(one_process: Path, tmp_path: Path) -> None:
    """The command as a user types it, in single precision: one voice, one writer, and the result of one process."""
    out = tmp_path / "two"
    done = torchrun(["-m", "torchlint.runtime", "train", *PLAIN, "--out", str(out)])
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("epoch   2/2") == 1
    assert "2 processes" in done.stdout
    assert len(list((out / "tensorboard").glob("events*"))) == 2  # rank 0's writer and its hyperparameters
    for mine, theirs in zip(rows(one_process), rows(out), strict=True):
        assert theirs["step"] == mine["step"]
        assert theirs["train"]["loss"] == pytest.approx(mine["train"]["loss"], rel=1e-2)


def test_evaluation_on_three_ranks_counts_every_sample_once(one_process: Path) -> None:
    """359 samples do not divide by 3; a padding sampler would count some twice."""
    best = str(one_process / "checkpoints" / "best.pt")
    double = dict.fromkeys(range(3), ("use_float64", ()))
    single = run(["evaluate", best, "--batch-size", "50"], plant=double[0])
    ranks = [rank.result() for rank in start_ranks(["evaluate", best, "--batch-size", "50"], 3, double)]
    assert [result.code for result in ranks] == [0, 0, 0]
    assert "over 359 samples" in single.text
    assert ranks[0].text == single.text
    assert ranks[1].text == ranks[2].text == ""


def test_crashed_rank_ends_the_job_visibly(tmp_path: Path) -> None:
    done = torchrun([str(SUPPORT / "crash_on_rank_1.py"), "train", *PLAIN, "--out", str(tmp_path / "run")])
    assert done.returncode != 0
    assert "RuntimeError: planted crash" in done.stderr


def test_restarted_job_goes_on(one_process: Path, tmp_path: Path) -> None:
    """After the crash torchrun starts both ranks again with the same command, which resumes."""
    flags = [*PLAIN, "--save-every", "1", "--out", str(tmp_path / "run")]
    done = torchrun([str(SUPPORT / "crash_on_rank_1.py"), "train", *flags], restarts=1)
    assert done.returncode == 0, done.stderr
    assert "RuntimeError: planted crash" in done.stderr
    assert "going on after epoch 0, step 4" in done.stdout
    assert [row["step"] for row in rows(tmp_path / "run")] == [11, 22]


def test_user_error_is_said_once(tmp_path: Path) -> None:
    """All ranks meet the same full folder; rank 0 says so, the others leave with it."""
    (tmp_path / "notes.txt").write_text("mine")
    results = [rank.result() for rank in start_ranks(["train", *PLAIN, "--out", str(tmp_path)], 2)]
    assert [result.code for result in results] == [2, 2]
    errors = [line for result in results for line in result.text.splitlines() if "error" in line]
    assert len(errors) == 1
    assert "holds notes.txt, which is no run" in errors[0]


def test_batch_must_divide_over_processes(tmp_path: Path) -> None:
    results = [
        rank.result() for rank in start_ranks(["train", "--batch-size", "31", "--out", str(tmp_path / "run")], 2)
    ]
    assert [result.code for result in results] == [2, 2]
    assert "--batch-size 31: must be a multiple of 2 processes" in results[0].text
    assert results[1].text == ""


def test_error_of_one_rank_ends_all(one_process: Path) -> None:
    """Rank 1 alone does not find the file; rank 0 does not wait for it."""
    job = start_ranks(["evaluate", str(one_process / "checkpoints" / "best.pt")], 2, {1: ("lose_checkpoint", ())})
    results = [rank.result() for rank in job]
    assert [result.code for result in results] == [2, 2]
    assert results[0].text == ""
    assert results[1].text == "torchlint: error: rank 1: planted loss\n"
