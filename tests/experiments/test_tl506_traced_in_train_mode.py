"""TL506: what is traced in train mode keeps its dropout for ever."""

from __future__ import annotations

from typing import Any

SCRIPT = "tl506_traced_in_train_mode.py"


def test_the_exported_program_is_random_before_and_not_after(lab: Any) -> None:
    text = lab.before(SCRIPT)
    assert lab.succeed(text) == {"same": False}
    assert lab.succeed(lab.fix(text, "TL506", unsafe=False)) == {"same": True}


TRACED = """
import json, warnings
import torch
from torch import nn

warnings.simplefilter("ignore")
x = torch.ones(4, 8)

def same(module):
    return torch.equal(module(x), module(x))

train, evaluated = nn.Dropout(0.5), nn.Dropout(0.5).eval()
late = torch.jit.trace(train, x, check_trace=False)
late.eval()
script = torch.jit.script(nn.Dropout(0.5))
script.eval()
before = torch.jit.trace(evaluated, x)
print(json.dumps({"eval() after": same(late), "eval() before": same(before), "script": same(script)}))
"""


def test_eval_after_tracing_comes_too_late(lab: Any) -> None:
    assert lab.succeed(TRACED) == {"eval() after": False, "eval() before": True, "script": True}
