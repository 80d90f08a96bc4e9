"""TL507: one object that is no plain data, and the checkpoint does not load."""

from __future__ import annotations

from pathlib import Path
from typing import Any

SCRIPT = "tl507_unplain_checkpoint.py"

LOAD = """
import json, sys
import torch

saved = torch.load(sys.argv[1], map_location="cpu")
print(json.dumps({"args": saved["args"], "best": saved["best"], "root": type(saved["root"]).__name__}))
"""


def test_the_checkpoint_does_not_load_before_and_does_after(lab: Any, tmp_path: Path) -> None:
    text = lab.before(SCRIPT)
    before, after = tmp_path / "before.pt", tmp_path / "after.pt"
    lab.succeed(text, before)
    run = lab.run(LOAD, before)
    assert run.status != 0
    assert "Weights only load failed" in run.errors
    lab.succeed(lab.fix(text, "TL507", unsafe=True), after)
    assert lab.succeed(LOAD, after) == {"args": {"path": str(after)}, "best": 1.5, "root": "str"}


TYPES = """
import argparse, collections, dataclasses, datetime, enum, io, json, pathlib, sys
import numpy as np
import torch

@dataclasses.dataclass
class Config:
    lr: float = 0.1

class Phase(enum.Enum):
    TRAIN = 1

REFUSED_VALUES = [
    argparse.Namespace(a=1), Config(), pathlib.Path('.'), np.mean([1.0]), np.array([1.0]), Phase.TRAIN,
    collections.defaultdict(int), collections.deque(), datetime.datetime.now(),
]
ACCEPTED_VALUES = [
    vars(argparse.Namespace(a=1)), dataclasses.asdict(Config()), str(pathlib.Path('.')), float(np.mean([1.0])),
    np.array([1.0]).tolist(), Phase.TRAIN.value, dict(collections.defaultdict(int)), list(collections.deque()),
    str(datetime.datetime.now()), collections.Counter(), collections.OrderedDict(), {1, 2}, b"x", torch.get_rng_state(),
]

def opens(value):
    buffer = io.BytesIO()
    torch.save({"value": value}, buffer)
    buffer.seek(0)
    try:
        torch.load(buffer)
    except Exception as error:
        assert "Weights only load failed" in str(error)
        return False
    return True

print(json.dumps({"refused": [opens(v) for v in REFUSED_VALUES], "accepted": [opens(v) for v in ACCEPTED_VALUES]}))
"""


def test_each_reported_type_is_refused_and_what_the_fixes_write_is_accepted(lab: Any) -> None:
    found = lab.succeed(TYPES)
    assert found == {"refused": [False] * 9, "accepted": [True] * 14}
