"""`checkpoints FILE`: what is in a checkpoint, without its device and without running any of it.

Pitfalls shown: having to own the GPU to look into a file that came from one, and calling a file harmless because it
loads. Under `FakeTensorMode` tensors have shapes and devices but no bytes; what `weights_only=True` refuses is named
from the pickle's opcodes, which are read and not executed.
"""

from __future__ import annotations

import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from torchlint.runtime.checkpoint import KIND, RefusedCheckpoint, read_plain
from torchlint.runtime.config import argument, option
from torchlint.runtime.errors import UserError
from torchlint.runtime.weights import PREFIXES, prefix_of


@dataclass(frozen=True)
class CheckpointsConfig:
    """What `checkpoints` can be told."""

    file: str | None = argument("a file of torch.save; none: the four device scenarios on this machine", default=None)
    all: bool = option(False, "list every tensor and value, not only the first ones of each part")


def show(config: CheckpointsConfig) -> int:
    """Print what is in the file; 0 when `weights_only=True` accepts it, 1 when it refuses. Raises UserError."""
    if config.file is None:
        from torchlint.runtime.scenarios import print_scenarios

        return print_scenarios()
    path = Path(config.file)
    try:
        size = path.stat().st_size
        archive = zipfile.is_zipfile(path)
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from error
    header = f"{path}: {size:,} bytes, {'zip' if archive else 'old'} format"
    try:
        content, places = read_without_device(path, archive)
    except RefusedCheckpoint as error:
        print(header)
        print(f"weights_only=True: refused; needs {', '.join(error.names)}")
        print("Loading it otherwise can run code from the file. Nothing of it was run here.")
        return 1
    print(header)
    print("weights_only=True: accepted")
    if places:
        print(f"devices in the file: {', '.join(sorted(places))}; in the old format they are known for the whole alone")
    for line in described(content, limit=None if config.all else 8):
        print(line)
    return 0


def read_without_device(path: Path, archive: bool) -> tuple[Any, set[str]]:
    """The content of a file from any device, and the devices it names where its tensors cannot show them.

    The tensors of a zip archive have shape, type and device but no bytes; those of the old format are read to the CPU.
    Raises UserError as `read_plain` does.
    """
    if archive:
        with FakeTensorMode(allow_non_fake_inputs=True):
            return read_plain(path, map_location=None), set()
    places: set[str] = set()

    def noted(storage: Any, place: str) -> Any:
        places.add(place)
        return storage

    return read_plain(path, map_location=noted), places


def described(content: Any, limit: int | None) -> Iterator[str]:
    """Lines about a checkpoint's content: what it is, then each part with its first `limit` entries."""
    if isinstance(content, Mapping) and content.get("kind") == KIND:
        progress, settings = content.get("progress", {}), content.get("config", {})
        yield (
            f"{KIND}, format {content.get('format')}, written by PyTorch {content.get('torch')}: "
            f"{settings.get('model')} on {settings.get('data')}, epoch {progress.get('epoch')}, "
            f"step {progress.get('step')}, {len(content.get('ranks', []))} process(es)"
        )
    parts = content if holds_parts(content) else {"(the file)": content}
    for name, part in parts.items():
        entries = list(leaves(part))
        tensors = [value for _, value in entries if isinstance(value, torch.Tensor)]
        yield f"{name}: {summary(part, entries, tensors)}"
        shown = entries if limit is None else entries[:limit]
        for key, value in shown:
            if key:
                yield f"    {key:<40} {one_line(value)}"
        if len(shown) < len(entries):
            yield f"    … and {len(entries) - len(shown)} more (--all)"


def holds_parts(content: Any) -> bool:
    """True for a dict of parts, such as model and optimizer; False for a bare state dict or anything else."""
    return isinstance(content, Mapping) and not all(isinstance(value, torch.Tensor) for value in content.values())


def summary(part: Any, entries: list[tuple[str, Any]], tensors: list[torch.Tensor]) -> str:
    """One part in a few words: tensors, numbers in them, devices, and the wrapper its keys show."""
    if not isinstance(part, (Mapping, list, tuple)):
        return one_line(part)
    if not tensors:
        return f"{len(entries)} values"
    devices = Counter(str(tensor.device) for tensor in tensors)
    places = ", ".join(f"{device} ({count})" for device, count in sorted(devices.items()))
    numbers = sum(tensor.numel() for tensor in tensors)
    wrapper = ""
    if isinstance(part, Mapping) and all(isinstance(value, torch.Tensor) for value in part.values()):
        prefix = prefix_of(part)
        wrapper = f", wrapped: every key has {prefix!r} of {PREFIXES[prefix]}" if prefix else ", not wrapped"
    return f"{len(tensors)} tensors, {numbers:,} numbers, on {places}{wrapper}"


def leaves(value: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    """Every tensor and plain value with the way to it; a list of numbers counts as one value."""
    if isinstance(value, Mapping) and value:
        for name, inner in value.items():
            yield from leaves(inner, f"{key}.{name}" if key else str(name))
    elif isinstance(value, (list, tuple)) and any(
        isinstance(item, (Mapping, list, tuple, torch.Tensor)) for item in value
    ):
        for number, inner in enumerate(value):
            yield from leaves(inner, f"{key}[{number}]")
    else:
        yield key, value


def one_line(value: Any) -> str:
    """A tensor as type, shape and device; anything else cut to 60 characters."""
    if isinstance(value, torch.Tensor):
        return f"{str(value.dtype).removeprefix('torch.')} {list(value.shape)} {value.device}"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
