"""TL402: every copy of a batch is asked not to wait after the fix, and the values are the same.

That the program really does not wait takes a GPU to see, and is not shown here.
"""

from __future__ import annotations

from typing import Any

SCRIPT = "tl402_blocking_transfer.py"


def test_copies_are_asked_to_wait_before_and_not_after(lab: Any) -> None:
    text = lab.before(SCRIPT)
    before = lab.succeed(text)
    after = lab.succeed(lab.fix(text, "TL402", unsafe=False))
    assert before["asked"] == [False, False, False, False]
    assert after["asked"] == [True, True, True, True]
    assert before["seen"] == after["seen"]


FORMS = """
import json
import torch

x = torch.ones(2)
print(json.dumps({
    "keyword": torch.equal(x.to("cpu", non_blocking=True), x),
    "with a type": str(x.to("cpu", torch.float64, non_blocking=True).dtype),
    "third position": str(x.to("cpu", torch.float64, True).dtype),
}))
"""


def test_the_argument_is_taken_beside_a_type(lab: Any) -> None:
    assert lab.succeed(FORMS) == {"keyword": True, "with a type": "torch.float64", "third position": "torch.float64"}
