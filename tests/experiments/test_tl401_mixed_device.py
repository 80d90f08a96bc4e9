"""TL401: `.cuda()` beside `.to(device)` ties a portable script to machines with CUDA; the fix sets it free again."""

from __future__ import annotations

from typing import Any

SCRIPT = "tl401_mixed_device.py"

# With this in front, `.cuda()` works without CUDA, so that the script can be run before the fix as well.
STAND_IN = """
import torch

def _stay(self, device=None, non_blocking=False, memory_format=torch.preserve_format):
    return self

torch.Tensor.cuda = _stay
torch.nn.Module.cuda = _stay
"""


def test_without_cuda_the_script_crashes_before_and_trains_after(lab: Any) -> None:
    text = lab.before(SCRIPT)
    run = lab.run(text)
    assert run.status != 0
    # A build without CUDA raises AssertionError, one with CUDA but without a GPU RuntimeError.
    assert "AssertionError" in run.errors or "RuntimeError" in run.errors
    assert ".cuda()" in run.errors
    after = lab.succeed(lab.fix(text, "TL401", unsafe=False))
    assert after["device"] == "cpu"
    assert len(after["losses"]) == 5


def test_where_the_script_ran_before_it_trains_to_the_same_losses_after(lab: Any) -> None:
    text = lab.before(SCRIPT)
    assert lab.succeed(STAND_IN + text) == lab.succeed(lab.fix(text, "TL401", unsafe=False))


CURRENT_DEVICE = """
import json
import torch

device = torch.device("meta")
kept = []

def _record(self, device=None, **_):
    kept.append(device)
    return self

torch.Tensor.cuda = _record
x = torch.zeros(2).to(device)
y = torch.zeros(2).cuda()
try:
    x + y
    error = ""
except RuntimeError as caught:
    error = str(caught)
print(json.dumps({"asked_for": kept, "x": str(x.device), "y": str(y.device)}))
"""


def test_cuda_without_index_never_looks_at_the_device_variable(lab: Any) -> None:
    result = lab.succeed(CURRENT_DEVICE)
    assert result == {"asked_for": [None], "x": "meta", "y": "cpu"}
