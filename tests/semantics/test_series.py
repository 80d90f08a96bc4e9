"""Whether two summary calls are one series or two."""

from __future__ import annotations

import pytest

from torchlint.semantics.program import Program, parse
from torchlint.semantics.series import Kind, conflict, lost_variable
from torchlint.semantics.shared import shared_by_phases
from torchlint.semantics.summaries import summaries
from torchlint.source import read_source


def program(text: str) -> Program:
    source = read_source("series.py", text.encode())
    return Program(source, parse(source))


def kind(text: str) -> Kind | None:
    """The kind of conflict of the first two summary calls."""
    of = program(text)
    first, second = summaries(of)[:2]
    found = conflict(of, first, second)
    return None if found is None else found.kind


BOTH_PHASES = """
def train(w):
    loss = run()
    w.add_scalar("loss", loss, step)
def validate(w):
    loss = run()
    w.add_scalar("loss", loss, step)
"""
FOLDERS = """
from tensorboardX import SummaryWriter
def f(folder):
    a = SummaryWriter(folder)
    b = SummaryWriter(folder)
    a.add_scalar("loss", x, step)
    b.add_scalar("loss", y, step)
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("def f(w):\n    w.add_scalar('a', x, s)\n    w.add_scalar('a', y, s)", Kind.VALUES),
        ("def f(w):\n    w.add_scalar('a', train_x, s)\n    w.add_scalar('a', val_x, s)", Kind.PHASES),
        ("def f(w):\n    w.add_scalar('a', x, s)\n    w.add_histogram('a', x, s)", Kind.FAMILIES),
        (BOTH_PHASES + "def main(w):\n    train(w)\n    validate(w)", Kind.PHASES),
        (BOTH_PHASES + "def main(w, flag):\n    train(w) if flag else validate(w)", None),
        (BOTH_PHASES + "def main(w, v):\n    train(w)\n    validate(v)", None),
        (BOTH_PHASES, None),
        (FOLDERS, Kind.FOLDERS),
        (FOLDERS.replace("b = SummaryWriter(folder)", "b = SummaryWriter(folder + '/b')"), None),
        ("def f(w):\n    w.add_scalar('a', x, s)\n    w.add_scalar('b', y, s)", None),
        ("def f(w):\n    w.add_scalar('a', x, 0)\n    w.add_scalar('a', y, 1)", None),
        ("def f(w):\n    w.add_scalar('a', x, s)\n    w.add_image('a', x, s)", None),
        ("def f(w):\n    w.add_image('a', x, s)\n    w.add_image('a', y, s)", Kind.VALUES),
        ("def f(w):\n    w.add_image('a', x, s)\n    w.add_image('a', y, t)", None),
        ("def f(w):\n    w.add_scalar('lr', train_lr, s)\n    w.add_scalar('lr', val_lr, s)", Kind.VALUES),
    ],
)
def test_kinds_of_conflict(text: str, expected: Kind | None) -> None:
    assert kind(text) == expected


def test_a_value_logged_again_behind_the_loop() -> None:
    again = "def f(w):\n    for s in r:\n        w.add_scalar('a', loss, s)\n    w.add_scalar('a', mean_loss, s)"
    assert kind(again) is None
    assert kind(again.replace("mean_loss, s", "mean_loss, epoch")) is Kind.VALUES
    assert kind(again.replace("mean_loss", "reward")) is Kind.VALUES


def test_the_variable_a_call_lost() -> None:
    of = program(
        "def f(w, s):\n    for k, v in d.items():\n        w.add_scalar('a', v, s)\n        w.add_scalar(k, v, s)"
    )
    lost, kept = summaries(of)
    series = lost_variable(of, lost)
    assert series is not None
    assert series.key is not None
    assert series.key.id == "k"
    assert lost_variable(of, kept) is None


SHARED = """
def run(loader, w, step, train):
    w.add_scalar("loss", total(loader), step)
def main(a, b, w):
    run(a, w, 0, True)
    run(b, w, 0, False)
"""


@pytest.mark.parametrize(
    ("text", "phases"),
    [
        (SHARED, ("train", "eval")),
        (SHARED.replace("run(b, w, 0, False)", "run(b, v, 0, False)"), None),
        (SHARED.replace("    w.add", "    if train:\n        return\n    w.add"), None),
        (SHARED.replace('"loss"', 'f"{train}/loss"'), None),
        (SHARED.replace("True", "1").replace("False", "2"), None),
    ],
)
def test_a_function_that_logs_for_both_phases(text: str, phases: tuple[str, str] | None) -> None:
    of = program(text)
    found = shared_by_phases(of, summaries(of)[0])
    assert (None if found is None else found.phases) == phases
