"""Which loops are evaluation passes with gradients on."""

from __future__ import annotations

import pytest

from torchlint.semantics.gradpass import gradient_passes
from torchlint.semantics.program import Program, parse
from torchlint.source import read_source

PASS = """
import torch

def evaluate(model, loader, criterion, optimizer):
    model.eval()
    total = 0.0
{body}
    model.train()
    return total
"""


def rows(text: str) -> list[tuple[int, bool]]:
    """Row and certainty of each pass found."""
    source = read_source("pass.py", text.encode())
    return [(each.loop.lineno, each.in_eval_mode) for each in gradient_passes(Program(source, parse(source)))]


def in_pass(*lines: str) -> list[tuple[int, bool]]:
    return rows(PASS.format(body="\n".join(f"    {line}" for line in lines)))


def test_a_loop_over_data_in_eval_mode() -> None:
    assert in_pass("for x, y in loader:", "    total += criterion(model(x), y).item()") == [(7, True)]


def test_the_outermost_loop_over_data_counts() -> None:
    found = in_pass("for _ in range(3):", "    for batch in loader:", "        for x in batch:", "            model(x)")
    assert found == [(8, True)]


@pytest.mark.parametrize(
    "lines",
    [
        ["for x, y in loader:", "    criterion(model(x), y).backward()"],
        ["for x, y in loader:", "    with torch.no_grad():", "        model(x)"],
        ["for x, y in loader:", "    with unknown():", "        model(x)"],
        ["for x, y in loader:", "    x.requires_grad_()", "    model(x)"],
        ["for x, y in loader:", "    model(x)", "    optimizer.step()"],
        ["for x, y in loader:", "    total += model(x)", "total.backward()"],
        ["for x, y in loader:", "    yield model(x)"],
        ["for step in range(3):", "    model(step)"],
        ["torch.set_grad_enabled(False)", "for x, y in loader:", "    model(x)"],
    ],
    ids=lambda lines: " ".join(lines),
)
def test_gradients_that_are_off_or_wanted(lines: list[str]) -> None:
    assert in_pass(*lines) == []


def test_without_eval_only_what_says_that_it_evaluates() -> None:
    text = PASS.format(body="    for x in loader:\n        model(x)").replace("    model.eval()\n", "")
    assert rows(text) == [(6, False)]
    assert rows(text.replace("evaluate", "features")) == []
