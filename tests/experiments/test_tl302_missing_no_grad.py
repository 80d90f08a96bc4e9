"""TL302: eval mode alone keeps the activations of every batch; without gradients nothing is kept."""

from __future__ import annotations

from typing import Any

SCRIPT = "tl302_missing_no_grad.py"


def test_activations_are_kept_before_and_not_after(lab: Any) -> None:
    text = lab.before(SCRIPT)
    before = lab.succeed(text)
    after = lab.succeed(lab.fix(text, "TL302", unsafe=False))
    assert before["recorded"] == [True, True, True]
    assert before["saved"] > 3 * 16 * 32, "at least the hidden layer of each batch"
    assert after["recorded"] == [False, False, False]
    assert after["saved"] == 0


def test_the_result_is_the_same(lab: Any) -> None:
    text = lab.before(SCRIPT)
    before = lab.succeed(text)
    after = lab.succeed(lab.fix(text, "TL302", unsafe=False))
    assert after["loss"] == before["loss"]
    assert after["training"] is True
