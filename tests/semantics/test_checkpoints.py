"""Which calls load a checkpoint, and what becomes of what they load."""

from __future__ import annotations

import pytest

from torchlint.semantics.checkpoints import is_published, is_round_trip, is_unmapped, loads, misplaced, misspelt
from torchlint.semantics.loaded import Use, use_of
from torchlint.semantics.program import Program, parse
from torchlint.source import read_source

HEAD = "import io\nimport torch\nfrom functools import partial\n"


def program(text: str) -> Program:
    source = read_source("script.py", (HEAD + text).encode())
    return Program(source, parse(source))


@pytest.mark.parametrize(
    ("text", "unmapped"),
    [
        ("torch.load(p)", [True]),
        ("torch.load(p, 'cpu')", [False]),
        ("torch.load(p, None)", [True]),
        ("torch.load(p, map_location=None)", [True]),
        ("torch.load(p, map_location=where)", [False]),
        ("torch.load(*args)", [False]),
        ("torch.load(p, **options)", [False]),
        ("torch.load(p, **{'weights_only': True})", [True]),
        ("torch.hub.load_state_dict_from_url(u, 'folder')", [True]),
        ("torch.hub.load_state_dict_from_url(u, 'folder', 'cpu')", [False]),
        ("read = partial(torch.load, weights_only=True)\nread(p)", [True]),
        ("read = partial(torch.load, map_location='cpu')\nread(p)", [False]),
        ("read = partial(torch.load, weights_only=True)\nread(p, 'cpu')", [False]),
        ("from torch.jit import load\nload(p)", [True]),
        ("from numpy import load\nload(p)", []),
        ("trainer.load(p)", []),
        ("torch.load = other\ntorch.load(p)", []),
    ],
)
def test_loads(text: str, unmapped: list[bool]) -> None:
    of = program(text)
    assert [is_unmapped(of, load) for load in loads(of)] == unmapped


@pytest.mark.parametrize(
    ("word", "wrong"),
    [
        ("map_locaton", True),
        ("device", True),
        ("maplocation", True),
        ("mmap", False),
        ("weights_only", False),
        ("encoding", False),
    ],
)
def test_misspelt_keywords(word: str, wrong: bool) -> None:
    (load,) = loads(program(f"torch.load(p, {word}=x)"))
    assert (misspelt(load) is not None) == wrong


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("net.load_state_dict(torch.load(p), map_location='cpu')", True),
        ("net.load_state_dict(torch.load(p)['net'], map_location='cpu')", True),
        ("saved = torch.load(p)\nnet.load_state_dict(saved, map_location='cpu')", True),
        ("net.load_state_dict(torch.load(p), strict=False)", False),
        ("restore(torch.load(p), map_location='cpu')", False),
    ],
)
def test_misplaced_locations(text: str, found: bool) -> None:
    of = program(text)
    (load,) = loads(of)
    assert (misplaced(of, load) is not None) == found


@pytest.mark.parametrize(
    ("address", "published"),
    [
        ("'https://download.pytorch.org/models/resnet18.pth'", True),
        ("'https://weights.example.org/net.pth'", False),
        ("f'https://weights.example.org/{name}.pth'", False),
        ("'https://weights.example.org/' + name", False),
        ("{'a': 'https://weights.example.org/a.pth'}[name]", False),
        ("address", True),
        ("ADDRESSES[name]", True),
    ],
)
def test_published_weights(address: str, published: bool) -> None:
    of = program(f"torch.hub.load_state_dict_from_url({address})")
    (load,) = loads(of)
    assert is_published(of, load) == published


def test_round_trips() -> None:
    of = program("b = io.BytesIO()\ntorch.save(x, b)\ntorch.load(b)\ntorch.load(io.BytesIO(data))\n")
    assert [is_round_trip(of, load) for load in loads(of)] == [True, False]


@pytest.mark.parametrize(
    ("text", "use"),
    [
        ("net.load_state_dict(torch.load(p))", Use.STATE),
        ("net.load_state_dict(torch.load(p)['model'])", Use.STATE),
        ("saved = torch.load(p)\nnet.load_state_dict(saved['model'])\nepoch = saved['epoch'] + 1", Use.STATE),
        (
            "saved = torch.load(p)\nsaved = saved['net'] if 'net' in saved else saved\nnet.load_state_dict(saved)",
            Use.STATE,
        ),
        ("saved = torch.load(p)\nnet.load_state_dict({k[7:]: v for k, v in saved.items()})", Use.STATE),
        (
            "saved = torch.load(p)\nnew = {}\nfor k, v in saved.items():\n    new[k] = v\nnet.load_state_dict(new)",
            Use.STATE,
        ),
        (
            "s = torch.load(p)\nfor k in list(s.keys()):\n    s[k[1:]] = s.pop(k)\nnet.load_state_dict(s)",
            Use.STATE,
        ),
        ("own = net.state_dict()\nown.update(torch.load(p))\nnet.load_state_dict(own)", Use.STATE),
        ("net = torch.load(p)\nnet(x)", Use.DIRECT),
        ("torch.load(p).eval()(x)", Use.DIRECT),
        ("images = torch.load(p)['images']\nplot(images)", Use.DIRECT),
        ("def f(p):\n    return torch.load(p)", Use.UNSEEN),
        ("restore(net, torch.load(p))", Use.UNSEEN),
        ("class A:\n    def f(self, p):\n        self.saved = torch.load(p)", Use.UNSEEN),
    ],
)
def test_uses(text: str, use: Use) -> None:
    of = program(text)
    (load,) = loads(of)
    assert use_of(of, load.call) is use
