"""TL205 scalar-fanout."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchlint.findings import Finding, Fix, Safety, Severity, text
from torchlint.rules.rule import Rule
from torchlint.rules.screens import having

if TYPE_CHECKING:
    from torchlint.semantics.program import Program


class ScalarFanout(Rule):
    """`add_scalars` opens one run, one file and one thread for each key.

    ## What it does
    Reports `add_scalars` of a `SummaryWriter`. Off unless selected: the curves do appear, in one chart.

    ## Why it matters
    Each key becomes a run of its own with a folder, an event file and a thread, and no tag is written to the run itself:
    twenty keys are twenty more runs in every list.

    ## Example
    ```python
    from torch.utils.tensorboard import SummaryWriter

    def log(train, val, epoch):
        with SummaryWriter("runs/a") as writer:
            writer.add_scalars("loss", {"train": train, "val": val}, epoch)
    ```

    ## Use instead
    ```python
    from torch.utils.tensorboard import SummaryWriter

    def log(train, val, epoch):
        with SummaryWriter("runs/a") as writer:
            writer.add_scalar("loss/train", train, epoch)
            writer.add_scalar("loss/val", val, epoch)
    ```

    ## Fix safety
    By hand: other tags are other curves for everyone who looks for them.

    ## Stays quiet when
    - the receiver is not certainly a `SummaryWriter` of this project's making.

    ## References
    - https://docs.pytorch.org/docs/stable/tensorboard.html
    - `torchlint.runtime.board.Board.scalars`
    """

    code = "TL205"
    name = "scalar-fanout"
    severity = Severity.WARNING
    default = False
    screen = having(b"add_scalars")

    def check(self, program: Program) -> Iterator[Finding]:
        from torchlint.semantics.writers import writer_of

        for call in program.tree.calls:
            if not isinstance(call.func, ast.Attribute) or call.func.attr != "add_scalars":
                continue
            writer = writer_of(program, call.func.value)
            if writer is None or not writer.sure:
                continue
            message = text(
                "`add_scalars` opens a run of its own for every key: a folder, an event file and a thread each"
            )
            help = text(
                "use `add_scalar` with one tag a series, such as `loss/train` and `loss/val`, or one writer a phase"
            )
            fix = Fix(help, Safety.MANUAL, reason=text("it changes the tags that people look for"))
            yield self.finding(program, call, message, help, fix)
