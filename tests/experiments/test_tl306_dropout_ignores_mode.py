"""TL306: functional dropout that is not told the mode makes predictions random in eval mode."""

from __future__ import annotations

from typing import Any

SCRIPT = "tl306_dropout_ignores_mode.py"


def test_predictions_are_random_before_and_repeatable_after(lab: Any) -> None:
    text = lab.before(SCRIPT)
    before = lab.succeed(text)
    after = lab.succeed(lab.fix(text, "TL306", unsafe=False))
    assert before["eval"] > 0.01
    assert after["eval"] == 0
    assert after["train"] == before["train"], "training is as before"
