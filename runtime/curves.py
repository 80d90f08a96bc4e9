"""The curves of a run as a picture.

Pitfall shown: plotting through `pyplot`, whose global state needs a display and keeps every figure. A `Figure` of its
own needs neither.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from torchlint.runtime.files import write_atomically


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """Loss and accuracy of training and validation over the epochs, as a PNG at `path`."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.5), layout="constrained")
    epochs = [row["epoch"] for row in rows]
    for axes, name in zip(figure.subplots(1, 2), ("loss", "accuracy"), strict=True):
        for phase in ("train", "val"):
            axes.plot(epochs, [row[phase][name] for row in rows], marker=".", label=phase)
        axes.set_xlabel("epoch")
        axes.set_ylabel(name)
        axes.grid(alpha=0.3)
        axes.legend()
    write_atomically(path, lambda file: figure.savefig(file, format="png", dpi=120))
