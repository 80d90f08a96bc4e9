"""Which expressions are summary writers, and which of them are one object."""

from __future__ import annotations

import ast

import pytest

from torchlint.semantics.program import Program, parse
from torchlint.semantics.writers import Writer, writer_of
from torchlint.source import read_source

HEAD = "from torch.utils.tensorboard import SummaryWriter\n"


def writers(text: str) -> list[Writer | None]:
    """The writers of all ``add_scalar`` calls in source order."""
    source = read_source("writers.py", (HEAD + text).encode())
    program = Program(source, parse(source))
    calls = [c for c in program.tree.calls if isinstance(c.func, ast.Attribute) and c.func.attr == "add_scalar"]
    found = []
    for call in sorted(calls, key=lambda c: c.lineno):
        assert isinstance(call.func, ast.Attribute)
        found.append(writer_of(program, call.func.value))
    return found


KNOWN = {
    "constructed": 'w = SummaryWriter("runs")\nw.add_scalar("a", 1, 2)',
    "with": 'with SummaryWriter() as w:\n    w.add_scalar("a", 1)',
    "tensorboardX": 'import tensorboardX as tb\nw = tb.SummaryWriter()\nw.add_scalar("a", 1, 2)',
    "conditional": 'w = None\nif main:\n    w = SummaryWriter()\nw.add_scalar("a", 1, 2)',
    "attribute": (
        "class T:\n    def __init__(self):\n"
        '        self.w = SummaryWriter()\n    def f(self):\n        self.w.add_scalar("a", 1)'
    ),
    "subclass": 'class L(SummaryWriter):\n    def f(self):\n        self.add_scalar("a", 1)',
    "factory": 'def make(d):\n    w = SummaryWriter(d)\n    return w\nw = make("x")\nw.add_scalar("a", 1, 2)',
    "given by a caller": 'def f(w):\n    w.add_scalar("a", 1, 2)\nf(SummaryWriter())',
}


@pytest.mark.parametrize("text", KNOWN.values(), ids=KNOWN.keys())
def test_a_known_writer(text: str) -> None:
    (writer,) = writers(text)
    assert writer is not None
    assert writer.sure


@pytest.mark.parametrize(
    "text",
    [
        'def f(w):\n    w.add_scalar("a", 1, 2)\n    w.flush()',
        'class M:\n    def training_step(self):\n        self.logger.experiment.add_scalar("a", 1, self.step)',
        'w = make()\nw.add_scalar("a", 1, global_step=2)',
    ],
)
def test_an_object_used_like_a_writer(text: str) -> None:
    (writer,) = writers(text)
    assert writer is not None
    assert not writer.sure


@pytest.mark.parametrize(
    "text",
    [
        'def f(w):\n    w.add_scalar("a", 1)',
        'def f(w):\n    w.set_step(1)\n    w.add_scalar("a", 1, 2)',
        'class Own:\n    def add_scalar(self, tag, value, step):\n        pass\nw = Own()\nw.add_scalar("a", 1, 2)',
        (
            "class P(SummaryWriter):\n    def add_scalar(self, tag, value, step):\n"
            '        pass\nw = P()\nw.add_scalar("a", 1, 2)'
        ),
        'class Own:\n    pass\ndef f(w):\n    w.add_scalar("a", 1, 2)\nf(Own())',
        'for w in all_writers:\n    ws[w].add_scalar("a", 1, 2)',
        'def f(w):\n    w.add_scalar("a", 1, step=2)',
    ],
)
def test_no_writer_or_an_unknown_one(text: str) -> None:
    assert writers(text) == [None]


@pytest.mark.parametrize(
    "text",
    [
        'w = SummaryWriter()\nv = w\nw.add_scalar("a", 1, 2)\nv.add_scalar("a", 1, 2)',
        (
            'def f(w):\n    w.add_scalar("a", 1, 2)\ndef g(v):\n'
            '    v.add_scalar("a", 1, 2)\nw = SummaryWriter()\nf(w)\ng(w)'
        ),
        'w = SummaryWriter(a) if x else SummaryWriter(b)\nw.add_scalar("a", 1, 2)\nw.add_scalar("a", 1, 2)',
        'def f(w):\n    w["a"].add_scalar("a", 1, 2)\n    w["a"].add_scalar("a", 1, 2)',
        'w = SummaryWriter()\ndef f():\n    w.add_scalar("a", 1, 2)\nw.add_scalar("a", 1, 2)',
    ],
)
def test_one_writer(text: str) -> None:
    first, second = writers(text)
    assert first is not None
    assert second is not None
    assert first.origin == second.origin


@pytest.mark.parametrize(
    "text",
    [
        'w, v = SummaryWriter("a"), SummaryWriter("b")\nw.add_scalar("a", 1, 2)\nv.add_scalar("a", 1, 2)',
        'with SummaryWriter() as w:\n    w.add_scalar("a", 1)\nwith SummaryWriter() as w:\n    w.add_scalar("a", 1)',
        'def f(w):\n    w.add_scalar("a", 1, 2)\ndef g(w):\n    w.add_scalar("a", 1, 2)',
        'def f(w):\n    w["a"].add_scalar("a", 1, 2)\n    w["b"].add_scalar("a", 1, 2)',
        (
            "def make():\n    return SummaryWriter()\nw = make()\n"
            'v = make()\nw.add_scalar("a", 1, 2)\nv.add_scalar("a", 1, 2)'
        ),
    ],
)
def test_two_writers(text: str) -> None:
    first, second = writers(text)
    assert first is not None
    assert second is not None
    assert first.origin != second.origin


def test_the_folder_of_a_writer() -> None:
    first, second = writers(
        'import os\nw = SummaryWriter(log_dir=os.path.join(root, "x"))\nv = SummaryWriter(f"{root}/x")\n'
        'w.add_scalar("a", 1, 2)\nv.add_scalar("a", 1, 2)'
    )
    assert first is not None
    assert second is not None
    assert first.folder == second.folder is not None


def test_a_factory_that_calls_itself_ends() -> None:
    assert writers('def make():\n    return make()\nw = make()\nw.add_scalar("a", 1)') == [None]
