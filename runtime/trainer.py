"""Training: one epoch, one validation, and the whole run, in reading order.

Pitfalls shown:
* `total += loss` keeps every step's graph, and `.item()` in each step makes the accelerator wait: sums stay on the
  device, detached, and are read once an epoch;
* a mean of batch means, which weighs a short last batch too much: sums are divided by the number of samples;
* clipping before unscaling, and an optimizer step on gradients that are not finite;
* gradient accumulation that exchanges gradients at each part instead of the last;
* validation on rank 0 alone through the wrapper, which waits for ever: every rank validates a slice, unwrapped.
"""

from __future__ import annotations

import dataclasses
import math
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, nullcontext
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader

from torchlint.runtime import checkpoint, curves
from torchlint.runtime.board import Board, opened, to_chw
from torchlint.runtime.config import TrainConfig, to_toml
from torchlint.runtime.data import Batch, grouped
from torchlint.runtime.datasets import Sample
from torchlint.runtime.devices import sum_dtype
from torchlint.runtime.distributed import World, joined
from torchlint.runtime.errors import UserError
from torchlint.runtime.files import write_atomically
from torchlint.runtime.modes import evaluating
from torchlint.runtime.run import Run, prepare, restore, state_of
from torchlint.runtime.run_folder import RunFolder, claimed
from torchlint.runtime.stopping import Stopped, StopRequest, stop_on_signals

