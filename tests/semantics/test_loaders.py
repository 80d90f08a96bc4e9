"""Loaders and their workers, datasets in memory, what workers would break, and what runs on import."""

from __future__ import annotations

import ast

import pytest

from torchlint.semantics.datasets import in_memory
from torchlint.semantics.guards import iterated_on_import, runs_on_import
from torchlint.semantics.hazards import Hazard
from torchlint.semantics.loaders import loader_argument, loaders
from torchlint.semantics.program import Program, parse
from torchlint.semantics.workers import hazards
from torchlint.source import read_source

HEAD = """
import numpy as np
import torch
from torch.utils.data import *
from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset
from torchvision.datasets import ImageFolder
"""


def program(text: str) -> Program:
    source = read_source("script.py", (HEAD + text).encode())
    return Program(source, parse(source))


@pytest.mark.parametrize(
    ("text", "none"),
    [
        ("DataLoader(d)", [True]),
        ("DataLoader(d, num_workers=0)", [True]),
        ("DataLoader(d, 1, True, None, None, 0)", [True]),
        ("DataLoader(d, num_workers=int(0))", [True]),
        ("n = 0\nDataLoader(d, num_workers=n)", [True]),
        ("n = 0\nif big:\n    n = 4\nDataLoader(d, num_workers=n)", [False]),
        ("DataLoader(d, num_workers=args.workers)", [False]),
        ("DataLoader(d, **{'num_workers': 0})", [True]),
        ("DataLoader(d, **options)", [False]),
        ("class A(DataLoader):\n    pass\nA(d)", [True]),
        ("class A(DataLoader):\n    def __init__(self, *a, **k):\n        super().__init__(*a, **k)\nA(d)", [True]),
        ("class A(DataLoader):\n    def __init__(self, d):\n        super().__init__(d, num_workers=4)\nA(d)", []),
        ("class DataLoader:\n    pass\nDataLoader(d)", []),
        ("kind = DataLoader if plain else Other\nkind(d)", []),
        ("torch.utils.data.DataLoader(d)", [True]),
        ("make_loader(d)", []),
    ],
)
def test_workers(text: str, none: list[bool]) -> None:
    assert [loader.no_workers for loader in loaders(program(text)) if loader.call.args] == none


def test_where_the_zero_is_written() -> None:
    of = program("options = {'num_workers': 0}\nDataLoader(d, **options)")
    (loader,) = loaders(of)
    assert [of.source.line(zero.lineno) for zero in loader.zeros] == ["options = {'num_workers': 0}"]


@pytest.mark.parametrize(
    "text",
    [
        "d = TensorDataset(x)",
        "d = [(1, 2)]",
        "d = list(zip(x, y))",
        "d = torch.randn(4, 4)",
        "d = torch.from_numpy(np.load('x.npz')['a']).float()",
        "d, e = torch.utils.data.random_split(TensorDataset(x), [1, 2])",
        "d = TensorDataset(x) if a else TensorDataset(y)",
        "def make():\n    return TensorDataset(x)\nd = make()",
        "class A(Dataset):\n    def __init__(self, x):\n        self.x = x\n    def __getitem__(self, i):\n"
        "        return self.x[i]\nd = A(torch.zeros(4))",
    ],
)
def test_data_in_memory(text: str) -> None:
    of = program(f"{text}\nDataLoader(d)")
    dataset = loader_argument(of, _loader(of), "dataset")
    assert dataset is not None
    assert in_memory(of, dataset)


@pytest.mark.parametrize(
    "text",
    [
        "d = ImageFolder('x')",
        "d = np.load('x.npy', mmap_mode='r')",
        "d = ConcatDataset([ImageFolder('x'), ImageFolder('y')])",
        "d = TensorDataset(x) if a else ImageFolder('x')",
        "d = load()",
        "class A(Dataset):\n    def __init__(self, x):\n        self.x = x\n    def __getitem__(self, i):\n"
        "        return self.x[i]\nd = A(unknown)",
        "class A(Dataset):\n    def __init__(self, x):\n        self.x = x\n    def __getitem__(self, i):\n"
        "        return read(self.x[i])\nd = A(['a', 'b'])",
    ],
)
def test_data_that_may_be_read(text: str) -> None:
    of = program(f"{text}\nDataLoader(d)")
    dataset = loader_argument(of, _loader(of), "dataset")
    assert dataset is not None
    assert not in_memory(of, dataset)


