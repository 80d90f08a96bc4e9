"""TensorBoard: one writer a run, tags that cannot collide, pictures that come out as they are.

Pitfalls shown: training and validation loss under one tag, of which TensorBoard's default view then shows only one; a
resumed run whose points stand there twice; a short script that never closes its writer and loses its events; BGR and
height-width-channel pictures that are shown with wrong colours without any error. A tag is always `phase/name`, a
resumed run purges from its step on, the writer is closed at every exit, and the layout of a picture is stated by the
caller: nothing in the pixels tells RGB from BGR.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch

Phase = Literal["train", "val", "loaders"]
Layout = Literal["CHW", "HWC", "HW"]


class Board:
    """The writer of a run, or of no run: on ranks that do not write, `folder` is None and every call does nothing.

    `purge_step` makes TensorBoard drop everything this folder holds from that step on.
    """

    def __init__(self, folder: Path | None, purge_step: int | None = None) -> None:
        from torch.utils.tensorboard import SummaryWriter

        self.writer = None if folder is None else SummaryWriter(str(folder), purge_step=purge_step)

    def scalars(self, phase: Phase, values: Mapping[str, float], step: int) -> None:
        """One point for each name, under the tag `phase/name`."""
        if self.writer is not None:
            for name, value in values.items():
                self.writer.add_scalar(f"{phase}/{name}", value, step)

    def pictures(self, phase: Phase, name: str, pictures: list[torch.Tensor], step: int) -> None:
        """A row of uint8 [3, height, width] pictures, as `to_chw` makes them."""
        if self.writer is not None and pictures:
            self.writer.add_images(f"{phase}/{name}", torch.stack(pictures), step, dataformats="NCHW")

    def figure(self, phase: Phase, name: str, figure: Any, step: int) -> None:
        """A matplotlib figure."""
        if self.writer is not None:
            self.writer.add_figure(f"{phase}/{name}", figure, step)

    def hparams(self, settings: Mapping[str, Any], accuracy: float, step: int) -> None:
        """The settings and what they led to, for the HPARAMS tab; in this run, not in a sub-run of its own."""
        if self.writer is not None:
            plain = {name: "auto" if value is None else value for name, value in settings.items()}
            self.writer.add_hparams(plain, {"hparam/best_accuracy": accuracy}, run_name=".", global_step=step)

    def flush(self) -> None:
        """Hand everything to the operating system, so that a killed process loses none of it."""
        if self.writer is not None:
            self.writer.flush()

    def close(self) -> None:
        """Flush and close the event file."""
        if self.writer is not None:
            self.writer.close()


@contextmanager
def opened(folder: Path | None, purge_step: int | None = None) -> Iterator[Board]:
    """A board that is closed at every exit."""
    board = Board(folder, purge_step)
    try:
        yield board
    finally:
        board.close()


def to_chw(
    picture: Any,
    layout: Layout | None = None,
    *,
    order: Literal["RGB", "BGR"] = "RGB",
    low: float = 0.0,
    high: float = 1.0,
) -> torch.Tensor:
    """Any picture as uint8 [3, height, width] in RGB.

    A PIL picture needs no `layout`; an array or tensor states its own, and `order="BGR"` when it comes from OpenCV.
    uint8 is taken as it is, bool as black and white, floats are spread from `low`..`high` over 0..255.
    Raises ValueError when layout and shape disagree, and for floats outside `low`..`high`, which would be cut off
    silently.
    """
    if hasattr(picture, "convert"):  # a PIL picture
        return torch.from_numpy(np.array(picture.convert("RGB"))).permute(2, 0, 1)
    pixels = torch.as_tensor(picture).detach().cpu()
    if layout is None or pixels.dim() != len(layout):
        raise ValueError(f"a picture of shape {tuple(pixels.shape)} needs its layout: CHW, HWC or HW (got {layout})")
    if layout == "HWC":
        pixels = pixels.permute(2, 0, 1)
    elif layout == "HW":
        pixels = pixels.unsqueeze(0)
    if pixels.shape[0] not in (1, 3):
        raise ValueError(f"layout {layout} gives {pixels.shape[0]} channels; a picture has 1 or 3")
    if pixels.dtype == torch.bool:
        pixels = pixels.to(torch.uint8) * 255
    elif pixels.is_floating_point():
        least, most = pixels.min().item(), pixels.max().item()
        if not low <= least <= most <= high:
            raise ValueError(f"float pixels lie in {least:g}..{most:g}, outside {low:g}..{high:g}; state low and high")
        pixels = ((pixels - low) * (255 / (high - low))).round().to(torch.uint8)
    elif pixels.dtype != torch.uint8:
        raise ValueError(f"pixels of {pixels.dtype} have no agreed range; convert them to uint8 or float")
    if order == "BGR":
        pixels = pixels.flip(0)
    return pixels.expand(3, -1, -1).contiguous()
