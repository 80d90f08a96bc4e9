"""`loaders`: what `num_workers` and pinned memory are worth on this machine and this data, measured.

Pitfall shown: a rule of thumb for `num_workers`. "Two to four times the cores" is wrong where cores are few, and any
worker is wrong for data that is already in memory: handing a finished sample to another process costs more than taking
it. The table says what is best here, and what the machine allows.
"""

from __future__ import annotations

import importlib
import os
import statistics
import sys
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset

from torchlint.runtime import datasets
from torchlint.runtime.board import opened
from torchlint.runtime.config import AUTO, option, require
from torchlint.runtime.data import ignore_interrupts, usable_cores
from torchlint.runtime.devices import PINNED, resolve
from torchlint.runtime.errors import UserError
from torchlint.runtime.files import write_atomically


@dataclass(frozen=True)
class LoadersConfig:
    """What `loaders` can be told. Raises UserError for a value that makes no sense."""

    data: str = option("digits", f"{datasets.SOURCES}; digits are measured in memory and as PNG files to be decoded")
    dataset: str | None = option(None, "your own: package.module:object, a dataset or a function that returns one")
    out: str = option("runs/loaders", "the folder for the picture and the events")
    workers: str = option(AUTO, "the settings to try, with commas between; auto: 0, 1, 2 … up to twice the cores")
    batch_size: int = option(64, "samples per batch")
    image_size: int | None = option(None, "pixels a side; auto: what the data has")
    passes: int = option(3, "passes for each setting; the first one, which starts the workers, is shown apart")
    batches: int = option(20, "at most so many batches a pass")
    step_ms: float = option(0.0, "milliseconds in which a training step keeps this process waiting, per batch")
    device: str = option(AUTO, "auto, cpu, cuda, cuda:1, mps, …; batches are copied to it")

    def __post_init__(self) -> None:
        for name in ("batch_size", "batches"):
            require(getattr(self, name) >= 1, name, getattr(self, name), "must be at least 1")
        require(self.passes >= 2, "passes", self.passes, "must be at least 2: the first one only starts the workers")
        require(self.step_ms >= 0, "step_ms", self.step_ms, "must not be negative")
        words = self.workers.split(",")
        valid = self.workers == AUTO or all(word.strip().isdigit() for word in words)
        require(valid, "workers", self.workers, "must be auto or numbers with commas between, such as 0,1,2,4")

    @property
    def settings(self) -> list[int]:
        """The numbers of workers to try."""
        if self.workers != AUTO:
            return sorted({int(word) for word in self.workers.split(",")})
        cores = usable_cores()
        return [count for count in (0, 1, 2, 4, 8, 16, 32) if count <= 2 * cores]


@dataclass(frozen=True)
class Measured:
    """One row: seconds of the first and of a later pass, samples in a pass, and the share of a pass spent waiting."""

    workers: int
    pinned: bool
    first: float
    later: float
    samples: int
    waiting: float


def measure_loaders(config: LoadersConfig) -> int:
    """Measure, print a table for each dataset, and write the same as a PNG and as TensorBoard events."""
    device = resolve(config.device)
    subjects = chosen(config)
    folder = Path(config.out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"--out {folder}: cannot be used as a folder ({error.strerror})") from error
    print(f"{usable_cores()} usable core(s), device {device}, PyTorch {torch.__version__}; {limits(device)}")
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    if load > usable_cores() / 2:
        print(f"note: the load average is {load:.1f}, so other processes share the cores and the figures")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # workers have one thread; with more here, row 0 would be about threads, not about workers
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="This DataLoader will create")  # the header says it once
            tables = {name: table(name, dataset, config, device) for name, dataset in subjects.items()}
    finally:
        torch.set_num_threads(threads)
    with opened(folder / "tensorboard", purge_step=0) as board:
        for name, rows in tables.items():
            for row in rows:
                series = slug(name) + ("_pinned" if row.pinned else "")
                values = {f"{series}/pass_seconds": row.later, f"{series}/waiting": row.waiting}
                board.scalars("loaders", values, row.workers)
        figure = drawn(tables)
        board.figure("loaders", "table", figure, 0)
    picture = folder / "loaders.png"
    write_atomically(picture, lambda file: figure.savefig(file, format="png", dpi=120))
    print(f"\nThe same as a picture: {picture}; in TensorBoard (step = workers): tensorboard --logdir {folder}")
    return 0


def chosen(config: LoadersConfig) -> dict[str, Dataset[Any]]:
    """The datasets to measure, by name."""
    if config.dataset is not None:
        return {config.dataset: imported(config.dataset)}
    channels, size = datasets.natural_shape(config.data)
    task = datasets.load_task(config.data, channels, config.image_size or size)
    if config.data == "digits":
        return {"digits in memory": task.train, "digits decoded from PNG": datasets.EncodedDigits()}
    return {config.data: task.train}


