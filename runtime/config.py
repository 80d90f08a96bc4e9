"""The settings of a run: one frozen dataclass, checked once, its command-line flags made from its fields.

Pitfall shown: settings that live in three places (parser, defaults, code) and drift apart, and a pickled `Namespace` in
the checkpoint that the default `torch.load` refuses. Here the dataclass is the only list; a checkpoint gets it as a
plain dict.
"""

from __future__ import annotations

import argparse
import dataclasses
import difflib
import importlib
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn, TypeVar, get_type_hints

from torchlint.runtime.errors import UserError

Config = TypeVar("Config")
AUTO = "auto"  # how a user spells None


def option(default: Any, text: str, *, choices: tuple[str, ...] = ()) -> Any:
    """A dataclass field that also knows its help text and, if closed, its choices."""
    return dataclasses.field(default=default, metadata={"help": text, "choices": choices})


def argument(text: str, *, default: Any = dataclasses.MISSING) -> Any:
    """A dataclass field that is a positional argument; with a default it may be left out."""
    return dataclasses.field(default=default, metadata={"help": text, "choices": (), "positional": True})


@dataclasses.dataclass(frozen=True)
class TrainConfig:
    """Everything that `train` can be told. Raises UserError for a value that makes no sense."""

    model: str = option("small", "small, plain (no batch norm, no dropout) or any torchvision classifier")
    data: str = option("digits", "digits, fake, imagefolder:PATH, cifar10:ROOT or mnist:ROOT")
    image_size: int | None = option(None, "pixels a side of what the model is given; auto: what data and model want")
    out: str = option("runs/default", "the run folder; a run that was stopped there goes on")
    fresh: bool = option(False, "start over in an empty folder and refuse one that holds anything")
    epochs: int = option(10, "passes over the training data")
    batch_size: int = option(64, "samples per optimizer step, over all processes and accumulated parts together")
    accumulate: int = option(1, "parts a batch is cut into when it does not fit the device at once")
    lr: float = option(3e-3, "the highest learning rate")
    weight_decay: float = option(0.01, "AdamW's weight decay")
    schedule: str = option("cosine", "how the learning rate falls", choices=("constant", "linear", "cosine"))
    warmup: float = option(0.05, "share of all steps in which the learning rate rises from zero")
    clip: float = option(0.0, "largest gradient norm; 0: no clipping")
    amp: str = option("none", "automatic mixed precision", choices=("none", "bf16", "fp16"))
    compile: bool = option(False, "compile the model with torch.compile")
    device: str = option(AUTO, "auto, cpu, cuda, cuda:1, mps, …")
    workers: int | None = option(None, "loader processes; auto: from the cores this process may use")
    threads: int | None = option(None, "PyTorch's CPU threads; auto: PyTorch's choice")
    seed: int = option(0, "seed of weights, order of the data, augmentation and dropout")
    deterministic: bool = option(False, "only deterministic kernels, also on an accelerator")
    early_stop: int = option(0, "epochs without a better validation accuracy after which to stop; 0: never")
    save_every: int = option(0, "optimizer steps between checkpoints inside an epoch; 0: only after each epoch")
    keep: int = option(3, "how many of the newest checkpoints to keep beside last.pt and best.pt")

    def __post_init__(self) -> None:
        for name in ("epochs", "batch_size", "accumulate", "keep"):
            require(getattr(self, name) >= 1, name, getattr(self, name), "must be at least 1")
        for name in ("weight_decay", "clip", "early_stop", "save_every", "seed"):
            require(getattr(self, name) >= 0, name, getattr(self, name), "must not be negative")
        require(self.seed < 2**32, "seed", self.seed, "must be below 2**32, the range of NumPy's seeds")
        require(0 < self.lr < float("inf"), "lr", self.lr, "must be a positive number")
        require(0 <= self.warmup < 1, "warmup", self.warmup, "is a share of all steps: from 0 to below 1")
        require(self.workers is None or self.workers >= 0, "workers", self.workers, "must be auto, 0 or more")
        for name in ("image_size", "threads"):
            value = getattr(self, name)
            require(value is None or value >= 1, name, value, "must be auto or at least 1")
        require(
            self.batch_size % self.accumulate == 0,
            "accumulate",
            self.accumulate,
            f"must divide --batch-size {self.batch_size}, so that every part weighs the same",
        )
        require(self.out != "", "out", self.out, "must name a folder")
        for field in dataclasses.fields(self):
            choices = field.metadata["choices"]
            value = getattr(self, field.name)
            require(not choices or value in choices, field.name, value, f"must be one of {', '.join(choices)}")


