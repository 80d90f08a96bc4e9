"""The models: a small one with batch norm and dropout on purpose, and torchvision's classifiers by name.

Pitfall shown: testing a trainer on a model whose output does not depend on the mode, which hides every forgotten
`eval()`. The default model fails visibly when validation runs in train mode. `plain` is the same without both, for
comparisons in which one process must equal many.
"""

from __future__ import annotations

import difflib
from typing import Any

import torch
from torch import nn

from torchlint.runtime.datasets import torchvision
from torchlint.runtime.errors import UserError
from torchlint.runtime.modes import evaluating

BUILT_IN = ("small", "plain")
NO_AUXILIARY = {"googlenet", "inception_v3"}  # in train mode these return a tuple unless their side heads are left out


class SmallNet(nn.Module):
    """Two convolutions and a linear layer: [batch, channels, size, size] -> [batch, classes]; size from 4 pixels."""

    def __init__(self, channels: int, size: int, classes: int, *, plain: bool = False) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(channels, 24, kernel_size=3, padding=1),
            nn.Identity() if plain else nn.BatchNorm2d(24),
            nn.ReLU(),
            nn.Conv2d(24, 48, kernel_size=3, padding=1),
            nn.Identity() if plain else nn.BatchNorm2d(48),
            nn.ReLU(),
            nn.MaxPool2d(size // 4),  # not adaptive pooling: that has no deterministic backward on CUDA
        )
        cells = size // (size // 4)
        self.head = nn.Sequential(
            nn.Flatten(),
            nn.Identity() if plain else nn.Dropout(0.25),
            nn.Linear(48 * cells * cells, classes),
        )

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = self.head(self.features(images))
        return logits


def input_shape(name: str, natural: tuple[int, int], image_size: int | None) -> tuple[int, int]:
    """Channels and size (pixels) of the pictures that model `name` is given.

    `natural` is the shape of the data. Torchvision's models take three channels and at least the size they state.
    Raises UserError for an unknown model.
    """
    channels, size = natural
    if name in BUILT_IN:
        if image_size is not None and image_size < 4:
            raise UserError(f"--image-size {image_size}: must be at least 4 for the model {name}")
        return channels, image_size or size
    models = torchvision().models
    names = models.list_models(module=models)
    if name not in names:
        near = difflib.get_close_matches(name, [*BUILT_IN, *names], n=3)
        hint = f"did you mean {' or '.join(near)}?" if near else "see torchvision.models.list_models()"
        raise UserError(f"--model {name}: must be small, plain or a classifier of torchvision; {hint}")
    least = max(models.get_model_weights(name).DEFAULT.meta["min_size"])
    return 3, image_size or max(size, least)


def build_model(name: str, channels: int, size: int, classes: int) -> nn.Module:
    """The model with fresh weights on the CPU. Raises UserError when it cannot take pictures of this shape."""
    model = construct(name, channels, size, classes)
    try:
        with evaluating(model):
            model(torch.zeros(1, channels, size, size))
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        message = f"--model {name}: cannot take {channels}x{size}x{size} pictures ({reason}); set --image-size"
        raise UserError(message) from error
    return model


def construct(name: str, channels: int, size: int, classes: int) -> nn.Module:
    """The model with fresh weights."""
    if name in BUILT_IN:
        return SmallNet(channels, size, classes, plain=name == "plain")
    extra: dict[str, Any] = {"aux_logits": False, "init_weights": True} if name in NO_AUXILIARY else {}
    model: nn.Module = torchvision().models.get_model(name, weights=None, num_classes=classes, **extra)
    return model
