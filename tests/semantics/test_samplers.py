"""Which distributed samplers repeat one order, and which arguments of loaders contradict each other."""

from __future__ import annotations

import pytest

from torchlint.semantics.conflicts import Conflict, asks_for_workers, contradictions
from torchlint.semantics.loaders import loaders
from torchlint.semantics.program import Program, parse
from torchlint.semantics.samplers import repeated_orders
from torchlint.source import read_source

HEAD = "from torch.utils.data import BatchSampler, DataLoader, DistributedSampler, RandomSampler\n"


def program(text: str) -> Program:
    source = read_source("train.py", (HEAD + text).encode())
    return Program(source, parse(source))


def fit(arguments: str = "", loop: str = "for epoch in range(3):", inner: str = "for x in loader: pass") -> Program:
    return program(
        f"s = DistributedSampler(data{arguments})\nloader = DataLoader(data, sampler=s)\n{loop}\n    {inner}\n"
    )


@pytest.mark.parametrize("of", [fit(), fit(", shuffle=True"), fit(inner="train(model, loader)")])
def test_orders_that_repeat(of: Program) -> None:
    (found,) = repeated_orders(of)
    assert found.name is not None
    assert not found.optional


@pytest.mark.parametrize(
    "of",
    [
        fit(", shuffle=False"),
        fit(", shuffle=flag"),
        fit(", 2, 0, False"),
        fit(inner="loader.sampler.set_epoch(epoch)"),
        fit(loop="for fold in range(3):"),
        fit(loop="if True:"),
        program(
            "import accelerate\ns = DistributedSampler(d)\nfor epoch in range(2):\n    go(DataLoader(d, sampler=s))\n"
        ),
    ],
)
def test_orders_that_do_not_or_may_not(of: Program) -> None:
    assert not list(repeated_orders(of))


@pytest.mark.parametrize(
    ("arguments", "name", "conflict"),
    [
        ("prefetch_factor=2", "prefetch_factor", Conflict.NO_WORKERS),
        ("num_workers=0, persistent_workers=True", "persistent_workers", Conflict.NO_WORKERS),
        ("timeout=9", "timeout", Conflict.NO_WORKERS),
        ("shuffle=True, sampler=RandomSampler(d)", "shuffle", Conflict.SAMPLER),
        ("batch_sampler=BatchSampler(s, 2, True), drop_last=True", "drop_last", Conflict.BATCH_SAMPLER),
        ("batch_sampler=BatchSampler(s, 2, True), batch_size=2", "batch_size", Conflict.BATCH_SAMPLER),
    ],
)
def test_contradictions(arguments: str, name: str, conflict: Conflict) -> None:
    of = program(f"DataLoader(d, {arguments})")
    assert [(found.name, found.conflict) for found in contradictions(of)] == [(name, conflict)]
    assert asks_for_workers(of, next(loaders(of))) is (conflict is Conflict.NO_WORKERS)


@pytest.mark.parametrize(
    "arguments",
    [
        "prefetch_factor=2, num_workers=n",
        "prefetch_factor=None",
        "persistent_workers=n > 0",
        "shuffle=s is None, sampler=s",
        "shuffle=True, sampler=s",
        "shuffle=True, sampler=RandomSampler(d) if a else None",
        "batch_sampler=None, batch_size=2",
        "batch_sampler=BatchSampler(s, 2, True), batch_size=1",
        "drop_last=True",
    ],
)
def test_arguments_that_go_together(arguments: str) -> None:
    assert not list(contradictions(program(f"DataLoader(d, {arguments})")))


def test_validation_loaders_are_known_by_their_names() -> None:
    for name, expected in (("val_loader", 1), ("self.test_loader", 1), ("train_val_loader", 0), ("loader", 0)):
        assert len(list(contradictions(program(f"{name} = DataLoader(d, 4, drop_last=True)")))) == expected
    assert not list(contradictions(program("val_loader = DataLoader(d, drop_last=True)")))
