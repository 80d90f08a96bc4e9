"""TL404: a tensor made on the CPU in forward fails as soon as the network lives elsewhere."""

from __future__ import annotations

from typing import Any

SCRIPT = "tl404_stray_cpu_tensor.py"


def test_the_network_fails_on_a_device_before_and_runs_after(lab: Any) -> None:
    text = lab.before(SCRIPT)
    run = lab.run(text, "meta")
    assert run.status != 0
    assert "meta" in run.errors
    assert lab.succeed(lab.fix(text, "TL404", unsafe=False), "meta")["device"] == "meta"


def test_on_the_cpu_nothing_changes(lab: Any) -> None:
    text = lab.before(SCRIPT)
    assert lab.succeed(lab.fix(text, "TL404", unsafe=False), "cpu") == lab.succeed(text, "cpu")
