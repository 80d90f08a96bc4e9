"""`python -m torchlint.runtime train|evaluate|export|loaders|checkpoints`, also behind `torchlint train` and so on.

Pitfall shown: idle OpenMP threads that spin and take the cores from the process that has work; measured with one other
busy process on two cores, ten epochs of a small model took 14 s instead of 1 s. `main` asks for passive waiting before
PyTorch is imported. The commands, with all they import, are loaded when they are called.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

from torchlint.runtime.config import Parser, TrainConfig, add_flags, from_arguments
from torchlint.runtime.errors import UserError
from torchlint.runtime.stopping import Stopped

Command = tuple[type, Callable[[Any], int], bool]  # settings, what runs them, whether it takes --config


def main(argv: list[str]) -> int:
    """Run a command; 0: done, 1: a checkpoint is refused, 2: an error in one line, 128 + n: stopped by signal n."""
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    rank = int(os.environ.get("RANK", "0"))
    try:
        config, run = parse(argv)
    except UserError as error:  # every rank reads the same command line
        if rank == 0:
            print(f"torchlint: error: {error}", file=sys.stderr)
        return 2
    try:
        return run(config)
    except UserError as error:
        if not error.shown:
            where = f"rank {rank}: " if rank else ""
            print(f"torchlint: error: {where}{error}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except OSError as error:  # a full disk, a folder that is gone
        print(f"torchlint: error: {error}", file=sys.stderr)
        return 2
    except Stopped as stopped:
        if rank == 0:
            print(f"torchlint: {stopped}", file=sys.stderr)
        return 128 + stopped.number
    except KeyboardInterrupt:
        print("torchlint: interrupted", file=sys.stderr)
        return 130


def parse(argv: list[str]) -> tuple[Any, Callable[[Any], int]]:
    """The settings of the command line and the function that runs them. Raises UserError."""
    parser = Parser(prog="torchlint", allow_abbrev=False, description="The reference trainer of torchlint.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, (text, needs) in COMMANDS.items():
        # only the command that is called imports what it needs
        command = commands.add_parser(name, help=text, description=text, allow_abbrev=False)
        if argv[:1] == [name]:
            settings, run, configurable = needs()
            add_flags(command, settings)
            if configurable:
                command.add_argument("--config", metavar="FILE.toml", help="settings from a file; flags win")
    arguments = vars(parser.parse_args(argv))
    del arguments["command"]
    return from_arguments(settings, arguments, arguments.pop("config", None)), run


def train_command() -> Command:
    """`train`"""

    def run(config: TrainConfig) -> int:
        with_pytorch()
        from torchlint.runtime.launch import train

        train(config)
        return 0

    return TrainConfig, run, True


def evaluate_command() -> Command:
    """`evaluate`"""
    with_pytorch()
    from torchlint.runtime.evaluation import EvaluateConfig, evaluate

    return EvaluateConfig, evaluate, False


def export_command() -> Command:
    """`export`"""
    with_pytorch()
    from torchlint.runtime.export import ExportConfig, export

    return ExportConfig, export, False


def loaders_command() -> Command:
    """`loaders`"""
    with_pytorch()
    from torchlint.runtime.loaders import LoadersConfig, measure_loaders

    return LoadersConfig, measure_loaders, False


def checkpoints_command() -> Command:
    """`checkpoints`"""
    with_pytorch()
    from torchlint.runtime.inspection import CheckpointsConfig, show

    return CheckpointsConfig, show, False


COMMANDS: dict[str, tuple[str, Callable[[], Command]]] = {
    "train": ("Train a model, or go on with a run that was stopped.", train_command),
    "evaluate": ("Measure a checkpoint on validation data.", evaluate_command),
    "export": ("Write a checkpoint's model for deployment.", export_command),
    "loaders": ("Measure the loader settings on this machine and this data.", loaders_command),
    "checkpoints": ("Show what is in a checkpoint without running any of it.", checkpoints_command),
}


def with_pytorch() -> None:
    """Raise UserError when the packages of the runtime extra are not installed."""
    try:
        import torch
        import torch.utils.tensorboard  # noqa: F401
    except ImportError as error:
        raise UserError(f"{error.name or error} is not installed; pip install 'torchlint[runtime]'") from error


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
