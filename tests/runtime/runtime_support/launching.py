"""Runs of the command line in processes of their own, forked from a server that has already imported PyTorch."""

from __future__ import annotations

import importlib
import multiprocessing
import os
import socket
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(
    [
        "torchlint.runtime.launch",
        "torchlint.runtime.export",
        "torchlint.runtime.inspection",
        "torch.utils.tensorboard",
        "torch._dynamo",  # the first optimizer imports it, which takes longer than a short training
        "matplotlib.figure",
        "matplotlib.backends.backend_agg",
    ]
)
Plant = tuple[str, tuple[Any, ...]]  # a function of runtime_support.plants and its arguments


@dataclass(frozen=True)
class Result:
    """How a process ended (minus the signal's number when it was killed) and what it printed on both streams."""

    code: int
    text: str


@dataclass(frozen=True)
class Started:
    """A process under way."""

    process: BaseProcess
    output: Path

    def result(self) -> Result:
        """Wait for the end."""
        self.process.join(timeout=900)  # for a process that hangs, not for one that is slow
        if self.process.exitcode is None:
            self.process.kill()
            raise AssertionError(f"hangs after: {self.output.read_text(encoding='utf-8')}")
        return Result(self.process.exitcode, self.output.read_text(encoding="utf-8"))


def start(argv: list[str], *, plant: Plant | None = None, env: Mapping[str, str] | None = None) -> Started:
    """Start `main(argv)`, after `plant` has changed what it is to change."""
    descriptor, name = tempfile.mkstemp(suffix=".txt")
    os.close(descriptor)
    process = CONTEXT.Process(target=child, args=(argv, name, plant, dict(env or {})))
    process.start()
    return Started(process, Path(name))


def run(argv: list[str], *, plant: Plant | None = None, env: Mapping[str, str] | None = None) -> Result:
    """Start `main(argv)` and wait for its end."""
    return start(argv, plant=plant, env=env).result()


def start_ranks(argv: list[str], size: int, plants: Mapping[int, Plant] | None = None) -> list[Started]:
    """Start `size` ranks of one job, as torchrun would."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    job = {"WORLD_SIZE": str(size), "LOCAL_WORLD_SIZE": str(size), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    return [
        start(argv, plant=(plants or {}).get(rank), env={**job, "RANK": str(rank), "LOCAL_RANK": str(rank)})
        for rank in range(size)
    ]


def child(argv: list[str], output: str, plant: Plant | None, env: dict[str, str]) -> None:
    """What the new process does."""
    file = os.open(output, os.O_WRONLY | os.O_APPEND)
    os.dup2(file, 1)
    os.dup2(file, 2)
    sys.stdin = open(os.devnull, encoding="ascii")  # noqa: SIM115
    os.environ.update(env)
    if plant is not None:
        name, arguments = plant
        getattr(importlib.import_module("runtime_support.plants"), name)(*arguments)
    from torchlint.runtime.__main__ import main

    code = main(argv)
    sys.stdout.flush()
    sys.exit(code)
