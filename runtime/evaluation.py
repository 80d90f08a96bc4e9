"""`evaluate`: the loss and accuracy of a checkpoint.

Pitfall shown: an evaluation script that builds the model from its own flags and measures another one than was trained.
Model, picture shape and data come from the checkpoint; only what does not change the answer is a flag.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

from torch import nn

from torchlint.runtime import data, datasets
from torchlint.runtime.checkpoint import State, load
from torchlint.runtime.config import AUTO, argument, option, require
from torchlint.runtime.distributed import joined
from torchlint.runtime.errors import UserError
from torchlint.runtime.model import build_model
from torchlint.runtime.stopping import Stopped, stop_on_signals
from torchlint.runtime.trainer import validate
from torchlint.runtime.weights import load_weights


@dataclass(frozen=True)
class EvaluateConfig:
    """What `evaluate` can be told. Raises UserError for a value that makes no sense."""

    checkpoint: str = argument("a checkpoint of `train`, such as RUN/checkpoints/best.pt")
    data: str | None = option(None, f"{datasets.SOURCES}; auto: what the model was trained on")
    batch_size: int = option(256, "samples per batch on each process")
    device: str = option(AUTO, "auto, cpu, cuda, cuda:1, mps, …")
    workers: int | None = option(None, "loader processes; auto: from the cores this process may use")

    def __post_init__(self) -> None:
        require(self.batch_size >= 1, "batch_size", self.batch_size, "must be at least 1")
        require(self.workers is None or self.workers >= 0, "workers", self.workers, "must be auto, 0 or more")


def evaluate(config: EvaluateConfig) -> int:
    """Print loss and accuracy over the whole validation data; also under torchrun, each process with its slice."""
    path = Path(config.checkpoint)
    with joined(config.device) as world, stop_on_signals() as stop:
        state, task, module = world.together(partial(loaded, path, config.data))
        module = module.to(world.device)
        workers = data.auto_workers(task.in_memory, world) if config.workers is None else config.workers
        result = validate(module, data.val_loader(task.val, config.batch_size, world, workers), world, stop)
        if result is None:
            raise Stopped(stop.signal, "nothing was measured")
        if world.is_main:
            epoch, source = state["progress"]["epoch"], config.data or state["config"]["data"]
            samples = len(task.val)  # type: ignore[arg-type]
            print(
                f"{path} (epoch {epoch}) on {source}: val loss {result['loss']:.4f} accuracy {result['accuracy']:.2%} "
                f"over {samples} samples, device {world.device}"
            )
    return 0


def loaded(path: Path, data: str | None) -> tuple[State, datasets.Task, nn.Module]:
    """The checkpoint, the data it is measured on, and its model on the CPU. Raises UserError."""
    state = load(path)
    source = data or str(state["config"].get("data"))
    task = datasets.load_task(source, *shape_of(state))
    if task.classes != state["classes"]:
        raise UserError(f"--data {source}: has {task.classes} classes and {path} knows {state['classes']}")
    return state, task, rebuilt(state, str(path))


def shape_of(state: State) -> tuple[int, int]:
    """Channels and size (pixels) of the pictures the model was trained on."""
    channels, size = state["picture"]
    return channels, size


def rebuilt(state: State, origin: str) -> nn.Module:
    """The trained model on the CPU. Raises UserError when the weights are not those of the model the state names."""
    model = build_model(str(state["config"].get("model")), *shape_of(state), state["classes"])
    load_weights(model, state["model"], origin)
    return model
