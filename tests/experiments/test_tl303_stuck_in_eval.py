"""TL303: after the first validation the model trains on in eval mode, and batch norm learns nothing any more."""

from __future__ import annotations

from typing import Any

SCRIPT = "tl303_stuck_in_eval.py"


def test_later_epochs_train_in_eval_mode_before_and_in_train_mode_after(lab: Any) -> None:
    text = lab.before(SCRIPT)
    before = lab.succeed(text)
    after = lab.succeed(lab.fix(text, "TL303", unsafe=False))
    assert before["counted"] == [4, 4, 4], "batch norm saw the batches of the first epoch only"
    assert before["modes"] == [True] * 4 + [False] * 8
    assert after["counted"] == [4, 8, 12]
    assert after["modes"] == [True] * 12