GET = "    def __getitem__(self, i):\n        return read(self.x, i)\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("DataLoader(d, collate_fn=lambda b: b)", {Hazard.LOCAL}),
        ("DataLoader(A(key=lambda x: x), num_workers=0)", set()),
        ("DataLoader(ImageFolder('x', transform=T.Lambda(lambda x: x)))", set()),
        ("import T\nDataLoader(ImageFolder('x', transform=T.Lambda(lambda x: x)))", {Hazard.LOCAL}),
        ("DataLoader(sorted(names, key=lambda x: x))", set()),
        ("DataLoader(raw.map(lambda x: x))", set()),
        (
            f"class A(Dataset):\n    def __init__(self, p):\n        self.x = open(p)\n{GET}DataLoader(A('x'))",
            {Hazard.HANDLE},
        ),
        (
            f"class A(Dataset):\n    def __init__(self, p):\n        self.x = open(p).read()\n{GET}DataLoader(A('x'))",
            set(),
        ),
        (
            f"import h5py\nclass A(Dataset):\n    def __init__(self, p):\n        self.x = h5py.File(p)['x']\n{GET}"
            "DataLoader(A(1))",
            {Hazard.DATABASE},
        ),
        (
            f"import h5py\nclass A(Dataset):\n    def __init__(self, p):\n        self.x = h5py.File(p)['x'][:]\n{GET}"
            "DataLoader(A(1))",
            set(),
        ),
        ("class A(Dataset):\n    def __getitem__(self, i):\n        self.n = i\nDataLoader(A())", {Hazard.STATE}),
        ("class A(Dataset):\n    def __getitem__(self, i):\n        self.c[i] = 1\nDataLoader(A())", {Hazard.STATE}),
        ("class A(Dataset):\n    def __getitem__(self, i):\n        self.c.append(i)\nDataLoader(A())", {Hazard.STATE}),
        (
            "class A(Dataset):\n    def r(self, i):\n        self.n = i\n    def __getitem__(self, i):\n"
            "        return self.r(i)\nDataLoader(A())",
            {Hazard.STATE},
        ),
        ("class A(Dataset):\n    def __getitem__(self, i):\n        return x.cuda()\nDataLoader(A())", {Hazard.CUDA}),
        ("class A(Dataset):\n    def __getitem__(self, i):\n        return x.to('cpu')\nDataLoader(A())", set()),
        ("class A(IterableDataset):\n    def __iter__(self):\n        yield 1\nDataLoader(A())", {Hazard.REPLAYED}),
        (
            "class A(IterableDataset):\n    def __iter__(self):\n        w = torch.utils.data.get_worker_info()\n"
            "        yield w\nDataLoader(A())",
            set(),
        ),
    ],
)
def test_hazards(text: str, expected: set[Hazard]) -> None:
    of = program(text)
    call = _loader(of)
    assert {hazard for hazard, _ in hazards(of, call, loader_argument(of, call, "dataset"))} == expected


@pytest.mark.parametrize(
    ("text", "runs"),
    [
        ("mark()", True),
        ("if __name__ == '__main__':\n    mark()", False),
        ("if '__main__' == __name__ and ready:\n    mark()", False),
        ("if __name__ == '__main__':\n    pass\nelse:\n    mark()", True),
        ("def f():\n    mark()", False),
        ("def f():\n    mark()\nf()", True),
        ("def f():\n    mark()\ndef g():\n    f()\ng()", True),
        ("def f():\n    mark()\nif __name__ == '__main__':\n    f()", False),
        ("class A:\n    def __init__(self):\n        mark()\nA()", True),
        ("class A:\n    def run(self):\n        mark()\na = A()\na.run()", True),
        ("class A:\n    def run(self):\n        mark()", False),
    ],
)
def test_what_runs_on_import(text: str, runs: bool) -> None:
    of = program(text)
    call = next(c for c in of.tree.calls if isinstance(c.func, ast.Name) and c.func.id == "mark")
    assert runs_on_import(of, call) == runs


@pytest.mark.parametrize(
    ("text", "iterated"),
    [
        ("l = DataLoader(d)", False),
        ("l = DataLoader(d)\nfor x in l:\n    pass", True),
        ("for x in DataLoader(d):\n    pass", True),
        ("l = DataLoader(d)\ndef f():\n    for x in l:\n        pass", False),
        ("l = DataLoader(d)\ndef f():\n    for x in l:\n        pass\nf()", True),
        ("l = DataLoader(d)\nif __name__ == '__main__':\n    for x in l:\n        pass", False),
    ],
)
def test_iteration_on_import(text: str, iterated: bool) -> None:
    of = program(text)
    assert iterated_on_import(of, _loader(of)) == iterated


def _loader(of: Program) -> ast.Call:
    return next(loader.call for loader in loaders(of))
