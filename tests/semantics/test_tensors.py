"""Which expressions certainly are tensors."""

from __future__ import annotations

import ast

import pytest

from torchlint.semantics.program import Program, parse
from torchlint.semantics.tensors import is_tensor
from torchlint.source import read_source

HEAD = """
import torch
import torch.nn.functional as F
from torch import nn, Tensor
"""


def tensor(body: str, value: str, parameters: str = "x, y") -> bool:
    """Whether ``value`` is a tensor at the end of a function with that body."""
    text = f"{HEAD}\ndef f({parameters}):\n    {body}\n    keep({value})\n"
    program = Program(read_source("a.py", text.encode()), parse(read_source("a.py", text.encode())))
    call = next(c for c in program.tree.calls if isinstance(c.func, ast.Name) and c.func.id == "keep")
    return is_tensor(program, call.args[0])


@pytest.mark.parametrize(
    ("body", "value", "parameters"),
    [
        ("z = torch.randn(3)", "z", "x"),
        ("z = torch.randn(3).reshape(1, 3)", "z[0]", "x"),
        ("z = torch.stack([x, x])", "-z", "x"),
        ("z = F.softmax(x, dim=0)", "z * 2", "x"),
        ("pass", "x", "x: torch.Tensor"),
        ("pass", "x", "x: Tensor | None"),
        ("x.unsqueeze(0)", "x", "x"),
        ("z = nn.Parameter(x)", "z", "x"),
        ("z = torch.zeros(3) if x else torch.ones(3)", "z", "x"),
    ],
)
def test_certainly(body: str, value: str, parameters: str) -> None:
    assert tensor(body, value, parameters)


@pytest.mark.parametrize(
    ("body", "value"),
    [
        ("pass", "x"),
        ("z = torch.load(x)", "z"),
        ("z = torch.device('cpu')", "z"),
        ("z = nn.Linear(2, 2)", "z"),
        ("z = x.numpy()", "z"),
        ("x = x.copy()\n    x.shape", "x"),
        ("z = torch.zeros(3) if y else x", "z"),
        ("z = 0\n    z += x", "z"),
    ],
)
def test_perhaps_not(body: str, value: str) -> None:
    assert not tensor(body, value)
