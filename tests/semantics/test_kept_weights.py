"""Which weights are kept over training without a copy."""

from __future__ import annotations

import ast

import pytest

from torchlint.semantics.kept_weights import kept_weights
from torchlint.semantics.program import Program, parse
from torchlint.semantics.training import trains
from torchlint.source import read_source


def program(text: str) -> Program:
    source = read_source("train.py", text.encode())
    return Program(source, parse(source))


def in_loop(keep: str, after: str = "model.load_state_dict(best)") -> str:
    return (
        "import copy\nfrom collections import OrderedDict\n"
        f"for epoch in epochs:\n    loss.backward()\n    if good:\n        {keep}\n{after}\n"
    )


@pytest.mark.parametrize(
    "value",
    [
        "model.state_dict()",
        "dict(model.state_dict())",
        "OrderedDict(model.state_dict())",
        "copy.copy(model.state_dict())",
        "model.state_dict().copy()",
        "{'model': model.state_dict()}",
        "(model.state_dict(), score)",
    ],
)
def test_values_that_hold_the_tensors(value: str) -> None:
    assert [kept.name for kept in kept_weights(program(in_loop(f"best = {value}")))] == ["best"]


@pytest.mark.parametrize(
    "value",
    [
        "copy.deepcopy(model.state_dict())",
        "{k: v.clone() for k, v in model.state_dict().items()}",
        "optimizer.state_dict()",
        "clone(model.state_dict())",
        "len(model.state_dict())",
    ],
)
def test_values_that_do_not_or_may_not(value: str) -> None:
    assert not list(kept_weights(program(in_loop(f"best = {value}"))))


def test_weights_that_nothing_reads_later() -> None:
    assert not list(kept_weights(program(in_loop("best = model.state_dict()", "print(model)"))))
    assert not list(kept_weights(program(in_loop("best = model.state_dict(); save(best)", ""))))


def test_reads_of_other_entries_do_not_count() -> None:
    keep = "best = {'model': model.state_dict(), 'epoch': epoch}"
    assert not list(kept_weights(program(in_loop(keep, "print(best['epoch'])"))))
    assert list(kept_weights(program(in_loop(keep, "use(best['model'])"))))


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("loss.backward()", True),
        ("optimizer.step()", True),
        ("train_one_epoch(model)", True),
        ("trainer.fit(model)", True),
        ("def turn():\n    loss.backward()\nturn()", True),
        ("model.train()", False),
        ("scheduler.step()", False),
        ("train_loader(data)", False),
        ("evaluate(model)", False),
    ],
)
def test_code_that_trains(code: str, expected: bool) -> None:
    of = program(code)
    last = of.module.body[-1]
    assert isinstance(last, ast.Expr)
    assert trains(of, last) is expected
