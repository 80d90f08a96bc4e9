"""TL503: a pickled model opens only beside its class, and not by default. There is no fix, so the cure is written out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

SAVE = """
import json, sys, types
import torch
from torch import nn

shop = types.ModuleType("shop")
exec("from torch import nn\\nclass Net(nn.Linear):\\n    pass", shop.__dict__)
shop.Net.__module__ = "shop"
sys.modules["shop"] = shop
model = shop.Net(1, 1)
torch.save(model, sys.argv[1])
torch.save(model.state_dict(), sys.argv[1] + ".state")
print(json.dumps({}))
"""

LOAD = """
import json, sys
import torch

found = {}
for name, arguments in {"default": {}, "trusted": {"weights_only": False}}.items():
    try:
        torch.load(sys.argv[1], **arguments)
        found[name] = ""
    except Exception as error:
        found[name] = type(error).__name__
model = torch.nn.Linear(1, 1)
model.load_state_dict(torch.load(sys.argv[1] + ".state"))
print(json.dumps(found))
"""


def test_the_model_does_not_open_without_its_class_and_the_state_does(lab: Any, tmp_path: Path) -> None:
    path = tmp_path / "model.pt"
    lab.succeed(SAVE, path)
    assert lab.succeed(LOAD, path) == {"default": "UnpicklingError", "trusted": "ModuleNotFoundError"}
