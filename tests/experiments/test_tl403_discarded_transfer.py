"""TL403: modules move in place, tensors do not, and then the two do not meet."""

from __future__ import annotations

from typing import Any

SCRIPT = "tl403_discarded_transfer.py"


def test_the_tensor_stays_behind_before_and_meets_the_module_after(lab: Any) -> None:
    text = lab.before(SCRIPT)
    run = lab.run(text)
    assert run.status != 0
    assert "meta" in run.errors
    assert "cpu" in run.errors
    after = lab.succeed(lab.fix(text, "TL403", unsafe=False))
    assert after == {"module": "meta", "tensor": "meta", "output": "meta"}


IN_PLACE = """
import json
import torch
from torch import nn

module, tensor = nn.Linear(1, 1), torch.ones(1)
module.to(torch.float64)
tensor.to(torch.float64)
tensor.detach()
print(json.dumps({"module": str(module.weight.dtype), "tensor": str(tensor.dtype)}))
"""


def test_conversions_are_in_place_for_modules_alone(lab: Any) -> None:
    assert lab.succeed(IN_PLACE) == {"module": "torch.float64", "tensor": "torch.float32"}
