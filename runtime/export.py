"""`export`: a trained model for deployment, each file loaded back and compared before it is called done.

Pitfalls shown: exporting in train mode, which bakes dropout in for ever; a fixed batch size; the whole model pickled,
so that it loads only where its class is; and a file that nobody has tried to load. `torch.export` is the way PyTorch
goes; the TorchScript file is for readers that know nothing newer, and says that PyTorch has deprecated it.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO

import torch
from torch import nn

from torchlint.runtime.checkpoint import load
from torchlint.runtime.config import argument, option, require
from torchlint.runtime.errors import UserError
from torchlint.runtime.evaluation import rebuilt, shape_of
from torchlint.runtime.files import write_atomically
from torchlint.runtime.model import build_model
from torchlint.runtime.modes import evaluating
from torchlint.runtime.weights import load_weights

Forward = Callable[[torch.Tensor], torch.Tensor]
BATCHES = (1, 2, 5)  # sizes with which each file is tried


@dataclass(frozen=True)
class ExportConfig:
    """What `export` can be told. Raises UserError for a value that makes no sense."""

    checkpoint: str = argument("a checkpoint of `train`, such as RUN/checkpoints/best.pt")
    out: str | None = option(None, "the folder for the files; auto: export/ in the run folder")
    formats: str = option(
        "weights,export,torchscript", "which files, with commas between: weights, export, torchscript"
    )
    tolerance: float = option(1e-4, "largest difference from the eager model's output that passes")

    def __post_init__(self) -> None:
        known = bool(self.names) and set(self.names) <= set(FORMATS)
        require(known, "formats", self.formats, f"may hold {', '.join(FORMATS)}")
        require(self.tolerance >= 0, "tolerance", self.tolerance, "must not be negative")

    @property
    def names(self) -> list[str]:
        """The formats that are asked for."""
        return [name.strip() for name in self.formats.split(",") if name.strip()]


def export(config: ExportConfig) -> int:
    """Write the files and print, for each, where it is and how far its output is from the eager model's."""
    path = Path(config.checkpoint)
    state = load(path)
    model = rebuilt(state, str(path))
    channels, size = shape_of(state)
    run = path.parent.parent if path.parent.name == "checkpoints" else path.parent
    folder = Path(config.out) if config.out else run / "export"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"--out {folder}: cannot be used as a folder ({error.strerror})") from error
    generator = torch.Generator().manual_seed(0)
    pictures = [torch.randn(batch, channels, size, size, generator=generator) for batch in BATCHES]
    build = partial(build_model, str(state["config"]["model"]), channels, size, state["classes"])
    with evaluating(model):
        expected = [model(batch) for batch in pictures]
        for form in (FORMATS[name] for name in config.names):
            target = folder / form.file
            content = form.write(model, pictures[1].clone())
            loaded = form.read(io.BytesIO(content), build)
            found = [loaded(batch) for batch in pictures]
            off = max((a - b).abs().max().item() for a, b in zip(expected, found, strict=True))
            if not off <= config.tolerance:
                raise UserError(f"{target}: not written; loaded back it differs from the eager model by {off:g}")
            write_atomically(target, partial(write_bytes, content=content))
            print(f"{target}: {form.remark}; differs from the eager model by {off:.1e} over batches of {BATCHES}")
    return 0


def write_bytes(file: BinaryIO, content: bytes) -> None:
    """Write `content`."""
    file.write(content)


def write_weights(model: nn.Module, example: torch.Tensor) -> bytes:
    """The state dict alone: loads without running code, needs the model's class."""
    buffer = io.BytesIO()
    torch.save(model.state_dict(), buffer)
    return buffer.getvalue()


def read_weights(file: BinaryIO, build: Callable[[], nn.Module]) -> Forward:
    """The weights in a newly built model."""
    model = build().eval()
    load_weights(model, torch.load(file, map_location="cpu", weights_only=True), "the weights")
    return model


def write_program(model: nn.Module, example: torch.Tensor) -> bytes:
    """A `torch.export` program for any batch size. `model` is in eval mode."""
    with torch.inference_mode(False), torch.no_grad():
        program = torch.export.export(model, (example,), dynamic_shapes=({0: torch.export.Dim("batch", min=1)},))
    buffer = io.BytesIO()
    torch.export.save(program, buffer)
    return buffer.getvalue()


def read_program(file: BinaryIO, build: Callable[[], nn.Module]) -> Forward:
    """The program as a callable module; it needs no class."""
    module: Forward = torch.export.load(file).module()
    return module


def write_torchscript(model: nn.Module, example: torch.Tensor) -> bytes:
    """A traced archive. `model` is in eval mode: traced in train mode, dropout would stay on for ever."""
    buffer = io.BytesIO()
    with warnings.catch_warnings(), torch.inference_mode(False), torch.no_grad():
        warnings.simplefilter("ignore")  # PyTorch's deprecation is said in the remark
        torch.jit.save(torch.jit.trace(model, example), buffer)  # type: ignore[no-untyped-call]
    return buffer.getvalue()


def read_torchscript(file: BinaryIO, build: Callable[[], nn.Module]) -> Forward:
    """The archive as a callable module; it needs no class."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module: Forward = torch.jit.load(file, map_location="cpu")  # type: ignore[no-untyped-call]
    return module


@dataclass(frozen=True)
class Format:
    """A kind of file: its name, what to say about it, how it is written, and how it is read back."""

    file: str
    remark: str
    write: Callable[[nn.Module, torch.Tensor], bytes]
    read: Callable[[BinaryIO, Callable[[], nn.Module]], Forward]


FORMATS = {
    "weights": Format("weights.pt", "weights only", write_weights, read_weights),
    "export": Format("model.pt2", "torch.export, any batch size", write_program, read_program),
    "torchscript": Format(
        "model.torchscript.pt",
        "TorchScript, deprecated by PyTorch (prefer model.pt2)",
        write_torchscript,
        read_torchscript,
    ),
}
