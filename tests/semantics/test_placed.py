"""Data that lies on the accelerator before a loader gets it."""

from __future__ import annotations

import ast

import pytest

from torchlint.semantics.placed import on_device
from torchlint.semantics.program import Program, parse
from torchlint.source import read_source

HEAD = """
import torch
from torch.utils.data import ConcatDataset, Subset, TensorDataset, random_split

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
here, there = torch.randn(8), torch.randn(8).to(device)
first, second = random_split(TensorDataset(there), [4, 4])
"""


def data(text: str, before: str = "") -> bool:
    source = read_source("script.py", f"{HEAD}{before}\ndata = {text}\n".encode())
    program = Program(source, parse(source))
    statement = program.module.body[-1]
    assert isinstance(statement, ast.Assign)
    return on_device(program, statement.value)


@pytest.mark.parametrize(
    "text",
    [
        "there", "there.float()", "there[2:]", "here.cuda()", "here.to('cuda:1')", "torch.zeros(3, device=device)",
        "TensorDataset(here, there)", "Subset(TensorDataset(there), [0])", "first", "ConcatDataset([first, second])",
        "list(zip(here, there))", "[x.cuda() for x in here]", "here if small else there",
    ],
)  # fmt: skip
def test_on_the_device(text: str) -> None:
    assert data(text)


@pytest.mark.parametrize(
    "text",
    [
        "here", "here.float()", "there.cpu()", "there.to('cpu')", "there.cpu().numpy()", "torch.zeros(3, device='cpu')",
        "TensorDataset(here)", "Photos(root)", "unknown", "here.to(torch.float64)",
    ],
)  # fmt: skip
def test_in_host_memory_or_unknown(text: str) -> None:
    assert not data(text)


def test_the_default_device_counts_for_what_the_file_makes() -> None:
    assert data("torch.zeros(3)", before='torch.set_default_device("cuda")')
    assert not data("torch.zeros(3)")
