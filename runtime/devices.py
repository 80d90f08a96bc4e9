"""One device for the whole run, chosen once.

Pitfall shown: `.cuda()` next to `.to(device)`. `.cuda()` means the current CUDA device whatever the variable says, and
fails on a machine without CUDA. Every transfer in this package is `.to(device, non_blocking=True)` with the device that
`resolve` returned.
"""

from __future__ import annotations

import torch

from torchlint.runtime.errors import UserError

PINNED = {"cuda", "xpu"}  # accelerators whose copies are faster from page-locked memory


def resolve(name: str, local_rank: int = 0, local_size: int = 1) -> torch.device:
    """The device that `--device` names: `auto`, `cpu`, `cuda`, `cuda:1`, `mps`, …

    With several processes on a machine (`local_size`), each takes the accelerator of its `local_rank`.
    Raises UserError for a device that this machine does not have.
    """
    # `current_accelerator()` alone answers `cuda` on a CUDA build without a driver; `is_available()` asks the driver.
    accelerator = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else None
    if name == "auto":
        name = accelerator.type if accelerator is not None else "cpu"
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise UserError(f"--device {name}: not a device; use auto, cpu, cuda, cuda:1, mps, …") from error
    if device.type == "cpu":
        return torch.device("cpu")
    if accelerator is None or accelerator.type != device.type:
        present = "only its CPU" if accelerator is None else f"the CPU and {accelerator.type}"
        raise UserError(f"--device {name}: PyTorch sees {present} on this machine; use --device auto")
    if device.index is not None and local_size > 1:
        raise UserError(f"--device {name}: {local_size} processes cannot share it; use --device {device.type}")
    count = torch.accelerator.device_count()
    index = local_rank if device.index is None else device.index
    if index >= count:
        raise UserError(f"--device {name}: number {index} is needed and this machine has {count}, counted from 0")
    return torch.device(device.type, index)


def sum_dtype(device: torch.device) -> torch.dtype:
    """The widest float type in which sums can be kept on the device (mps has no float64)."""
    return torch.float32 if device.type == "mps" else torch.float64
