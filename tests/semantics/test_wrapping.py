"""Which wrappers stand around a model, and whether the file takes them off."""

from __future__ import annotations

import ast

import pytest

from torchlint.semantics.program import Program, parse
from torchlint.semantics.wrapping import loaded_wrapped, told_apart, wrapped
from torchlint.source import read_source

HEAD = "import torch\nfrom torch import nn\nfrom torch.nn.parallel import DistributedDataParallel as DDP\n"


def program(text: str) -> Program:
    source = read_source("model.py", (HEAD + text).encode())
    return Program(source, parse(source))


def state(of: Program) -> tuple[ast.Call, ast.expr]:
    """The last ``state_dict()`` call and its receiver."""
    calls = [c for c in of.tree.calls if isinstance(c.func, ast.Attribute) and c.func.attr == "state_dict"]
    assert isinstance(calls[-1].func, ast.Attribute)
    return calls[-1], calls[-1].func.value


@pytest.mark.parametrize(
    ("text", "chains", "certain"),
    [
        ("m = nn.DataParallel(net)", [("module",)], True),
        ("m = net\nm = DDP(m).cuda()", [("module",)], True),
        ("m = net\nif many:\n    m = nn.DataParallel(m)", [("module",)], False),
        ("m = nn.DataParallel(net) if many else net", [("module",)], False),
        ("m = torch.compile(net)", [("_orig_mod",)], True),
        ("m = torch.compile(DDP(net))", [("_orig_mod", "module")], True),
        ("m = torch.compile(net) if fast else DDP(net)", [("_orig_mod",), ("module",)], True),
    ],
)
def test_wrappings(text: str, chains: list[tuple[str, ...]], certain: bool) -> None:
    of = program(f"{text}\nm.state_dict()\n")
    found = wrapped(of, state(of)[1])
    assert found is not None
    assert (list(found.chains), found.certain) == (chains, certain)


@pytest.mark.parametrize(
    "text",
    [
        "m = net",
        "m = make()",
        "m = DDP(net).module",
        "w = DDP(net)\nm = w.module if many else w",
        "m = DDP(net)\nif hasattr(m, 'module'):\n    m = m.module",
    ],
)
def test_bare_models(text: str) -> None:
    of = program(f"{text}\nm.state_dict()\n")
    assert wrapped(of, state(of)[1]) is None


def test_parameters_are_what_the_calls_pass() -> None:
    of = program("def save(m):\n    m.state_dict()\nsave(DDP(net))\n")
    assert wrapped(of, state(of)[1]) is not None
    unknown = program("def save(m):\n    m.state_dict()\n")
    assert wrapped(unknown, state(unknown)[1]) is None


def test_the_last_assignment_of_a_constructor_counts() -> None:
    of = program(
        "class T:\n    def __init__(self, m):\n        self.m = m\n        self.m = DDP(self.m)\n"
        "    def save(self):\n        self.m.state_dict()\n"
    )
    found = wrapped(of, state(of)[1])
    assert found is not None
    assert found.certain


def test_a_branch_may_know() -> None:
    asked = program("m = DDP(net) if many else net\nif many:\n    m.module\nelse:\n    m.state_dict()\n")
    assert told_apart(asked, *state(asked))
    other = program("m = DDP(net) if many else net\nif rank == 0:\n    m.state_dict()\n")
    assert not told_apart(other, *state(other))


def test_files_that_load_with_the_prefix_or_take_it_off() -> None:
    assert loaded_wrapped(program("m = DDP(net)\nm.load_state_dict(s)\n"))
    assert loaded_wrapped(program("s = {k.replace('module.', ''): v for k, v in s.items()}\n"))
    assert not loaded_wrapped(program("# keys get the prefix 'module.'\nm = DDP(net)\n"))
    assert not loaded_wrapped(program("net.load_state_dict(s)\nm = DDP(net)\n"))
