"""Which functional dropouts do not follow the mode of their network."""

from __future__ import annotations

import pytest

from torchlint.semantics.dropouts import deaf_dropouts
from torchlint.semantics.program import Program, parse
from torchlint.source import read_source

NET = """
import torch
import torch.nn.functional as F
from torch import nn

class Net({base}):
    def {method}(self, x, p=0.5, **more):
        return {call}
"""


def found(call: str, base: str = "nn.Module", method: str = "forward") -> list[tuple[int, str]]:
    source = read_source("net.py", NET.format(call=call, base=base, method=method).encode())
    return [(each.call.lineno, each.method) for each in deaf_dropouts(Program(source, parse(source)))]


def test_without_training() -> None:
    assert found("F.dropout(x, p)") == [(8, "forward")]
    assert found("torch.nn.functional.dropout2d(x)", method="block") == [(8, "block")]
    assert found("map(lambda part: F.dropout(part), x)") == [(8, "forward")]


@pytest.mark.parametrize(
    "call",
    ["F.dropout(x, p, self.training)", "F.dropout(x, training=p)", "F.dropout(x, **more)", "F.dropout(x, 0)",
     "F.dropout(x) if self.training else x",
     "F.dropout(x, p)  # Monte Carlo", "F.relu(x)"],
)  # fmt: skip
def test_told_or_wanted(call: str) -> None:
    assert found(call) == []


@pytest.mark.parametrize("base", ["object", "Unknown"])
def test_classes_that_need_not_be_networks(base: str) -> None:
    assert found("F.dropout(x)", base) == []
