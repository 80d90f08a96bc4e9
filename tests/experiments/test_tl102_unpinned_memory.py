"""TL102: what can be shown without a GPU: the fix is a no-op there, and a literal True is not.

That a copy from pinned memory runs beside the computation takes a GPU to see, and is not shown here.
"""

from __future__ import annotations

from typing import Any

SCRIPT = "tl102_unpinned_memory.py"


def test_the_fix_changes_nothing_without_a_gpu(lab: Any) -> None:
    text = lab.before(SCRIPT)
    fixed = lab.fix(text, "TL102", unsafe=False)
    before, after = lab.run(text), lab.run(fixed)
    assert before.result == after.result == {"seen": [[0, 1, 2, 3], [4, 5, 6, 7]], "asked": False, "gpu": False}
    assert after.errors == "", "no warning about a missing accelerator"


def test_a_literal_true_warns_without_a_gpu(lab: Any) -> None:
    fixed = lab.fix(lab.before(SCRIPT), "TL102", unsafe=False)
    literal = fixed.replace("pin_memory=torch.cuda.is_available()", "pin_memory=True")
    assert literal != fixed
    assert "no accelerator is found" in lab.run(literal).errors


ASKED = """
import json
import torch
from torch.utils.data import DataLoader

torch.cuda.is_available = lambda: True
loader = DataLoader([1, 2], pin_memory=torch.cuda.is_available())
print(json.dumps({"asked": loader.pin_memory}))
"""


def test_with_a_gpu_the_loader_is_asked_to_pin(lab: Any) -> None:
    assert lab.succeed(ASKED) == {"asked": True}
