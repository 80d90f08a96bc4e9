"""Checkpoints that claim to come from elsewhere, or mean harm."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

import torch
import torch.serialization


def save_as_if_on(device: str, content: Any, path: Path, *, zipped: bool = True) -> None:
    """Save `content` so that its tensors claim to be on `device`, a device this machine need not have."""
    torch.serialization.register_package(0, lambda storage: device, lambda storage, location: None)
    entry = torch.serialization._package_registry[0]  # priority 0 comes before PyTorch's own CPU tagger
    try:
        torch.save(content, path, _use_new_zipfile_serialization=zipped)
    finally:
        torch.serialization._package_registry.remove(entry)


class RunsCode:
    """An object whose unpickling makes a folder: proof that code was run."""

    def __init__(self, proof: Path) -> None:
        self.proof = proof

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.proof),)


def save_code(path: Path, proof: Path, *, form: str) -> None:
    """A file that runs code when it is unpickled: `zip`, `old` (PyTorch's two formats) or `pickle` (Python's own)."""
    content = {"kind": "torchlint checkpoint", "format": 1, "model": RunsCode(proof)}
    if form == "pickle":
        path.write_bytes(pickle.dumps(content))
    else:
        torch.save(content, path, _use_new_zipfile_serialization=form == "zip")
