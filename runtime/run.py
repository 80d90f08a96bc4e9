"""The parts of a run, put together once: model, optimizer, schedule, scaler, data, and where it stands.

Pitfalls shown: a resume that restores the weights and forgets what else the next step depends on; and saving the
wrapped model. `state_of` and `restore` stand side by side, so that what one writes the other reads, and both use the
unwrapped `module`; only the forward and backward pass of training go through `model`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.optim.lr_scheduler import LambdaLR
from torch.utils.data import DataLoader

from torchlint.runtime import data, datasets
from torchlint.runtime.checkpoint import FORMAT, KIND, RankState, State
from torchlint.runtime.config import TrainConfig, flag
from torchlint.runtime.devices import sum_dtype
from torchlint.runtime.distributed import World
from torchlint.runtime.errors import UserError
from torchlint.runtime.model import build_model, input_shape
from torchlint.runtime.schedule import learning_rate_factor
from torchlint.runtime.seeding import rng_state, seed_everything, set_rng_state, use_deterministic_kernels
from torchlint.runtime.weights import load_weights

FREE = {"out", "fresh", "epochs", "early_stop", "save_every", "keep", "device", "workers", "threads", "compile"}


@dataclass
class Progress:
    """Where a run stands: finished epochs, optimizer steps in all and in the unfinished epoch, and the best epoch."""

    epoch: int = 0
    step: int = 0
    position: int = 0
    batch_loss: float = 0.0
    best_accuracy: float = -1.0
    best_epoch: int = 0


@dataclass
class Run:
    """A run of `train` in this process. `sums` holds loss, hits and samples of the unfinished epoch, on the device."""

    config: TrainConfig
    world: World
    picture: tuple[int, int]
    classes: int
    module: nn.Module
    model: nn.Module
    optimizer: torch.optim.Optimizer
    scheduler: LambdaLR
    scaler: torch.amp.GradScaler
    batches: data.TrainBatches
    train: DataLoader[datasets.Sample]
    val: DataLoader[datasets.Sample]
    progress: Progress
    sums: torch.Tensor
    trail: list[torch.Tensor]  # the loss sum after each step that is not on the board yet

    @property
    def factor(self) -> Callable[[int], float]:
        """The learning rate's factor as a function of the step."""
        return factor_of(self.config, self.batches.steps)


def factor_of(config: TrainConfig, steps: int) -> Callable[[int], float]:
    """The learning rate's factor as a function of the step, for `steps` optimizer steps an epoch."""
    total = config.epochs * steps
    return partial(learning_rate_factor, total=total, warmup=config.warmup, schedule=config.schedule)


def prepare(config: TrainConfig, world: World) -> Run:
    """All parts of a fresh run, not yet connected to other ranks. Raises UserError for what does not fit together."""
    if config.threads is not None:
        torch.set_num_threads(config.threads)
    if config.deterministic:
        use_deterministic_kernels()
    if config.batch_size % (world.size * config.accumulate):
        parts = f"{world.size} processes x --accumulate {config.accumulate}, so that all parts weigh the same"
        raise UserError(f"--batch-size {config.batch_size}: must be a multiple of {parts}")
    picture = input_shape(config.model, datasets.natural_shape(config.data), config.image_size)
    task = datasets.load_task(config.data, *picture)
    samples = len(task.train)  # type: ignore[arg-type]
    if samples < config.batch_size:
        raise UserError(f"--batch-size {config.batch_size}: there are only {samples} training samples")
    if len(task.val) == 0:  # type: ignore[arg-type]
        raise UserError(f"--data {config.data}: there is no validation sample; at least five pictures are needed")
    workers = data.auto_workers(task.in_memory, world) if config.workers is None else config.workers

    seed_everything(config.seed)  # the same weights on every rank …
    module = build_model(config.model, *picture, task.classes).to(world.device)
    seed_everything(config.seed + 1 + world.rank)  # … and dropout of its own on each
    if config.compile:
        module.compile()  # in place: `torch.compile(module)` would put `_orig_mod.` before every key
    optimizer = torch.optim.AdamW(module.parameters(), lr=config.lr, weight_decay=config.weight_decay)
    batches = data.TrainBatches(samples, config.batch_size, config.accumulate, world, config.seed)
    sums = torch.zeros(3, dtype=sum_dtype(world.device), device=world.device)
    return Run(
        config=config,
        world=world,
        picture=picture,
        classes=task.classes,
        module=module,
        model=module,
        optimizer=optimizer,
        scheduler=LambdaLR(optimizer, factor_of(config, batches.steps)),
        scaler=torch.amp.GradScaler(world.device.type, enabled=config.amp == "fp16"),
        batches=batches,
        train=data.train_loader(task.train, batches, world, workers),
        val=data.val_loader(task.val, config.batch_size, world, workers),
        progress=Progress(),
        sums=sums,
        trail=[sums[0].clone()],
    )


