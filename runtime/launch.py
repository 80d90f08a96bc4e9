"""The command `train`: a new run, or the rest of one that was stopped.

Pitfall shown: a `--resume PATH` that a restarted job has to be given by hand. The same command starts a run and goes on
with it, from the newest complete checkpoint in its folder, so a scheduler can simply start it again.
"""

from __future__ import annotations

import dataclasses
import sys
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from torchlint.runtime import checkpoint, curves
from torchlint.runtime.board import opened
from torchlint.runtime.config import TrainConfig, to_toml
from torchlint.runtime.distributed import joined
from torchlint.runtime.files import write_atomically
from torchlint.runtime.records import log_again, log_pictures
from torchlint.runtime.run import Run, connect, prepare, restore
from torchlint.runtime.run_folder import RunFolder, claimed
from torchlint.runtime.stopping import stop_on_signals
from torchlint.runtime.trainer import fit, out_of_patience


def train(config: TrainConfig) -> None:
    """The command `train`: a new run in `--out`, or the rest of the one that is there.

    Raises UserError for what the user can put right, and Stopped when a signal ended the run after saving.
    """
    with ExitStack() as stack:
        world = stack.enter_context(joined(config.device))
        stop = stack.enter_context(stop_on_signals())
        folder = RunFolder(Path(config.out))
        run = world.together(lambda: prepare(config, world))
        connect(run)
        world.on_main(lambda: stack.enter_context(claimed(folder, fresh=config.fresh)))
        found = world.on_main(lambda: checkpoint.newest(folder.checkpoints))
        notes = found[1] if found else []
        if found:
            notes += world.together(partial(resumed, run, found[0]))
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
        if world.is_main:
            board.hparams(dataclasses.asdict(config), run.progress.best_accuracy, run.progress.step)
            print(closing(run, folder, ahead))


def resumed(run: Run, path: Path) -> list[str]:
    """Put the run where the checkpoint says; returns what the user should know about it. Raises UserError."""
    return restore(run, checkpoint.load(path), str(path))


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
