"""Which back-propagations nothing clears."""

from __future__ import annotations

import pytest

from torchlint.semantics.accumulation import uncleared
from torchlint.semantics.program import Program, parse
from torchlint.source import read_source

LOOP = """
def train(model, optimizer, scaler, loader, other):
    for batch in loader:
        {body}
"""


def rows(body: str) -> list[int]:
    source = read_source("train.py", LOOP.format(body=body).encode())
    return [each.backward.lineno for each in uncleared(Program(source, parse(source)))]


@pytest.mark.parametrize(
    "body",
    [
        "model(batch).backward(); optimizer.step()",
        "scaler.scale(model(batch)).backward(); scaler.step(optimizer)",
        "model(batch).backward(); optimizer.step()  # zero_grad() is missing",
        "[model(part).backward() for part in batch]; optimizer.step()",
    ],
)
def test_nothing_clears(body: str) -> None:
    assert rows(body) == [4]


@pytest.mark.parametrize(
    "body",
    [
        "model(batch).backward(); optimizer.step(); model.zero_grad()",
        "model(batch).backward(); optimizer.step(); other.weight.grad = None",
        "model(batch).backward(); optimizer.step(); other(optimizer)",
        "model(batch).backward(); other.step()",
        "model.backward(model(batch)); optimizer.step()",
        "optimizer.step(lambda: model(batch).backward())",
        "optimizer = other(); model(batch).backward(); optimizer.step()",
    ],
)
def test_something_may(body: str) -> None:
    assert rows(body) == []
