"""TL103: contradictions raise, and drop_last leaves validation without data."""

from __future__ import annotations

from typing import Any

SCRIPT = "tl103_loader_conflict.py"


def test_the_loader_raises_before_and_runs_after(lab: Any) -> None:
    text = lab.before(SCRIPT)
    run = lab.run(text)
    assert run.status != 0
    assert "mutually exclusive" in run.errors
    after = lab.succeed(lab.fix(text, "TL103", unsafe=True))
    assert after == {"seen": [[0, 1, 2, 3, 4]], "order": [0, 1, 2, 3, 4]}


RAISES = """
import json
from torch.utils.data import BatchSampler, DataLoader, RandomSampler, SequentialSampler

data = list(range(4))
cases = {
    "prefetch_factor": dict(prefetch_factor=2),
    "persistent_workers": dict(persistent_workers=True),
    "multiprocessing_context": dict(multiprocessing_context="spawn"),
    "timeout": dict(timeout=1),
    "batch_sampler": dict(batch_sampler=BatchSampler(SequentialSampler(data), 2, False), shuffle=True),
    "batch_size": dict(batch_sampler=BatchSampler(SequentialSampler(data), 2, False), batch_size=2),
    "all off": dict(prefetch_factor=None, persistent_workers=False, multiprocessing_context=None, timeout=0),
}
found = {}
for name, arguments in cases.items():
    try:
        next(iter(DataLoader(data, **arguments)))
        found[name] = ""
    except (ValueError, AssertionError) as error:
        found[name] = type(error).__name__
dropped = len(list(DataLoader(data, batch_size=8, drop_last=True)))
print(json.dumps({**found, "dropped": dropped}))
"""


def test_what_raises_and_what_does_not(lab: Any) -> None:
    raises = dict.fromkeys(
        ("prefetch_factor", "persistent_workers", "multiprocessing_context", "batch_sampler", "batch_size"),
        "ValueError",
    )
    assert lab.succeed(RAISES) == {**raises, "timeout": "AssertionError", "all off": "", "dropped": 0}
