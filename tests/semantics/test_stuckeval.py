"""Which eval() is not undone before training goes on."""

from __future__ import annotations

import pytest

from torchlint.semantics.program import Program, parse
from torchlint.semantics.stuckeval import stuck
from torchlint.source import read_source

LOOP = """
def fit(model, loader, held_out, criterion, optimizer):
    model.train()
    for epoch in range(3):
        {start}
        for x, y in loader:
            criterion(model(x), y).backward()
            optimizer.step()
            {step}
        {end}
"""


def rows(start: str = "pass", step: str = "pass", end: str = "pass") -> list[tuple[int, int]]:
    """Row of each switch and of the training call that follows it."""
    source = read_source("fit.py", LOOP.format(start=start, step=step, end=end).encode())
    return [(each.switch.lineno, each.training.lineno) for each in stuck(Program(source, parse(source)))]


def test_eval_behind_training() -> None:
    assert rows(end="model.eval(); model(held_out)") == [(10, 7)]
    assert rows(step="model.eval(); model(held_out)") == [(9, 7)]
    assert rows(start="model.train()", step="model.eval(); model(held_out)") == [(9, 7)]


@pytest.mark.parametrize(
    ("start", "step", "end"),
    [
        ("model.train()", "pass", "model.eval()"),
        ("pass", "pass", "model.eval(); model.train()"),
        ("pass", "pass", "mode = model.training; model.eval(); model.train(mode)"),
        ("model.eval()", "pass", "pass"),
        ("if epoch > 1: model.eval()", "pass", "pass"),
        ("pass", "pass", "held_out.eval()"),
    ],
)
def test_eval_that_is_undone_or_wanted(start: str, step: str, end: str) -> None:
    assert rows(start, step, end) == []
