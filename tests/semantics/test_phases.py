"""Which phase a place belongs to, and which quantity a value is."""

from __future__ import annotations

import ast

import pytest

from torchlint.semantics.phases import Phase, phase, phase_words
from torchlint.semantics.program import Program, parse
from torchlint.semantics.quantities import core_words, same_quantity, subjects, words
from torchlint.source import read_source


def program(text: str) -> Program:
    source = read_source("phases.py", text.encode())
    return Program(source, parse(source))


def phase_of(text: str) -> tuple[str, str] | None:
    """Phase and source for the argument of ``log``."""
    of = program(text)
    (call,) = [c for c in of.tree.calls if isinstance(c.func, ast.Name) and c.func.id == "log"]
    found = phase(of, call, call.args[0])
    return None if found is None else (found.name, found.source)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("train_loss", "train"),
        ("ValLoss", "val"),
        ("Validation/Accuracy", "val"),
        ("test_acc", "test"),
        ("evaluate_one", "eval"),
        ("train_val_split", None),
        ("constraint", None),
        ("latest", None),
    ],
)
def test_words_of_a_phase(text: str, name: str | None) -> None:
    assert phase_words(text) == name


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("log(train_loss / n)", ("train", "value")),
        ("log(metrics['val_loss'])", ("val", "value")),
        ("loss, acc = run(val_loader)\nlog(loss)", ("val", "call")),
        ("loss = run('test')\nlog(loss)", ("test", "call")),
        ("for x in tqdm(train_loader):\n    log(x)", ("train", "loop")),
        ("for e in range(train_epochs):\n    log(loss)", None),
        ("if phase == 'val':\n    log(loss)", ("val", "guard")),
        ("if self.training:\n    pass\nelse:\n    log(loss)", ("eval", "guard")),
        ("for x in val_loader:\n    pass\nlog(loss)", ("val", "block")),
        ("model.eval()\nfor x in data:\n    pass\nlog(loss)", ("eval", "block")),
        ("model.eval()\nmodel.train()\nlog(loss)", ("train", "block")),
        ("with no_grad():\n    for x in val_loader:\n        pass\nlog(loss)", ("val", "block")),
        ("def validate():\n    log(loss)", ("val", "function")),
        ("log(loss)", None),
    ],
)
def test_phase(text: str, expected: tuple[str, str] | None) -> None:
    assert phase_of(text) == expected


@pytest.mark.parametrize(
    ("one", "two", "differ"),
    [
        ("train", "val", True),
        ("train", "eval", True),
        ("val", "test", True),
        ("val", "eval", False),
        ("val", "val", False),
    ],
)
def test_phases_that_differ(one: str, two: str, differ: bool) -> None:
    assert Phase(one, "value").differs(Phase(two, "value")) is differ


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        ("loss.item()", ("loss",)),
        ("losses.avg", ("losses",)),
        ("total / len(loader)", ("total",)),
        ("float(np.mean(rewards))", ("rewards",)),
        ("stats['loss'].mean().item()", ("stats['loss']",)),
        ("a + b", ("a", "b")),
        ("p.grad.norm()", ("p.grad.norm()",)),
        ("0.5", ()),
    ],
)
def test_subjects(expression: str, found: tuple[str, ...]) -> None:
    assert subjects(ast.parse(expression, mode="eval").body) == found


@pytest.mark.parametrize(
    ("setup", "first", "second", "same"),
    [
        ("", "loss.item()", "float(loss)", True),
        ("value = loss.item()", "value", "loss", True),
        ("", "losses.avg", "losses.val", True),
        ("", "scheduler.get_last_lr()[0]", "optimizer.param_groups[0]['lr']", True),
        ("", "running / n", "window / m", False),
        ("", "x.max()", "x.min()", False),
        ("", "2 ** i", "i * 2", False),
        ("", "0.0", "loss", None),
    ],
)
def test_same_quantity(setup: str, first: str, second: str, same: bool | None) -> None:
    of = program(f"{setup}\nlog({first}, {second})")
    call = next(c for c in of.tree.calls if getattr(c.func, "id", "") == "log")
    assert same_quantity(of, call.args[0], call.args[1]) is same


def test_words() -> None:
    assert words("trainLoss_v2/HTTPError") == ["train", "loss", "v", "http", "error"]


def test_core_words_leave_out_how_a_value_is_taken() -> None:
    assert core_words(ast.parse("avg_epoch_loss", mode="eval").body) == {"loss"}