PRECISION = {"none": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


def train_one_epoch(run: Run, folder: RunFolder, board: Board, stop: StopRequest) -> None:
    """The rest of the epoch. Raises Stopped after saving when a signal came, UserError for a gradient that is lost."""
    config, world, progress = run.config, run.world, run.progress
    precision, mixed = PRECISION[config.amp], config.amp != "none"
    run.batches.set_epoch(progress.epoch, progress.position)
    run.model.train()
    for parts in shown(grouped(run.train, config.accumulate), run):
        for number, (images, labels) in enumerate(parts, start=1):
            images = images.to(world.device, non_blocking=True)
            labels = labels.to(world.device, non_blocking=True)
            with exchanging(run.model, last=number == len(parts)):
                with torch.autocast(world.device.type, precision, enabled=mixed):
                    logits = run.model(images)
                    loss = F.cross_entropy(logits, labels, reduction="sum")
                run.scaler.scale(loss / (config.batch_size // world.size)).backward()  # type: ignore[no-untyped-call]
            run.sums += statistics(loss.detach(), logits.detach(), labels)
        run.scaler.unscale_(run.optimizer)
        norm = nn.utils.clip_grad_norm_(run.module.parameters(), config.clip or math.inf)
        check_finite(norm, run)
        run.scaler.step(run.optimizer)
        run.scaler.update()
        run.optimizer.zero_grad(set_to_none=True)
        run.scheduler.step()
        progress.step += 1
        progress.position += 1
        run.trail.append(run.sums[0].clone())
        stopping = world.any(stop.signal is not None)
        if stopping or (config.save_every and progress.step % config.save_every == 0):
            save(run, folder, board)
        if stopping:
            raise Stopped(stop.signal, saved_in(folder))


def statistics(loss: torch.Tensor, logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Sum of the losses, hits and samples of a batch, on its device. `loss` is already a sum."""
    hits = (logits.argmax(dim=1) == labels).sum()
    count = torch.full_like(hits, len(labels))
    return torch.stack([loss.to(sum_dtype(loss.device)), hits, count])


def exchanging(model: nn.Module, *, last: bool) -> Any:
    """Exchange gradients between ranks only in the last part of a step."""
    return model.no_sync() if isinstance(model, DistributedDataParallel) and not last else nullcontext()


def check_finite(norm: torch.Tensor, run: Run) -> None:
    """Raise UserError before the step that would make all weights NaN. A scaler skips such steps by itself."""
    if not run.scaler.is_enabled() and not torch.isfinite(norm):
        raise UserError(
            f"the gradient is not finite at step {run.progress.step + 1}; the weights were not changed. "
            "Lower --lr or set --clip, and look at the data"
        )


def validate(module: nn.Module, loader: DataLoader[Sample], world: World, stop: StopRequest) -> dict[str, float] | None:
    """Mean loss and accuracy over all ranks' slices; None when a signal came. All ranks must call it.

    `module` is the unwrapped model: slices differ in length, and a wrapper's forward would wait for the others.
    """
    sums = torch.zeros(4, dtype=sum_dtype(world.device), device=world.device)
    with evaluating(module):
        for images, labels in loader:
            if stop.signal is not None:
                sums[3] += 1
                break
            images = images.to(world.device, non_blocking=True)
            labels = labels.to(world.device, non_blocking=True)
            logits = module(images)
            loss = F.cross_entropy(logits, labels, reduction="sum")
            sums[:3] += statistics(loss, logits, labels)
    loss_sum, hits, count, stopped = world.sum(sums).tolist()
    return None if stopped else {"loss": loss_sum / count, "accuracy": hits / count}


def fit(run: Run, folder: RunFolder, board: Board, stop: StopRequest) -> None:
    """Train until all epochs are done or none of the last `--early-stop` was better."""
    config, world, progress = run.config, run.world, run.progress
    while progress.epoch < config.epochs and not out_of_patience(run):
        started = time.perf_counter()
        train_one_epoch(run, folder, board, stop)
        world.share_buffers(run.module)  # what is validated is what rank 0 saves
        val = validate(run.module, run.val, world, stop)
        if val is None:
            save(run, folder, board)
            raise Stopped(stop.signal, saved_in(folder))
        log_steps(run, board)
        loss_sum, hits, count = world.sum(run.sums).tolist()
        train = {"loss": loss_sum / count, "accuracy": hits / count}
        if not math.isfinite(train["loss"]):
            raise UserError(f"the training loss of epoch {progress.epoch + 1} is not finite; lower --lr or set --clip")
        run.sums.zero_()
        run.trail = [run.sums[0].clone()]
        progress.epoch += 1
        progress.position = 0
        better = val["accuracy"] > progress.best_accuracy
        if better:
            progress.best_accuracy, progress.best_epoch = val["accuracy"], progress.epoch
        row = {"epoch": progress.epoch, "step": progress.step, "train": train, "val": val}
        if world.is_main:
            folder.append(row)
            log_epoch(board, row)
            print(
                f"epoch {progress.epoch:>3}/{config.epochs}   train loss {train['loss']:.4f} "
                f"accuracy {train['accuracy']:.2%}   val loss {val['loss']:.4f} accuracy {val['accuracy']:.2%}   "
                f"{time.perf_counter() - started:.2f} s",
                flush=True,
            )
        save(run, folder, board, best=better)


def out_of_patience(run: Run) -> bool:
    """True when `--early-stop` epochs have passed since the best one."""
    since_best = run.progress.epoch - run.progress.best_epoch
    return 0 < run.config.early_stop <= since_best


def save(run: Run, folder: RunFolder, board: Board, *, best: bool = False) -> None:
    """Write a checkpoint on rank 0. All ranks must call it: the state holds what each of them contributes."""
    log_steps(run, board)
    board.flush()  # what the checkpoint counts as done is on the disk before the checkpoint is
    state = state_of(run)
    if run.world.is_main:
        checkpoint.save(folder.checkpoints, state, keep=run.config.keep, best=best)


def saved_in(folder: RunFolder) -> str:
    """What a stopped run says."""
    return f"the state is saved in {folder.path} and the same command goes on from it"


def log_steps(run: Run, board: Board) -> None:
    """Put the steps since the last call on the board: one synchronisation for all of them. All ranks must call it."""
    sums = run.world.sum(torch.stack(run.trail)).tolist()
    first = run.progress.step - len(sums) + 2
    for step, (before, after) in enumerate(pairwise(sums), start=first):
        run.progress.batch_loss = (after - before) / run.config.batch_size
        log_step(run, board, step)
    run.trail = run.trail[-1:]


def log_step(run: Run, board: Board, step: int) -> None:
    """Loss and learning rate of one optimizer step, counted from 1."""
    rate = run.config.lr * run.factor(step - 1)
    board.scalars("train", {"batch_loss": run.progress.batch_loss, "lr": rate}, step)


def log_epoch(board: Board, row: dict[str, Any]) -> None:
    """Loss and accuracy of one epoch, at its last optimizer step."""
    board.scalars("train", row["train"], row["step"])
    board.scalars("val", row["val"], row["step"])


def log_again(run: Run, folder: RunFolder, board: Board) -> None:
    """Put the step that is resumed from on the board again: purging is by step and takes it with the later ones."""
    if run.progress.step and run.world.is_main:
        log_step(run, board, run.progress.step)
        if run.progress.position == 0:
            log_epoch(board, folder.rows()[-1])


def log_pictures(run: Run, board: Board) -> None:
    """The first validation pictures as the model gets them, to see a wrong layout or range at once."""
    images, _ = next(iter(run.val))
    low, high = images.min().item(), images.max().item() + 1e-6
    board.pictures("val", "pictures", [to_chw(image, "CHW", low=low, high=high) for image in images[:16]], 0)


def shown(steps: Iterator[list[Batch]], run: Run) -> Iterator[list[Batch]]:
    """The steps with a progress bar on rank 0 when a person watches; as they are otherwise."""
    if not (run.world.is_main and sys.stderr.isatty()):
        return steps
    from tqdm import tqdm

    bar: Iterator[list[Batch]] = iter(
        tqdm(
            steps,
            desc=f"epoch {run.progress.epoch + 1:>3}/{run.config.epochs}",
            initial=run.progress.position,
            total=run.batches.steps,
            unit="step",
            leave=False,
        )
    )
    return bar


def train(config: TrainConfig) -> None:
    """The command `train`: a new run in `--out`, or the rest of the one that is there.

    Raises UserError for what the user can put right, and Stopped when a signal ended the run after saving.
    """
    with ExitStack() as stack:
        world = stack.enter_context(joined(config.device))
        stop = stack.enter_context(stop_on_signals())
        folder = RunFolder(Path(config.out))
        run = prepare(config, world)
        world.on_main(lambda: stack.enter_context(claimed(folder, fresh=config.fresh)))
        found = world.on_main(lambda: checkpoint.newest(folder.checkpoints))
        notes = found[1] if found else []
        if found:
            notes += restore(run, checkpoint.load(found[0]), str(found[0]))
        if world.is_main:
            begin(run, folder, notes, resumed=found is not None)
        again = found is not None or folder.board.exists()
        events = folder.board if world.is_main else None
        board = stack.enter_context(opened(events, run.progress.step if again else None))
        log_again(run, folder, board)
        if world.is_main and run.progress.step == 0:
            log_pictures(run, board)
        ahead = run.progress.epoch < config.epochs and not out_of_patience(run)
        try:
            fit(run, folder, board, stop)
        finally:
            if world.is_main and folder.rows():
                curves.draw(folder.rows(), folder.curves)
        if world.is_main and ahead:
            board.hparams(dataclasses.asdict(config), run.progress.best_accuracy, run.progress.step)
        if world.is_main:
            print(closing(run, folder, ahead))


def begin(run: Run, folder: RunFolder, notes: list[str], *, resumed: bool) -> None:
    """Write the settings, drop the metrics of work that will be done again, and say what is about to happen."""
    progress, world = run.progress, run.world
    write_atomically(folder.settings, lambda file: file.write(to_toml(run.config).encode()))
    folder.trim(progress.epoch)
    for note in notes:
        print(f"note: {note}")
    parameters = sum(parameter.numel() for parameter in run.module.parameters())
    processes = f", {world.size} processes" if world.size > 1 else ""
    print(f"{run.config.model} ({parameters:,} parameters) on {run.config.data}, device {world.device}{processes}")
    if resumed:
        print(f"going on after epoch {progress.epoch}, step {progress.step}")
    sys.stdout.flush()


def closing(run: Run, folder: RunFolder, ahead: bool) -> str:
    """The last line: how it ended, where everything is, and how to look at it."""
    progress = run.progress
    if not ahead:
        ended = f"Nothing left to do after {progress.epoch} epochs (--epochs for more, another --out for a new run)."
    else:
        early = " (stopped early)" if progress.epoch < run.config.epochs else ""
        ended = f"Done after {progress.epoch} epochs{early}."
    return (
        f"{ended} Best val accuracy {progress.best_accuracy:.2%} in epoch {progress.best_epoch}. "
        f"Everything is in {folder.path}: checkpoints/best.pt, metrics.jsonl, curves.png; "
        f"look with: tensorboard --logdir {folder.path}"
    )
