"""Which networks behave differently in train and eval mode."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from torchlint.semantics import layers
from torchlint.semantics.program import Program, parse
from torchlint.semantics.project import Definition, Project
from torchlint.semantics.torch_layers import Dependence
from torchlint.source import read_source

HEAD = "import torch\nfrom torch import nn\nimport torch.nn.functional as F\nfrom torchvision import models\n"


def of(expression: str, before: str = "") -> Dependence:
    source = read_source("module.py", f"{HEAD}{before}\nvalue = {expression}\n".encode())
    program = Program(source, parse(source))
    statement = program.module.body[-1]
    assert isinstance(statement, ast.Assign)
    return layers.of_expression(program, statement.value)


def of_class(body: str, project: Project | None = None, path: str = "module.py") -> Dependence:
    source = read_source(path, (HEAD + body).encode())
    program = Program(source, parse(source), project)
    return layers.of_class(Definition(program, program.tree.classes[-1]))


@pytest.mark.parametrize(
    "expression",
    [
        "nn.Dropout(0.5)",
        "nn.BatchNorm2d(8)",
        "nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.1))",
        "nn.Sequential(*[nn.Linear(2, 2), nn.BatchNorm1d(2)])",
        "nn.LSTM(2, 2, 2, dropout=0.3)",
        "nn.TransformerEncoderLayer(8, 2)",
        "nn.InstanceNorm2d(8, track_running_stats=True)",
        "nn.RReLU()",
        "nn.utils.spectral_norm(nn.Linear(2, 2))",
        "models.resnet18()",
        "nn.DataParallel(nn.Dropout(0.5)).to('cpu').eval()",
    ],
)
def test_depends(expression: str) -> None:
    assert of(expression) is Dependence.DEPENDS


@pytest.mark.parametrize(
    "expression",
    [
        "nn.Linear(2, 2)",
        "nn.Dropout(0)",
        "nn.BatchNorm2d(8, track_running_stats=False)",
        "nn.InstanceNorm2d(8)",
        "nn.LSTM(2, 2, 2)",
        "nn.MultiheadAttention(8, 2)",
        "nn.TransformerEncoderLayer(8, 2, dropout=0.0)",
        "nn.Sequential(nn.Linear(2, 2), nn.LayerNorm(2), nn.GELU())",
        "models.vit_b_16()",
        "nn.CrossEntropyLoss()",
        "nn.Sequential(*[nn.Linear(2, 2) for _ in range(3)])",
    ],
)
def test_does_not_depend(expression: str) -> None:
    assert of(expression) is Dependence.INDEPENDENT


@pytest.mark.parametrize("expression", ["load()", "torch.load(path)", "something.Net()", "given"])
def test_unseen(expression: str) -> None:
    assert of(expression) is Dependence.UNKNOWN


def test_a_function_that_hands_back_its_argument() -> None:
    before = "def initialised(layer):\n    nn.init.zeros_(layer.weight)\n    return layer\n"
    assert of("nn.Sequential(initialised(nn.Linear(2, 2)))", before) is Dependence.INDEPENDENT
    assert of("nn.Sequential(initialised(nn.Dropout()))", before) is Dependence.DEPENDS


NET = "class Net(nn.Module):\n    def __init__(self, part, width):\n        super().__init__()\n"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("        self.a = nn.Linear(width, 2)\n", Dependence.INDEPENDENT),
        ("        parts = []\n        for _ in range(3):\n            parts.append(nn.Linear(2, 2))\n        self.a = nn.Sequential(*parts)\n", Dependence.INDEPENDENT),
        ("        parts = []\n        parts += [nn.Dropout(0.2)]\n        self.a = nn.Sequential(*parts)\n", Dependence.DEPENDS),
        ("        self.a = part\n    def forward(self, x):\n        return self.a(x)\n", Dependence.UNKNOWN),
        ("        self.width = width\n    def forward(self, x):\n        return x\n", Dependence.INDEPENDENT),
        ("        pass\n    def forward(self, x):\n        return F.dropout(x, 0.5, self.training)\n", Dependence.DEPENDS),
        ("        pass\n    def forward(self, x):\n        return F.dropout(x, 0.5)\n", Dependence.INDEPENDENT),
        ("        pass\n    def forward(self, x):\n        return x * 2 if self.training else x\n", Dependence.DEPENDS),
    ],
)  # fmt: skip
def test_classes(body: str, expected: Dependence) -> None:
    assert of_class(NET + body) is expected


def test_classes_in_other_files(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "blocks.py").write_text(
        HEAD + "class Block(nn.Module):\n    def __init__(self):\n        self.n = nn.BatchNorm2d(3)\n"
    )
    here = str(tmp_path / "net.py")
    body = "from blocks import Block\nclass Net(nn.Module):\n    def __init__(self):\n        self.a = Block()\n"
    assert of_class(body, Project(str(tmp_path)), here) is Dependence.DEPENDS


def test_a_subclass_of_a_class_in_sight() -> None:
    body = "class Base(nn.Module):\n    def __init__(self):\n        self.d = nn.Dropout(0.1)\nclass Net(Base):\n    pass\n"
    assert of_class(body) is Dependence.DEPENDS