def require(holds: bool, name: str, value: object, rule: str) -> None:
    """Raise UserError about the flag of field `name` unless `holds`."""
    if not holds:
        raise UserError(f"{flag(name)} {AUTO if value is None else value}: {rule}")


def flag(name: str) -> str:
    """The flag of a field: `batch_size` -> `--batch-size`."""
    return "--" + name.replace("_", "-")


class Parser(argparse.ArgumentParser):
    """An argument parser that raises UserError instead of printing its usage and leaving the process."""

    def error(self, message: str) -> NoReturn:
        raise UserError(f"{message} (see `{self.prog} --help`)")


def add_flags(parser: argparse.ArgumentParser, config: type) -> None:
    """One flag (or positional argument) for each field of the dataclass; flags not given leave no trace."""
    types = get_type_hints(config)
    for field in dataclasses.fields(config):
        text = field.metadata["help"]
        choices = field.metadata["choices"]
        if field.metadata.get("positional"):
            may_miss: dict[str, Any] = (
                {} if field.default is dataclasses.MISSING else {"nargs": "?", "default": argparse.SUPPRESS}
            )
            parser.add_argument(field.name, help=text, **may_miss)
        elif types[field.name] is bool:
            action = argparse.BooleanOptionalAction
            parser.add_argument(flag(field.name), action=action, default=argparse.SUPPRESS, help=text)
        else:
            default = AUTO if field.default is None else field.default
            shown = f"{text}{f' ({chr(124).join(choices)})' if choices else ''}; default: {default}"
            metavar = field.name.upper()
            parser.add_argument(flag(field.name), default=argparse.SUPPRESS, help=shown, metavar=metavar)


def from_arguments(config: type[Config], arguments: Mapping[str, Any], toml: str | None = None) -> Config:
    """The dataclass from its defaults, then the TOML file if one is named, then the flags that were given.

    Raises UserError for an unknown name, a value of the wrong type, and whatever the dataclass itself refuses.
    """
    types = get_type_hints(config)
    values: dict[str, Any] = {}
    if toml is not None:
        for name, value in read_toml(Path(toml)).items():
            if name not in types:
                near = difflib.get_close_matches(name, types, n=1)
                hint = f"; did you mean {near[0]}?" if near else f"; it may hold: {', '.join(types)}"
                raise UserError(f"{toml}: unknown setting {name!r}{hint}")
            values[name] = convert(value, types[name], f"{toml}: {name}")
    for name, value in arguments.items():
        values[name] = convert(value, types[name], flag(name))
    return config(**values)


def read_toml(path: Path) -> dict[str, Any]:
    """The settings of a TOML file; raises UserError when it is missing or is not TOML."""
    tomllib = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    try:
        with path.open("rb") as file:
            settings: dict[str, Any] = tomllib.load(file)
    except OSError as error:
        raise UserError(f"--config {path}: cannot be read ({error.strerror})") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"--config {path}: is not valid TOML ({error})") from error
    return settings


def to_toml(config: object) -> str:
    """The settings as TOML that `--config` reads back."""
    lines = []
    for field in dataclasses.fields(config):  # type: ignore[arg-type]
        value = getattr(config, field.name)
        if isinstance(value, bool):
            text = str(value).lower()
        elif isinstance(value, (int, float)):
            text = repr(value)
        else:
            plain = AUTO if value is None else str(value)
            text = '"' + "".join(escaped(character) for character in plain) + '"'
        lines.append(f"{field.name} = {text}\n")
    return "".join(lines)


def escaped(character: str) -> str:
    """One character of a basic TOML string."""
    if character in '"\\':
        return "\\" + character
    return character if character.isprintable() else f"\\U{ord(character):08X}"


def convert(value: Any, wanted: Any, name: str) -> Any:
    """`value` (text from a flag, or a TOML value) as the type of its field; raises UserError when it is not one."""
    optional = type(None) in getattr(wanted, "__args__", ())
    if optional and value == AUTO:
        return None
    kind = wanted.__args__[0] if optional else wanted
    if kind is bool and isinstance(value, bool):
        return value
    if kind is str and isinstance(value, str):
        return value
    if kind in (int, float) and not isinstance(value, bool):
        try:
            if kind is float or isinstance(value, (int, str)):
                return kind(value)
        except (TypeError, ValueError):
            pass
    word = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}[kind]
    raise UserError(f"{name} {value}: must be {word}{' or auto' if optional else ''}")
