"""`checkpoints` without a file: the four ways a checkpoint travels between devices, tried on this machine.

Pitfall shown: believing that a checkpoint which loads at home loads elsewhere. Each row saves a small model, loads the
file the careless way (`torch.load` without `map_location`, weights straight into the model) and the way this package
does, and says what happened. Where this machine has no accelerator, the file is made as if it came from one: the
device name inside it is rewritten, nothing else.
"""

from __future__ import annotations

import copy
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from torchlint.runtime.devices import resolve
from torchlint.runtime.model import SmallNet
from torchlint.runtime.weights import load_weights

ELSEWHERE = "cuda:0"  # the device a forged file claims to come from
CPU_TAG = b"X\x03\x00\x00\x00cpu"  # how the pickle inside a checkpoint spells its device: length, then text


@dataclass(frozen=True)
class Scenario:
    """One row: where the file comes from and goes to, and what each way of loading answered (empty: it worked).

    The answers are None where this machine has no device to try the row on.
    """

    name: str
    origin: str
    careless: str | None
    careful: str | None


def print_scenarios() -> int:
    """Print the matrix; 0 when every row loads the careful way, 1 otherwise."""
    with tempfile.TemporaryDirectory() as folder:
        rows = scenarios(Path(folder))
    careless, careful = "torch.load(path), load_state_dict", "with map_location, wrappers off"
    print(f"{'scenario':<22}{'the file':<44}{careless:<36}{careful}")
    for row in rows:
        answers = [None if answer is None else "fails" if answer else "loads" for answer in (row.careless, row.careful)]
        print(f"{row.name:<22}{row.origin:<44}{answers[0] or 'not tried':<36}{answers[1] or 'not tried'}")
    for row in rows:
        for way, answer in ((careless, row.careless), (careful, row.careful)):
            if answer:
                print(f"{row.name}, {way}: {answer}")
    return int(any(row.careful for row in rows))


def scenarios(folder: Path) -> list[Scenario]:
    """The rows, with files written to `folder`."""
    here = resolve("auto")
    model = SmallNet(channels=1, size=8, classes=10)
    on_cpu, elsewhere, wrapped = (folder / name for name in ("cpu.pt", "elsewhere.pt", "wrapped.pt"))
    torch.save(model.state_dict(), on_cpu)
    if here.type == "cpu":
        origin = f"saved here, renamed to {ELSEWHERE}"
        retag(on_cpu, elsewhere, ELSEWHERE)
        save_wrapped(model, folder / "parallel.pt")
        retag(folder / "parallel.pt", wrapped, ELSEWHERE)
        same_device = Scenario("GPU -> GPU", "no accelerator on this machine", None, None)
    else:
        origin = f"saved on {here}"
        moved = copy.deepcopy(model).to(here)
        torch.save(moved.state_dict(), elsewhere)
        save_wrapped(moved, wrapped)
        same_device = tried("GPU -> GPU", elsewhere, origin, model, empty().to(here))
    return [
        tried("CPU -> CPU", on_cpu, "saved on the CPU", model, empty()),
        same_device,
        tried("GPU -> CPU", elsewhere, origin, model, empty()),
        tried("multi-GPU -> single", wrapped, f"DataParallel, {origin}", model, empty().to(here)),
        tried("single -> multi-GPU", elsewhere, origin, model, nn.DataParallel(empty().to(here))),
    ]


def save_wrapped(model: nn.Module, path: Path) -> None:
    """Save the weights the way that this scenario is about."""
    torch.save(nn.DataParallel(model).state_dict(), path)  # torchlint: ignore[TL502] the prefix is wanted here


def empty() -> SmallNet:
    """A model of the same kind with other weights, on the CPU."""
    return SmallNet(channels=1, size=8, classes=10)


def tried(name: str, path: Path, origin: str, model: nn.Module, target: nn.Module) -> Scenario:
    """Load `path` both ways into a copy of `target`, and compare what it then holds with `model`."""
    answers = []
    ways: list[tuple[dict[str, Any], Callable[..., None]]]
    ways = [({}, careless_load), ({"map_location": "cpu"}, load_weights)]
    for where, put_into in ways:
        filled = copy.deepcopy(target)
        try:
            put_into(filled, torch.load(path, weights_only=True, **where), path.name)
        except Exception as error:  # whatever it is, it is the answer
            answers.append(" ".join(str(error).split(". ")[0].split())[:160])
            continue
        pairs = zip(filled.state_dict().values(), model.state_dict().values(), strict=True)
        answers.append("" if all(torch.equal(a.cpu(), b) for a, b in pairs) else "other weights than were saved")
    return Scenario(name, origin, *answers)


def careless_load(model: nn.Module, weights: Mapping[str, Any], origin: str) -> None:
    """What most scripts do: no thought of a wrapper."""
    model.load_state_dict(weights)


def retag(source: Path, target: Path, device: str) -> None:
    """Copy a checkpoint so that its tensors claim to come from `device`; their bytes stay what they are."""
    tag = b"X" + len(device).to_bytes(4, "little") + device.encode()
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as new:
        for entry in old.infolist():
            content = old.read(entry)
            is_pickle = entry.filename.endswith("/data.pkl")
            new.writestr(entry.filename, content.replace(CPU_TAG, tag) if is_pickle else content)
