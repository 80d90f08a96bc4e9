"""TL104: without set_epoch all epochs have one order."""

from __future__ import annotations

from typing import Any

SCRIPT = "tl104_missing_set_epoch.py"


def test_one_order_before_and_one_an_epoch_after(lab: Any) -> None:
    text = lab.before(SCRIPT)
    before = lab.succeed(text)["orders"]
    after = lab.succeed(lab.fix(text, "TL104", unsafe=False))["orders"]
    assert before[0] == before[1] == before[2]
    assert after[0] == before[0], "the first epoch is the same"
    assert after[0] != after[1] != after[2]