def imported(name: str) -> Dataset[Any]:
    """The dataset `package.module:object`, searched from the current folder too. Raises UserError when it is none."""
    module_name, _, attribute = name.partition(":")
    if not module_name or not attribute:
        raise UserError(f"--dataset {name}: must be package.module:object")
    sys.path.insert(0, "")
    try:
        found = getattr(importlib.import_module(module_name), attribute)
        made = isinstance(found, type) or not hasattr(found, "__getitem__")
        dataset = found() if made and callable(found) else found
    except Exception as error:  # the user's own code may raise anything
        raise UserError(f"--dataset {name}: cannot be imported or made ({type(error).__name__}: {error})") from error
    finally:
        sys.path.remove("")
    if not hasattr(dataset, "__getitem__") or not hasattr(dataset, "__len__"):
        raise UserError(f"--dataset {name}: is a {type(dataset).__name__}, which has no __getitem__ and __len__")
    return dataset  # type: ignore[no-any-return]


def table(name: str, dataset: Dataset[Any], config: LoadersConfig, device: torch.device) -> list[Measured]:
    """Measure every setting on one dataset and print each row when it is done, then the best."""
    print(f"\n{name}, batches of {config.batch_size}, {config.step_ms:g} ms a training step")
    print(f"{'workers':>8}{'pinned':>8}{'first pass':>12}{'a pass':>10}{'samples/s':>11}{'waiting':>9}")
    rows = []
    for workers in config.settings:
        for pinned in (False, True) if device.type in PINNED else (False,):
            row = measured(dataset, workers, pinned, config, device)
            rows.append(row)
            print(
                f"{row.workers:>8}{'yes' if row.pinned else 'no':>8}{row.first:>10.3f} s{row.later:>8.3f} s"
                f"{row.samples / row.later:>11.0f}{row.waiting:>9.0%}",
                flush=True,
            )
    best = min(rows, key=lambda row: row.later)
    slowest = max(rows, key=lambda row: row.later)
    pin = f", pin_memory={best.pinned}" if device.type in PINNED else ""
    times = slowest.later / best.later
    print(f"best here: num_workers={best.workers}{pin}; the slowest setting takes {times:.1f} times as long")
    return rows


def measured(
    dataset: Dataset[Any], workers: int, pinned: bool, config: LoadersConfig, device: torch.device
) -> Measured:
    """The passes of one setting: the loader's own work, the copy to the device, and a pause for the training step."""
    loader = DataLoader(
        dataset,
        batch_size=config.batch_size,
        shuffle=True,
        num_workers=workers,
        pin_memory=pinned,
        persistent_workers=workers > 0,
        worker_init_fn=ignore_interrupts,
        generator=torch.Generator().manual_seed(0),
    )
    seconds, waited, samples = [], [], 0
    for _ in range(config.passes):
        samples, waits = 0, 0.0
        started = before = time.perf_counter()
        for number, batch in enumerate(loader, start=1):
            waits += time.perf_counter() - before
            samples += min(config.batch_size, len(dataset) - samples)  # type: ignore[arg-type]
            moved(batch, device)
            if device.type != "cpu":
                torch.accelerator.synchronize(device)
            time.sleep(config.step_ms / 1000)
            if number == config.batches:
                break
            before = time.perf_counter()
        seconds.append(time.perf_counter() - started)
        waited.append(waits / seconds[-1])
    later, waiting = statistics.median(seconds[1:]), statistics.median(waited[1:])
    return Measured(workers, pinned, seconds[0], later, samples, waiting)


def moved(batch: Any, device: torch.device) -> Any:
    """The batch on the device, whatever nesting of tensors it is."""
    if isinstance(batch, torch.Tensor):
        return batch.to(device, non_blocking=True)
    if isinstance(batch, dict):
        return {key: moved(value, device) for key, value in batch.items()}
    return [moved(value, device) for value in batch] if isinstance(batch, (list, tuple)) else batch


def limits(device: torch.device) -> str:
    """What the machine allows, in a clause."""
    pinning = "pinned memory is tried" if device.type in PINNED else "pinned memory is of no use without CUDA or XPU"
    return f"PyTorch warns above {usable_cores()} worker(s); {pinning}"


def drawn(tables: dict[str, list[Measured]]) -> Any:
    """The tables as bars, the best one marked."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.5 * len(tables), 3.5), layout="constrained")
    for axes, (name, rows) in zip(figure.subplots(1, len(tables), squeeze=False)[0], tables.items(), strict=True):
        best = min(rows, key=lambda row: row.later)
        labels = [f"{row.workers}{' pinned' if row.pinned else ''}" for row in rows]
        axes.bar(
            labels, [row.later for row in rows], color=["tab:green" if row is best else "tab:gray" for row in rows]
        )
        axes.set_title(name, fontsize=10)
        axes.set_xlabel("num_workers")
        axes.set_ylabel("seconds a pass")
    return figure


def slug(name: str) -> str:
    """A name as part of a tag."""
    return "".join(character if character.isalnum() else "_" for character in name)
