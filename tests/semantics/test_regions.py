"""The cheap look at stretches without gradients hides nothing that following the models would find."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchlint.semantics.evalmode import exposures, followed_exposures
from torchlint.semantics.program import Program, parse
from torchlint.semantics.project import Project
from torchlint.semantics.regions import regions_of_interest
from torchlint.source import SourceError, read_source

FIXTURES = Path(__file__).parent.parent.parent / "fixtures"


def program(text: str, path: str = "a.py") -> Program:
    source = read_source(path, text.encode())
    return Program(source, parse(source))


def test_no_exposure_of_a_fixture_is_hidden() -> None:
    seen = 0
    for path in sorted(FIXTURES.glob("*/**/*.py")):
        try:
            source = read_source(str(path), path.read_bytes())
            each = Program(source, parse(source), Project(str(path.parent)))
        except SourceError:
            continue
        every = list(followed_exposures(each))
        seen += len(every)
        assert len(list(exposures(each))) == len(every), path
    assert seen > 20, "the fixtures must hold exposures, or this shows nothing"


@pytest.mark.parametrize(
    ("body", "interesting"),
    [
        ("self.weight.copy_(other)", False),
        ("weight.uniform_(-1, 1).mul_(scale)", False),
        ("average.lerp_(torch.zeros(3), 0.1)", False),
        ("loss = criterion(outputs, labels)", False),
        ("outputs = model(images)", True),
        ("outputs = trainer.run(images)", True),
        ("outputs = helper(model)", True),
        ("outputs = models[0](images)", True),
    ],
)
def test_what_may_run_a_network(body: str, interesting: bool) -> None:
    text = (
        "import torch\n\ndef helper(net):\n    return net(1)\n\n"
        f"def work(self, weight, other, average, model, models, trainer, criterion):\n    with torch.no_grad():\n        {body}\n"
    )
    assert bool(list(regions_of_interest(program(text)))) is interesting
