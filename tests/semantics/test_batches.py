"""Which loader a batch comes from, and where it goes."""

from __future__ import annotations

import pytest

from torchlint.semantics.batches import transfers
from torchlint.semantics.pinning import Pinned, pinned, waits
from torchlint.semantics.program import Program, parse
from torchlint.source import read_source

HEAD = "import torch\nfrom torch.utils.data import DataLoader\nloader = DataLoader(data)\ndevice = 'cuda'\n"


def program(text: str, head: str = HEAD) -> Program:
    source = read_source("train.py", (head + text).encode())
    return Program(source, parse(source))


@pytest.mark.parametrize(
    "loop",
    [
        "for x, y in loader: x.to(device)",
        "for i, (x, y) in enumerate(loader): x.to(device)",
        "for x, y in tqdm(loader, desc='a'): x.cuda()",
        "for batch in loader: batch['x'].to(device)",
        "for batch in loader: [t.to(device) for t in batch]",
        "for batch in loader: {k: v.to(device) for k, v in batch.items()}",
        "for a, b in zip(loader, other): a.to(device)",
        "for batch in loader:\n    x, y = batch\n    x.to(device)",
        "x, y = next(iter(loader))\nx.to(device)",
        "def run(it):\n    for x in it: x.to(device)\nrun(loader)",
        "loaders = {'a': loader}\nfor x in loaders['a']: x.to(device)",
        "class T:\n    def __init__(self): self.l = DataLoader(d)\n"
        "    def run(self):\n        for x in self.l: x.cuda()",
    ],
)
def test_moves_of_batches(loop: str) -> None:
    found = transfers(program(loop))
    assert len(found) == 1
    assert len(found[0].loaders) == 1


@pytest.mark.parametrize(
    "loop",
    [
        "for x in unknown: x.to(device)",
        "for x in loader: x.float().to(device)",
        "for x in loader:\n    x = x + 1\n    x.to(device)",
        "for x in loader: x.to('cpu')",
        "for x in loader: x.to(torch.float16)",
        "for i, x in enumerate(loader): i.to(device)",
        "for a, b in zip(loader, other): b.to(device)",
        "def run(it):\n    for x in it: x.to(device)",
        "for x in (loader if a else unknown): x.to(device)",
    ],
)
def test_moves_of_other_things(loop: str) -> None:
    assert not transfers(program(loop))


def test_devices_of_files_that_never_speak_of_a_gpu() -> None:
    head = "from torch.utils.data import DataLoader\n"
    assert not transfers(program("def f(device):\n    for x in DataLoader(d): x.to(device)", head))


@pytest.mark.parametrize(
    ("argument", "expected"),
    [
        ("", Pinned.OMITTED),
        (", pin_memory=True", Pinned.YES),
        (", pin_memory=torch.cuda.is_available()", Pinned.YES),
        (", pin_memory=device == 'cuda'", Pinned.YES),
        (", pin_memory=False", Pinned.OTHER),
        (", pin_memory=args.pin", Pinned.OTHER),
        (", **options", Pinned.OTHER),
        (", 1, True, None, None, 0, None, True", Pinned.YES),
    ],
)
def test_pinning(argument: str, expected: Pinned) -> None:
    of = program(f"DataLoader(data{argument})")
    assert pinned(of, of.tree.calls[-1 if "is_available" not in argument else -2]) is expected


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("x.to(device)", True),
        ("x.cuda(0)", True),
        ("x.to(device, torch.float16)", True),
        ("x.to(device, non_blocking=True)", False),
        ("x.to(device, torch.float16, True)", False),
        ("x.to(device, True)", False),
        ("x.cuda(0, True)", False),
        ("x.to(device, **more)", False),
    ],
)
def test_copies_that_wait(call: str, expected: bool) -> None:
    of = program(call)
    assert waits(of, of.tree.calls[-1]) is expected
