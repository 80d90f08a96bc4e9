"""TL306 dropout-ignores-mode."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchlint.findings import Finding, Fix, Safety, Severity, text
from torchlint.rules.layout_screens import Called
from torchlint.rules.rule import Rule

if TYPE_CHECKING:
    from torchlint.semantics.program import Program


class DropoutIgnoresMode(Rule):
    """Functional dropout in a network stays on in eval mode.

    ## What it does
    Reports `torch.nn.functional.dropout` and its relatives without `training=` in a method of an `nn.Module`.

    ## Why it matters
    The function does not know of the mode: `training` is True unless it is given. `model.eval()` then does not turn
    this dropout off, and predictions are random and worse than the network could do.

    ## Example
    ```python
    import torch.nn.functional as F
    from torch import nn

    class Net(nn.Module):
        def forward(self, x):
            return F.dropout(x, 0.5)
    ```

    ## Use instead
    ```python
    import torch.nn.functional as F
    from torch import nn

    class Net(nn.Module):
        def forward(self, x):
            return F.dropout(x, 0.5, training=self.training)
    ```

    ## Fix safety
    Adds `training=self.training`. Safe in `forward`; unsafe in other methods, which may be meant for training alone.

    ## Stays quiet when
    - `training` is given, by keyword, by position or possibly through `**kwargs`; also `training=True`, which says
      that dropout is to stay on;
    - the call stands under `if self.training:`;
    - a name or a comment speaks of Monte Carlo dropout;
    - the probability is 0;
    - the call stands in a function, or in a class that need not be a network.

    ## References
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.dropout.html
    - `torchlint.runtime.model.SmallNet`
    """

    code = "TL306"
    name = "dropout-ignores-mode"
    severity = Severity.ERROR
    screen = Called(
        re.compile(
            rb"dropout(?:(?<!\wdropout)|(?<=alpha_dropout))(?:[123]d)?"
            rb"(?:\s*\(|\s+as\b|\b(?!\s*[=:(])(?:(?<=\.dropout)(?<!self\.dropout)|(?<=\.dropout[123]d)|(?<=\.alpha_dropout)))"
        ),
        given=b"training=",
    )

    def check(self, program: Program) -> Iterator[Finding]:
        from torchlint.fixers.arguments import add_keyword
        from torchlint.semantics.dropouts import deaf_dropouts

        for found in deaf_dropouts(program):
            asked = f"{found.instance}.training"
            message = text(
                "`{call}` is not told the mode of the network: it stays on after `eval()`",
                call=program.code(found.call.func),
            )
            title = text("pass `training={asked}`", asked=asked)
            edits = add_keyword(program.source, program.tree, found.call, "training", asked)
            fix = None if edits is None else Fix(title, Safety.SAFE, edits)
            if edits is not None and found.method != "forward":
                fix = Fix(title, Safety.UNSAFE, edits, text("the method may be meant for training alone"))
            yield self.finding(program, found.call, message, title, fix)
