"""Weights of plain and wrapped models, in both directions.

Pitfall shown: weights saved from a wrapped model (`module.` from DataParallel and DDP, `_orig_mod.` from torch.compile)
that do not load into the plain one; with `strict=False` nothing at all is loaded, silently. Weights are saved from the
unwrapped model, and a prefix found in a file is taken off only when every key has it and the model's own keys do not.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch import nn
from torch.nn.modules.utils import consume_prefix_in_state_dict_if_present
from torch.nn.parallel import DataParallel, DistributedDataParallel
from torch.optim.swa_utils import AveragedModel

from torchlint.runtime.errors import UserError

PREFIXES = {"module.": "DataParallel or DistributedDataParallel", "_orig_mod.": "torch.compile"}


def unwrap(model: nn.Module) -> nn.Module:
    """The model inside any number of wrappers."""
    while True:
        if isinstance(model, (DataParallel, DistributedDataParallel, AveragedModel)):
            model = model.module
        elif isinstance(getattr(model, "_orig_mod", None), nn.Module):  # what torch.compile returns
            model = model._orig_mod  # type: ignore[assignment]
        else:
            return model


def prefix_of(keys: Iterable[str]) -> str:
    """The wrapper's prefix that every key has, or nothing. AveragedModel's counter has none and is passed over."""
    names = [key for key in keys if key != "n_averaged"]
    return next((prefix for prefix in PREFIXES if names and all(name.startswith(prefix) for name in names)), "")


def unwrapped_keys(weights: Mapping[str, Any], own: Iterable[str]) -> Mapping[str, Any]:
    """`weights` without the prefixes that the model's `own` keys do not have."""
    own = list(own)
    while (prefix := prefix_of(weights)) and not prefix_of(own):
        bare = OrderedDict((key, value) for key, value in weights.items() if key != "n_averaged" or key in own)
        if hasattr(weights, "_metadata"):  # layer versions, which loading old weights needs
            bare._metadata = OrderedDict(weights._metadata)  # type: ignore[attr-defined]
        consume_prefix_in_state_dict_if_present(bare, prefix)
        weights = bare
    return weights


def load_weights(model: nn.Module, weights: Mapping[str, Any], origin: str) -> None:
    """Load `weights` into `model`, each wrapped or not. Raises UserError for the weights of another model."""
    target = unwrap(model)
    own = target.state_dict()
    weights = unwrapped_keys(weights, own)
    missing = [key for key in own if key not in weights]
    extra = [key for key in weights if key not in own]
    other = [key for key in own if key in weights and shape(weights[key]) != shape(own[key])]
    if missing or extra or other:
        parts = [
            f"{len(keys)} {what} (first: {keys[0]})"
            for what, keys in (("missing", missing), ("unknown", extra), ("of another shape", other))
            if keys
        ]
        raise UserError(f"{origin}: holds the weights of another model; tensors {', '.join(parts)}")
    target.load_state_dict(weights, strict=True)


def shape(value: object) -> torch.Size | None:
    """The shape of a tensor, None for anything else."""
    return value.shape if isinstance(value, torch.Tensor) else None
