"""Which tensors a network makes on the CPU although they meet its input."""

from __future__ import annotations

import pytest

from torchlint.semantics.program import Program, parse
from torchlint.semantics.strays import strays
from torchlint.source import read_source

NET = """
import torch
import torch.nn.functional as F
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def {method}(self, x: torch.Tensor, count: int):
        {body}
"""


def partners(body: str, method: str = "forward", head: str = "") -> list[str]:
    """What each stray tensor meets."""
    source = read_source("net.py", (head + NET.format(body=body, method=method)).encode())
    return [each.partner for each in strays(Program(source, parse(source)))]


@pytest.mark.parametrize(
    "body",
    [
        "return x + torch.ones(3)",
        "return self.layer(x) * torch.ones(3).view(1, 3)",
        "y = torch.zeros(3); z = F.relu(self.layer(x)); return z - y",
        "return torch.cat([x[:, 1:], torch.zeros(3, 1)])",
        "return x.mean(1) @ torch.tensor([1.0, 2.0])",
    ],
)
def test_met(body: str) -> None:
    assert partners(body) == ["x"]


@pytest.mark.parametrize(
    "body",
    [
        "return x + torch.ones(3, device=x.device)",
        "return x + torch.ones(3).to(x)",
        "return x + torch.tensor(1.0)",
        "return count + torch.ones(3)",
        "return x[torch.arange(3)]",
        "return x.size(0) * torch.ones(3)",
        "return torch.ones(3)",
    ],
)
def test_placed_or_not_met(body: str) -> None:
    assert partners(body) == []


def test_only_forward_of_networks_without_a_default_device() -> None:
    assert partners("return x + torch.ones(3)", method="other") == []
    assert partners("return x + torch.ones(3)", head="import torch\ntorch.set_default_device('cuda')\n") == []
