"""TL304: a sum of losses holds the graph of every step; without it the numbers are the same."""

from __future__ import annotations

from typing import Any

import pytest

SCRIPT = "tl304_retained_graph.py"


def test_graphs_pile_up_before_and_none_is_left_after(lab: Any) -> None:
    text = lab.before(SCRIPT)
    before = lab.succeed(text)
    after = lab.succeed(lab.fix(text, "TL304", unsafe=False))
    assert before["lengths"] == sorted(set(before["lengths"])), "each step makes the graph longer"
    assert before["lengths"][0] > 0
    assert before["alive"] == sorted(set(before["alive"])), "and leaves one more tensor with a graph"
    assert after["lengths"] == [0, 0, 0, 0, 0]
    assert after["alive"] == [0, 0, 0, 0, 0]


def test_nothing_else_changes(lab: Any) -> None:
    text = lab.before(SCRIPT)
    before = lab.succeed(text)
    after = lab.succeed(lab.fix(text, "TL304", unsafe=False))
    assert after["weights"] == before["weights"]
    assert after["sum"] == pytest.approx(before["sum"])
