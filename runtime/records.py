"""What a run writes down while it trains: steps and epochs in TensorBoard, pictures, and the bar a person watches.

Pitfalls shown: reading the loss in each step, which makes the accelerator wait for the reader; and a resumed run that
leaves the points after its checkpoint in the curves. Losses are read together, when a checkpoint or an epoch is due.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import torch

from torchlint.runtime.board import Board, to_chw
from torchlint.runtime.data import Batch
from torchlint.runtime.run import Run
from torchlint.runtime.run_folder import RunFolder


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
        rows = folder.rows()
        if run.progress.position == 0 and rows:
            log_epoch(board, rows[-1])


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
