"""The layers of PyTorch itself: which of them behave differently in train and eval mode.

Measured: outputs and buffers of each layer compared between both modes.
"""

from __future__ import annotations

import ast
import enum
import re
from typing import TYPE_CHECKING

from torchlint.semantics.values import ABSENT, UNKNOWN, Known, Possible

if TYPE_CHECKING:
    from torchlint.semantics.program import Program


class Dependence(enum.IntEnum):
    """What is known of a network's layers; ordered so that ``max`` combines the parts of one network."""

    INDEPENDENT = 0  # every layer is visible and none depends on the mode
    UNKNOWN = 1
    DEPENDS = 2


INDEPENDENT, UNSEEN, DEPENDS = Dependence.INDEPENDENT, Dependence.UNKNOWN, Dependence.DEPENDS
DROPOUT = re.compile(r"(Feature)?(Alpha)?Dropout[123]?d?$|RReLU$|StochasticDepth$|DropPath$|DropBlock\w*$")
BATCH_NORM = re.compile(r"(Lazy|Sync)?BatchNorm([123]d)?$")
_INSTANCE_NORM = re.compile(r"(Lazy)?InstanceNorm[123]d$")
_RECURRENT = re.compile(r"(LSTM|GRU|RNN)$")
_RATE_OF_TRANSFORMER = {"Transformer": 5, "TransformerEncoderLayer": 3, "TransformerDecoderLayer": 3}


def torch_layer(program: Program, call: ast.Call, layer: str) -> Dependence:
    """Whether the layer that a constructor of ``torch.nn`` makes depends on the mode; containers are not asked here."""
    values = program.values
    if DROPOUT.match(layer):
        return _by_rate(program, values.argument(call, "p", 0), DEPENDS)
    if BATCH_NORM.match(layer):
        return _off_when_false(program, values.argument(call, "track_running_stats", 4), DEPENDS)
    if _INSTANCE_NORM.match(layer):
        tracked = values.argument(call, "track_running_stats", 4)
        known = single_constant(program, tracked)
        if known is None:
            return INDEPENDENT if tracked == (ABSENT,) else UNSEEN
        return DEPENDS if known.value else INDEPENDENT
    if _RECURRENT.match(layer):
        return _by_rate(program, values.argument(call, "dropout", 5), INDEPENDENT)
    if layer in _RATE_OF_TRANSFORMER:
        return _by_rate(program, values.argument(call, "dropout", _RATE_OF_TRANSFORMER[layer]), DEPENDS)
    if layer == "MultiheadAttention":
        return _by_rate(program, values.argument(call, "dropout", 2), INDEPENDENT)
    return INDEPENDENT


def single_constant(program: Program, values: tuple[Possible, ...]) -> Known | None:
    """The constant an argument certainly is; None when it is absent, unknown or computed."""
    if len(values) != 1 or values[0] is ABSENT or values[0] is UNKNOWN:
        return None
    known = program.values.constant(values[0])
    return known if isinstance(known, Known) else None


def _by_rate(program: Program, values: tuple[Possible, ...], default: Dependence) -> Dependence:
    """A layer that depends on the mode exactly when its drop rate is not 0; a rate that is not a constant is taken as one."""
    if values == (ABSENT,):
        return default
    known = single_constant(program, values)
    if known is None:
        return DEPENDS if default is DEPENDS else UNSEEN
    return INDEPENDENT if known.value in (0, 0.0, False) else DEPENDS


def _off_when_false(program: Program, values: tuple[Possible, ...], default: Dependence) -> Dependence:
    known = single_constant(program, values)
    return INDEPENDENT if known is not None and known.value is False else default