def connect(run: Run) -> None:
    """Let the ranks of a run exchange their gradients. All ranks must call it."""
    if run.world.size > 1:
        run.model = DistributedDataParallel(run.module)


def state_of(run: Run) -> State:
    """Everything the next step depends on, as plain data. All ranks must call it."""
    own: RankState = {"rng": rng_state(run.world.device), "sums": run.sums.cpu().tolist()}
    return {
        "kind": KIND,
        "format": FORMAT,
        "torch": str(torch.__version__),
        "config": dataclasses.asdict(run.config),
        "picture": list(run.picture),
        "classes": run.classes,
        "model": run.module.state_dict(),
        "optimizer": run.optimizer.state_dict(),
        "scheduler": run.scheduler.state_dict(),
        "scaler": run.scaler.state_dict(),
        "progress": dataclasses.asdict(run.progress),
        "ranks": run.world.gather(own),
    }


def restore(run: Run, state: State, origin: str) -> list[str]:
    """Put the run where the state says; returns what the user should know about it.

    Raises UserError when a setting that shapes the run differs, or when the weights are another model's.
    """
    notes = differences(run.config, state["config"], origin)
    if state["classes"] != run.classes or tuple(state["picture"]) != run.picture:
        was = f"{state['classes']} classes of {state['picture']} pictures"
        raise UserError(f"{origin}: was trained on {was}, the data now has {run.classes} of {list(run.picture)}")
    load_weights(run.module, state["model"], origin)
    try:
        run.optimizer.load_state_dict(state["optimizer"])
        run.scheduler.load_state_dict(state["scheduler"])
        run.scaler.load_state_dict(state["scaler"])
        run.progress = Progress(**state["progress"])
        ranks = state["ranks"]
        if len(ranks) == run.world.size:
            set_rng_state(ranks[run.world.rank]["rng"], run.world.device)
            sums = ranks[run.world.rank]["sums"]
        else:
            notes.append(f"{len(ranks)} processes wrote {origin} and {run.world.size} go on: not bit for bit from here")
            seed_everything(run.config.seed + 1 + run.world.rank + run.progress.step)
            totals = [sum(parts) for parts in zip(*(rank["sums"] for rank in ranks), strict=True)]
            sums = totals if run.world.is_main else [0.0] * 3
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        raise UserError(f"{origin}: its training state does not fit this run ({error})") from error
    run.sums.copy_(torch.tensor(sums, dtype=run.sums.dtype))
    run.trail = [run.sums[0].clone()]
    return notes


def differences(now: TrainConfig, before: dict[str, Any], origin: str) -> list[str]:
    """A note for each free setting that matters and differs; raises UserError for one that shapes the run."""
    notes = []
    for name, value in dataclasses.asdict(now).items():
        was = before.get(name)
        if was == value:
            continue
        if name not in FREE:
            raise UserError(
                f"{flag(name)} {value}: the run in {origin} was started with {was} and would become another one; "
                f"keep {was}, or start a new run with another --out"
            )
        if name == "epochs":
            notes.append(f"--epochs is now {value}, it was {was}: the learning rate follows the new length")
    return notes
