"""Which exports freeze a model in train mode."""

from __future__ import annotations

import pytest

from torchlint.semantics.exports import exported_in_train_mode
from torchlint.semantics.program import Program, parse
from torchlint.source import read_source


def rows(text: str) -> list[tuple[int | None, bool]]:
    head = "import torch\nfrom torch import nn\nm = nn.Sequential(nn.Dropout(0.5))\n"
    source = read_source("export.py", (head + text).encode())
    return [(found.row, found.seen) for found in exported_in_train_mode(Program(source, parse(source)))]


@pytest.mark.parametrize(
    ("text", "row"),
    [
        ("torch.jit.trace(m, x)", None),
        ("torch.jit.trace(func=m, example_inputs=x)", None),
        ("torch.export.export(m, (x,))", None),
        ("torch.onnx.export(m, (x,), 'a')", None),
        ("torch.onnx.export(m, (x,), 'a', dynamo=True)", None),
        ("m.eval()\nm.train()\ntorch.jit.trace(m, x)", 5),
    ],
)
def test_frozen_in_train_mode(text: str, row: int | None) -> None:
    assert rows(text) == [(row, True)]


@pytest.mark.parametrize(
    "text",
    [
        "m.eval()\ntorch.jit.trace(m, x)",
        "torch.jit.trace(m.eval(), x)",
        "torch.jit.script(m)",
        "torch.onnx.export(m, (x,), 'a', dynamo=False)",
        "torch.onnx.export(m, (x,), 'a', training=mode)",
        "torch.onnx.export(m, (x,), 'a', dynamo=new)",
        "torch.jit.trace(lambda x: x, x)",
    ],
)
def test_evaluated_or_not_frozen(text: str) -> None:
    assert rows(text) == []
