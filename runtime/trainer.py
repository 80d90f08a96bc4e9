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

import math
import time
from contextlib import nullcontext
from functools import partial
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader

from torchlint.runtime import checkpoint
from torchlint.runtime.board import Board
from torchlint.runtime.data import grouped
from torchlint.runtime.datasets import Sample
from torchlint.runtime.devices import sum_dtype
from torchlint.runtime.distributed import World
from torchlint.runtime.errors import UserError
from torchlint.runtime.modes import evaluating
from torchlint.runtime.records import log_epoch, log_steps, shown
from torchlint.runtime.run import Run, state_of
from torchlint.runtime.run_folder import RunFolder
from torchlint.runtime.stopping import Stopped, StopRequest

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
            "Lower --lr or set --clip, and look at the data",
            shown=not run.world.is_main,  # the exchanged gradient is the same on all ranks
        )


def validate(module: nn.Module, loader: DataLoader[Sample], world: World, stop: StopRequest) -> dict[str, float] | None:
    """Mean loss and accuracy over all ranks' slices; None when a signal came. All ranks must call it.

    `module` is the unwrapped model: slices differ in length, and a wrapper's forward would wait for the others.
    """
    sums = torch.zeros(3, dtype=sum_dtype(world.device), device=world.device)
    with evaluating(module):
        for images, labels in loader:
            if stop.signal is not None:
                break
            images = images.to(world.device, non_blocking=True)
            labels = labels.to(world.device, non_blocking=True)
            logits = module(images)
            loss = F.cross_entropy(logits, labels, reduction="sum")
            sums = sums + statistics(loss, logits, labels)
    loss_sum, hits, count = world.sum(sums).tolist()
    if world.any(stop.signal is not None):
        return None
    return {"loss": loss_sum / count, "accuracy": hits / count}


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
            message = f"the training loss of epoch {progress.epoch + 1} is not finite; lower --lr or set --clip"
            raise UserError(message, shown=not world.is_main)
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
    run.world.on_main(partial(checkpoint.save, folder.checkpoints, state, keep=run.config.keep, best=best))


def saved_in(folder: RunFolder) -> str:
    """What a stopped run says."""
    return f"the state is saved in {folder.path} and the same command goes on from it"
