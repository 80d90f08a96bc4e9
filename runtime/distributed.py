"""The processes of a run and what they say to each other.

Pitfalls shown: code that forks into a single-process and a distributed copy; a group that is never left; a collective
that only some ranks reach, so that the others wait for ever. `joined` joins torchrun's group when there is one and
always leaves it; every method of `World` is called by all ranks and costs nothing when there is only one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch.distributed.rendezvous import rendezvous

from torchlint.runtime.devices import resolve
from torchlint.runtime.errors import UserError

Value = TypeVar("Value")


@dataclass(frozen=True)
class World:
    """This process among `size` processes, and its device. `local_size` counts the processes on this machine."""

    rank: int
    size: int
    local_size: int
    device: torch.device

    @property
    def is_main(self) -> bool:
        """True on the one rank that writes files and prints."""
        return self.rank == 0

    def sum(self, tensor: torch.Tensor) -> torch.Tensor:
        """The sum of `tensor` over all ranks, as a new tensor on the CPU. All ranks must call it."""
        if self.size == 1:
            return tensor.cpu()
        total = tensor.clone() if dist.get_backend() == "nccl" else tensor.cpu().clone()
        dist.all_reduce(total)
        return total.cpu()

    def any(self, flag: bool) -> bool:
        """True on all ranks when the flag is true on one of them. All ranks must call it."""
        return flag if self.size == 1 else bool(self.sum(torch.tensor([float(flag)], device=self.device)).item())

    def gather(self, value: Value) -> list[Value]:
        """The plain values of all ranks, in order. All ranks must call it."""
        if self.size == 1:
            return [value]
        values: list[Any] = [None] * self.size
        dist.all_gather_object(values, value)
        return values

    def together(self, work: Callable[[], Value]) -> Value:
        """What `work` returns on each rank; a UserError of one of them is raised on all, so that none waits for it.

        `work` itself must not wait for other ranks. All ranks must call it.
        """
        outcome: list[Value] = []
        message = None
        try:
            outcome.append(work())
        except UserError as error:
            if self.size == 1:
                raise
            message = str(error)
        messages = self.gather(message)
        for rank, said in enumerate(messages):
            if said is not None:
                raise UserError(said, shown=rank != self.rank)
        return outcome[0]

    def on_main(self, work: Callable[[], Value]) -> Value:
        """What `work` returns on rank 0, on all ranks; its UserError is raised on all of them. All must call it."""
        if self.size == 1:
            return work()
        outcome: list[Any] = [None, None]
        if self.is_main:
            try:
                outcome[0] = work()
            except UserError as error:
                outcome[1] = str(error)
        dist.broadcast_object_list(outcome, src=0)
        if outcome[1] is not None:
            raise UserError(outcome[1], shown=not self.is_main)
        result: Value = outcome[0]
        return result

    def share_buffers(self, module: torch.nn.Module) -> None:
        """Give every rank the buffers of rank 0 (batch-norm statistics differ between ranks after a step)."""
        if self.size > 1:
            for buffer in module.buffers():
                dist.broadcast(buffer, src=0)


@contextmanager
def joined(device: str) -> Iterator[World]:
    """The world of this process: torchrun's group when RANK is set (nccl on cuda, gloo elsewhere), else only itself."""
    if "RANK" not in os.environ:
        yield World(rank=0, size=1, local_size=1, device=resolve(device))
        return
    local_size = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    own = resolve(device, int(os.environ.get("LOCAL_RANK", "0")), local_size)
    if own.type != "cpu":
        torch.accelerator.set_device_index(own)
    # After an elastic restart torchrun's store still holds the addresses of the ranks that died.
    attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    store, rank, size = next(rendezvous("env://"))
    store = dist.PrefixStore(f"attempt {attempt}", store)  # type: ignore[attr-defined]
    dist.init_process_group("nccl" if own.type == "cuda" else "gloo", store=store, rank=rank, world_size=size)
    try:
        yield World(dist.get_rank(), dist.get_world_size(), local_size, own)
    finally:
        dist.destroy_process_group()
