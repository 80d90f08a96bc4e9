"""The mode of a model where it runs: what the interpreter follows."""

from __future__ import annotations

import ast

import pytest

from torchlint.semantics import flow
from torchlint.semantics.modes import Mode
from torchlint.semantics.program import Program, parse
from torchlint.source import read_source

HEAD = "import contextlib, copy, torch\nfrom torch import nn\nclass Net(nn.Module):\n    def forward(self, x):\n        return x\n"


def mode(text: str) -> Mode:
    """The union of the modes in which ``net(MARK)`` or ``self.net(MARK)`` runs."""
    source = read_source("module.py", (HEAD + text).encode())
    program = Program(source, parse(source))
    found = Mode.NONE
    for event in program.flow_to(frozenset({"MARK"})).events:
        marked = any(isinstance(a, ast.Name) and a.id == "MARK" for a in event.node.args)
        if event.kind == "forward" and marked:
            for _, status in event.receivers:
                found |= status.mode
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("net = Net()\nnet(MARK)\n", Mode.FRESH, id="fresh"),
        pytest.param("net = Net()\nnet.train()\nnet(MARK)\n", Mode.TRAIN, id="train"),
        pytest.param("net = Net()\nnet.eval()\nnet(MARK)\n", Mode.EVAL, id="eval"),
        pytest.param("net = Net()\nnet.train(False)\nnet(MARK)\n", Mode.EVAL, id="train(False)"),
        pytest.param("net = Net().to(d).eval()\nnet(MARK)\n", Mode.EVAL, id="eval in the chain"),
        pytest.param("net = nn.DataParallel(Net())\nnet.module.eval()\nnet(MARK)\n", Mode.EVAL, id="through a wrapper"),
        pytest.param("net = Net()\nother = net\nother.eval()\nnet(MARK)\n", Mode.EVAL, id="under another name"),
        pytest.param("net = Net().eval()\ncopied = copy.deepcopy(net)\nnet.train()\ncopied(MARK)\n", Mode.EVAL, id="a copy keeps its mode"),
        pytest.param("net = Net()\nif c:\n    net.eval()\nnet(MARK)\n", Mode.FRESH | Mode.EVAL, id="one branch"),
        pytest.param("net = Net()\nif c:\n    net.eval()\nelse:\n    net.train()\nif c:\n    net(MARK)\n", Mode.EVAL, id="the same condition again"),
        pytest.param("net = Net()\nif c:\n    net.eval()\nelse:\n    net.train()\nif not c:\n    net(MARK)\n", Mode.TRAIN, id="its negation"),
        pytest.param("net = Net()\nfor p in ('train', 'val'):\n    net.train(p == 'train')\n    if p == 'val':\n        net(MARK)\n", Mode.EVAL, id="phases"),
        pytest.param("net = Net()\nfor e in r:\n    net(MARK)\n    net.eval()\n", Mode.FRESH | Mode.EVAL, id="the end of a loop reaches its start"),
        pytest.param("net = Net()\nwas = net.training\nnet.eval()\nnet.train(was)\nnet(MARK)\n", Mode.FRESH, id="the earlier mode given back"),
        pytest.param("net = Net()\ntry:\n    net.eval()\nfinally:\n    net(MARK)\n", Mode.EVAL, id="finally"),
        pytest.param("def off(m):\n    m.eval()\nnet = Net()\noff(net)\nnet(MARK)\n", Mode.EVAL, id="a helper"),
        pytest.param("def make():\n    return Net().eval(), 1\nnet, n = make()\nnet(MARK)\n", Mode.EVAL, id="one of several results"),
        pytest.param("def make():\n    return Net()\na, net = make(), make()\na.eval()\nnet(MARK)\n", Mode.FRESH, id="two objects of one factory"),
        pytest.param("def run(m, train=True):\n    m.train(train)\n    m(MARK)\nrun(Net(), train=False)\n", Mode.EVAL, id="a flag of the call"),
        pytest.param("def run(m, train=True):\n    m.train(train)\n    m(MARK)\nrun(Net())\n", Mode.TRAIN, id="its default"),
        pytest.param("def run(net):\n    net(MARK)\n", Mode.ENTRY, id="callers out of sight"),
        pytest.param("net = Net()\nfor m in net.modules():\n    m.train()\nnet(MARK)\n", Mode.FRESH | Mode.PARTIAL, id="layers one by one"),
        pytest.param("net = load()\nnet(MARK)\n", Mode.OPAQUE, id="a function out of sight"),
        pytest.param("net = Net()\nevaluate(net)\nnet(MARK)\n", Mode.FRESH | Mode.OPAQUE, id="handed to one that may switch it"),
        pytest.param("for a in b:\n    net = Net()\n    net(MARK)\n    net.eval()\n", Mode.FRESH, id="made anew in each round"),
        pytest.param("@contextlib.contextmanager\ndef off(m):\n    m.eval()\n    yield\n    m.train()\nnet = Net()\nwith off(net):\n    net(MARK)\n", Mode.EVAL, id="inside a context manager"),
        pytest.param("@contextlib.contextmanager\ndef off(m):\n    m.eval()\n    yield\n    m.train()\nnet = Net()\nwith off(net):\n    pass\nnet(MARK)\n", Mode.TRAIN, id="behind it"),
        pytest.param("class T:\n    def __init__(self):\n        self.net = Net()\n        self.net.eval()\n    def run(self):\n        self.net(MARK)\nT().run()\n", Mode.EVAL, id="an attribute"),
        pytest.param("if __name__ == '__main__':\n    net = Net()\n    net.eval()\n    net(MARK)\n", Mode.EVAL, id="the main guard"),
    ],
)  # fmt: skip
def test_mode(text: str, expected: Mode) -> None:
    assert mode(text) == expected


def test_regions_follow_calls() -> None:
    text = "def helper(m):\n    m(MARK)\nnet = Net()\nwith torch.no_grad():\n    helper(net)\nhelper(net)\n"
    source = read_source("module.py", (HEAD + text).encode())
    program = Program(source, parse(source))
    regions = [e.region for e in program.flow.events if e.kind == "forward"]
    assert [r is not None for r in regions] == [True, False]


def test_recursion_and_long_sums_end() -> None:
    terms = " + ".join(["x"] * 900)
    source = read_source("module.py", f"def f(x):\n    f(x)\n    return f\nf(1)\ny = {terms}\n".encode())
    program = Program(source, parse(source))
    assert program.flow.events == []


def test_nothing_is_noted_behind_what_was_left_unseen(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "net = Net()\n" + "a = 1\n" * 20 + "net.eval()\nnet(MARK)\ndef use():\n    net(MARK)\n"
    assert mode(text) == Mode.EVAL | Mode.ENTRY
    monkeypatch.setattr(flow, "_BUDGET", 10)
    assert mode(text) == Mode.ENTRY, "the module was not followed to its end, so its model is as somebody left it"


def test_a_call_too_deep_to_follow_may_have_switched_its_model() -> None:
    text = "def f0(m):\n    m.eval()\n" + "".join(f"def f{i}(m):\n    f{i - 1}(m)\n" for i in range(1, 12))
    assert mode(text + "net = Net()\nf11(net)\nnet(MARK)\n") & (Mode.OPAQUE | Mode.EVAL)
