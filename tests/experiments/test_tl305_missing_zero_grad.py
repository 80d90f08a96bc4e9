"""TL305: without clearing, a step follows the sum of all gradients so far, and the loss swings instead of falling."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

SCRIPT = "tl305_missing_zero_grad.py"


def test_steps_follow_old_gradients_before_and_their_own_after(lab: Any) -> None:
    text = lab.before(SCRIPT)
    before = lab.succeed(text)
    after = lab.succeed(lab.fix(text, "TL305", unsafe=True))
    assert before["strays"][0] == pytest.approx(0, abs=1e-4), "the first step has no past"
    assert before["strays"][1] > 1
    assert max(after["strays"]) < 1e-4


def test_the_loss_swings_before_and_falls_after(lab: Any) -> None:
    text = lab.before(SCRIPT)
    before = lab.succeed(text)["losses"]
    after = lab.succeed(lab.fix(text, "TL305", unsafe=True))["losses"]
    assert any(later > earlier for earlier, later in pairwise(before))
    assert max(before[30:]) > 1
    assert after[-1] < 1e-3
