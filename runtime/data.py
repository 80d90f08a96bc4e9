"""Loaders: in which order samples come, from how many processes, and with which random numbers.

Pitfalls shown:
* a loader that prepares batches in the training process while the accelerator waits, or starts more workers than there
  are cores; workers are counted from the cores this process may use, and an in-memory dataset gets none;
* `set_epoch` set on the dataset, which persistent workers never see: here the epoch travels with each index;
* augmentation that depends on the number of workers: each sample has its own seed, drawn from (seed, epoch, index), so
  0 and 8 workers, one and many ranks, a fresh and a resumed run all see the same pictures;
* `iter(loader)` drawing from the global generator, which shifts dropout: the loader has a generator of its own;
* a padded `DistributedSampler` in validation, which counts samples twice: each rank gets a plain slice instead.
"""

from __future__ import annotations

import math
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import torch
from torch.utils.data import DataLoader, Dataset, Sampler, Subset
from torch.utils.data.distributed import DistributedSampler

from torchlint.runtime.datasets import Sample
from torchlint.runtime.devices import PINNED
from torchlint.runtime.distributed import World

Key = tuple[int, int]  # index of a sample and the seed of its augmentation
Batch = tuple[torch.Tensor, torch.Tensor]
Item = TypeVar("Item")


class Seeded(Dataset[Sample]):
    """A dataset whose random transforms (drawn from torch) depend on the key alone, not on the process or the past."""

    def __init__(self, dataset: Dataset[Sample]) -> None:
        self.dataset = dataset

    def __len__(self) -> int:
        return len(self.dataset)  # type: ignore[arg-type]

    def __getitem__(self, key: Key) -> Sample:
        index, seed = key
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(seed)  # torch.manual_seed would also reset the accelerator's dropout
            return self.dataset[index]


class TrainBatches(Sampler[list[Key]]):
    """The keys of one rank's parts of batches; they follow from (seed, epoch, position) alone.

    A global batch is cut over ranks and then over `accumulate` parts, so that the same samples meet in the same
    optimizer step however many processes there are. The incomplete last batch of an epoch is dropped.
    """

    def __init__(self, length: int, batch_size: int, accumulate: int, world: World, seed: int) -> None:
        self.order: DistributedSampler[int] = DistributedSampler(
            range(length),  # type: ignore[arg-type]
            num_replicas=world.size,
            rank=world.rank,
            shuffle=True,
            seed=seed,
            drop_last=True,
        )
        self.length = length
        self.steps = length // batch_size
        self.accumulate = accumulate
        self.part_size = batch_size // world.size // accumulate
        self.seed = seed
        self.epoch = 0
        self.position = 0

    def set_epoch(self, epoch: int, position: int = 0) -> None:
        """Continue in `epoch` after `position` optimizer steps."""
        self.order.set_epoch(epoch)
        self.epoch = epoch
        self.position = position

    def __len__(self) -> int:
        return (self.steps - self.position) * self.accumulate

    def __iter__(self) -> Iterator[list[Key]]:
        order = list(self.order)
        generator = torch.Generator().manual_seed(self.seed * 1_000_003 + self.epoch)
        seeds = torch.randint(2**62, (self.length,), generator=generator)
        for part in range(self.position * self.accumulate, self.steps * self.accumulate):
            indices = order[part * self.part_size : (part + 1) * self.part_size]
            yield [(index, int(seeds[index])) for index in indices]


def train_loader(dataset: Dataset[Sample], batches: TrainBatches, world: World, workers: int) -> DataLoader[Sample]:
    """The training loader of one rank; call `batches.set_epoch` before each pass."""
    return DataLoader(
        Seeded(dataset),
        batch_sampler=batches,
        num_workers=workers,
        pin_memory=world.device.type in PINNED,
        persistent_workers=workers > 0,
        worker_init_fn=ignore_interrupts,
        generator=torch.Generator().manual_seed(batches.seed),
    )


def val_loader(dataset: Dataset[Sample], batch_size: int, world: World, workers: int) -> DataLoader[Sample]:
    """This rank's slice of the validation data in batches of `batch_size`: every sample once over all ranks."""
    part = Subset(dataset, range(world.rank, len(dataset), world.size))  # type: ignore[arg-type]
    return DataLoader(
        part,
        batch_size=batch_size,
        shuffle=False,
        num_workers=workers,
        pin_memory=world.device.type in PINNED,
        persistent_workers=workers > 0,
        worker_init_fn=ignore_interrupts,
        generator=torch.Generator().manual_seed(0),
    )


def ignore_interrupts(worker: int) -> None:
    """Leave Ctrl-C to the training process, which finishes its step and saves; workers end with it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def grouped(loader: DataLoader[Sample], size: int) -> Iterator[list[Batch]]:
    """The loader's batches in lists of `size`: the parts of one optimizer step."""
    group: list[Batch] = []
    for batch in loader:
        group.append(batch)
        if len(group) == size:
            yield group
            group = []


def auto_workers(in_memory: bool, world: World) -> int:
    """How many workers a loader should have here: at most 4, never more than this process's share of the cores."""
    if in_memory:
        return 0  # handing finished samples to another process costs more than preparing them
    share = usable_cores() // world.local_size
    return min(4, share) if share > 1 else int(world.device.type != "cpu")


def usable_cores() -> int:
    """The cores this process may use: affinity (taskset, Slurm) and the control group's quota (containers) count."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text(encoding="ascii").split()
        cores = min(cores, math.ceil(int(quota) / int(period)))
    except (OSError, ValueError):  # no such file, or "max": no quota
        pass
    return max(1, cores)
