"""Checkpoints: plain data, written whole, read without running code, the newest complete one found again.

Pitfalls shown:
* `torch.load` without `map_location`, which fails for a file from a GPU on a machine without one: everything is read to
  the CPU, and `load_state_dict` copies it to where the parameters are;
* objects in a checkpoint (a Namespace, a NumPy scalar, the model itself), which the default `torch.load` refuses and
  any other runs code for: a state here is tensors, numbers, strings, lists and dicts, and `weights_only=True` is said;
* a checkpoint of the weights alone, from which training cannot go on: optimizer, schedule, scaler, position in the data
  and the random numbers of every rank are part of it;
* a kill in mid-save that destroys the only checkpoint: a file gets its name when it is complete.
"""

from __future__ import annotations

import pickle
import re
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias, TypedDict, cast

import torch

from torchlint.runtime.errors import UserError
from torchlint.runtime.files import give_second_name, write_atomically

KIND = "torchlint checkpoint"
FORMAT = 1
MapLocation: TypeAlias = "str | Callable[[Any, str], Any] | None"


class RankState(TypedDict):
    """What differs between ranks: generators, and the sums of loss, hits and samples in the unfinished epoch."""

    rng: dict[str, Any]
    sums: list[float]


class State(TypedDict):
    """The content of a checkpoint: plain data only."""

    kind: str
    format: int
    torch: str
    config: dict[str, Any]
    picture: list[int]  # channels, size in pixels
    classes: int
    model: dict[str, Any]
    optimizer: dict[str, Any]
    scheduler: dict[str, Any]
    scaler: dict[str, Any]
    progress: dict[str, Any]
    ranks: list[RankState]


class IncompleteCheckpoint(UserError):
    """A file that ends too early or is no checkpoint at all."""


class RefusedCheckpoint(UserError):
    """A file that needs more than plain data: `names` are the classes and functions loading it would call."""

    def __init__(self, path: Path, names: list[str]) -> None:
        self.names = names
        super().__init__(
            f"{path}: refused, because loading {', '.join(names)} could run code; "
            "save plain data (tensors, numbers, strings, lists, dicts) instead"
        )


def save(folder: Path, state: State, *, keep: int, best: bool) -> None:
    """Write the state as the newest checkpoint of `folder` (and as its best one), then drop all but the newest `keep`.

    At every moment, also in the middle of this function, the folder holds a complete newest checkpoint, and `best.pt`
    is at least as new as the newest checkpoint says. Raises UserError when the disk does not take it.
    """
    newest = folder / f"step-{state['progress']['step']:09d}.pt"
    try:
        if best:
            write_atomically(folder / "best.pt", lambda file: torch.save(state, file))
        write_atomically(newest, lambda file: torch.save(state, file))
        give_second_name(newest, folder / "last.pt")
    except (OSError, RuntimeError) as error:  # PyTorch's writer turns a full disk into a RuntimeError
        reason = str(error.__context__ or error).splitlines()[0]
        raise UserError(f"{newest}: could not be written ({reason}); earlier checkpoints are whole") from error
    for old in numbered(folder)[keep:]:
        old.unlink(missing_ok=True)


def numbered(folder: Path) -> list[Path]:
    """The numbered checkpoints of a folder, newest first."""
    return sorted(folder.glob("step-*.pt"), reverse=True)


def newest(folder: Path) -> tuple[Path, list[str]] | None:
    """The newest complete checkpoint of a folder and what is to be said about newer ones that are damaged.

    None when the folder has no checkpoint. Raises UserError when all are damaged, and for one that may not be read
    (another format, other objects), because going back behind it would throw work away.
    """
    notes: list[str] = []
    candidates = [*numbered(folder), *(path for path in [folder / "last.pt"] if path.exists())]
    for path in candidates:
        try:
            load(path)
        except IncompleteCheckpoint as error:
            notes.append(str(error))
        else:
            return path, notes
    if candidates:
        raise UserError(f"{notes[0]}; no older one is complete either, so there is nothing to resume from")
    return None


def load(path: Path) -> State:
    """The state in a checkpoint, its tensors on the CPU. Never runs code from the file; raises UserError instead."""
    state = read_plain(path)
    if not isinstance(state, dict) or state.get("kind") != KIND:
        raise UserError(f"{path}: is not a checkpoint of this trainer; `torchlint checkpoints {path}` shows what it is")
    version = state.get("format")
    if not isinstance(version, int) or version > FORMAT:
        raise UserError(f"{path}: has format {version} and this version reads up to {FORMAT}; update torchlint")
    missing = [name for name in State.__annotations__ if name not in state]
    if missing:
        raise UserError(f"{path}: lacks {', '.join(missing)}; it was not written by this trainer")
    return cast(State, state)


def read_plain(path: Path, map_location: MapLocation = "cpu") -> Any:
    """What `torch.load` reads with `weights_only=True`; raises UserError in one line for whatever it will not read."""
    try:
        path.open("rb").close()
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from error
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what they say about odd files is said below
            return torch.load(path, map_location=map_location, weights_only=True)
    except pickle.UnpicklingError as error:
        names = refused_globals(path, error)
        if names:
            raise RefusedCheckpoint(path, names) from error
        raise IncompleteCheckpoint(f"{path}: is damaged or not a checkpoint") from error
    except Exception as error:  # a damaged file can fail with any exception, OSError too
        if "TorchScript" in str(error):
            raise UserError(f"{path}: is a TorchScript archive; it is loaded with torch.jit.load") from error
        raise IncompleteCheckpoint(f"{path}: is incomplete, empty or not a checkpoint") from error


def refused_globals(path: Path, error: Exception) -> list[str]:
    """The classes and functions for which `weights_only=True` refuses a file; read from its bytes, nothing is run."""
    try:
        names = torch.serialization.get_unsafe_globals_in_checkpoint(path)
    except Exception:  # the old format, or opcodes this reader of PyTorch's does not know
        names = []
    return sorted(names) or sorted(named_in(str(error)))


def named_in(message: str) -> Iterator[str]:
    """The global that PyTorch's own message names."""
    for match in re.finditer(r"(?:GLOBAL|global:?) ([\w.]+\.[\w.]+)", message):
        yield match.group(1)
