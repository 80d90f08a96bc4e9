"""What certainly carries a graph, because something is back-propagated through it."""

from __future__ import annotations

import ast

import pytest

from torchlint.semantics.backward import backwards, graphs
from torchlint.semantics.program import Program, parse
from torchlint.source import read_source

STEP = """
def step(model, batch, criterion, optimizer, scaler, accelerator):
    first, second = model(batch)
    weight = batch.size(0)
    {line}
    optimizer.step()
    keep({value})
"""


def kept(line: str, value: str) -> bool:
    """Whether the value handed to ``keep`` carries a graph."""
    source = read_source("step.py", STEP.format(line=line, value=value).encode())
    program = Program(source, parse(source))
    (call,) = [c for c in program.tree.calls if isinstance(c.func, ast.Name) and c.func.id == "keep"]
    return graphs(program).carrier(call.args[0], call) is not None


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("first.backward()", "first"),
        ("first.mean().backward()", "first"),
        ("(first / 4).backward()", "first * 3"),
        ("scaler.scale(first).backward()", "first"),
        ("accelerator.backward(first)", "first"),
        ("loss = first + second; loss.backward()", "second"),
        ("loss = first + 0.1 * second_loss if weight else first; first.backward()", "first"),
        ("first.backward(); kept = first * 2", "kept"),
        ("model.loss.backward()", "model.loss"),
    ],
)
def test_what_is_back_propagated_carries_a_graph(line: str, value: str) -> None:
    assert kept(line, value)


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("first.backward()", "second"),
        ("first.backward()", "first.item()"),
        ("first.backward()", "float(first)"),
        ("first.backward()", "first.data"),
        ("first.backward(); first = first.detach()", "first"),
        ("first.backward(retain_graph=True)", "first"),
        ("first.backward(batch)", "first"),
        ("loss = first / weight; loss.backward()", "weight"),
        ("loss = first * weight; loss.backward()", "weight"),
        ("loss = first + weight.item(); loss.backward()", "weight"),
        ("model.loss.backward(); model.loss = model.loss.item()\n    pass", "model.accuracy"),
    ],
)
def test_what_may_carry_none_does_not(line: str, value: str) -> None:
    assert not kept(line, value)


def test_the_loss_behind_a_scaled_one() -> None:
    source = read_source("a.py", b"with amp.scale_loss(loss, optimizer) as scaled:\n    scaled.backward()\n")
    (found,) = backwards(Program(source, parse(source)))
    assert isinstance(found.loss, ast.Name)
    assert found.loss.id == "loss"
