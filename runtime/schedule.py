"""The learning rate as a function of the step.

Pitfall shown: a schedule that is stepped somewhere, remembers how often, and is off by an epoch after a resume. The
factor follows from the step alone; `LambdaLR` applies it.
"""

from __future__ import annotations

import math


def learning_rate_factor(step: int, total: int, warmup: float, schedule: str) -> float:
    """The share (0 to 1) of `--lr` for optimizer step number `step` of `total`, counted from 0.

    It rises over the first `warmup` share of all steps, then stays, or falls to zero on a line or half a cosine.
    """
    rising = int(total * warmup)
    if step < rising:
        return (step + 1) / (rising + 1)
    done = min(1.0, (step - rising) / max(1, total - rising))
    if schedule == "constant":
        return 1.0
    return 1.0 - done if schedule == "linear" else 0.5 * (1.0 + math.cos(math.pi * done))
