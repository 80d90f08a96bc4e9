"""Evaluation mode that always ends.

Pitfalls shown: validation under `no_grad` in train mode, which moves the batch-norm statistics and so changes the model
by measuring it; and the mirror trap, `eval()` without a way back, after which training goes on with frozen batch norm
and no dropout.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def evaluating(model: torch.nn.Module) -> Iterator[torch.nn.Module]:
    """Eval mode and inference mode inside; at every exit each submodule is back in the mode it had before.

    The modes are kept per submodule, so a part that was frozen with `.eval()` on purpose stays frozen.
    """
    earlier = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        with torch.inference_mode():
            yield model
    finally:
        for module, training in earlier:
            module.training = training
