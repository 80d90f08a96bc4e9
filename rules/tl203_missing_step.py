"""TL203 missing-step."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchlint.findings import Finding, Fix, Safety, Severity, text
from torchlint.rules.rule import Rule
from torchlint.rules.screens import having

if TYPE_CHECKING:
    from torchlint.semantics.program import Program
    from torchlint.semantics.steps import Loop
    from torchlint.semantics.summaries import Summary


class MissingStep(Rule):
    """Values are logged in a loop without a step, or with one that starts again.

    ## What it does
    Reports `add_scalar`, `add_histogram`, `add_image` and the like in a loop without `global_step`, or with the counter of
    an inner loop that starts again in each turn of the outer one.

    ## Why it matters
    TensorBoard's default view takes a step that is not larger than the last one for a restart and drops the earlier points:
    without a step one point is left, with a step that starts again only the last epoch.

    ## Example
    ```python
    from torch.utils.tensorboard import SummaryWriter

    def train(step, batches):
        with SummaryWriter("runs/a") as writer:
            for i, batch in enumerate(batches):
                writer.add_scalar("train/loss", step(batch))
    ```

    ## Use instead
    ```python
    from torch.utils.tensorboard import SummaryWriter

    def train(step, batches):
        with SummaryWriter("runs/a") as writer:
            for i, batch in enumerate(batches):
                writer.add_scalar("train/loss", step(batch), global_step=i)
    ```

    ## Fix safety
    Passes the counter of the loop when there is exactly one loop and it has one. Unsafe: only the author knows the axis.
    By hand where loops are nested, and where a step starts again.

    ## Stays quiet when
    - the call stands outside loops, is reached in one turn only (`if i == 0`, `break`), or its tag differs from turn to
      turn;
    - the writer is made in the loop, or is not certainly a `SummaryWriter` (a wrapper may count steps);
    - the step may advance: it is computed, counted by hand, or carries the outer loop's counter;
    - a block of tensorboardX gives the step (`with writer.use_metadata(global_step=i)`).

    ## References
    - https://docs.pytorch.org/docs/stable/tensorboard.html
    - `torchlint.runtime.board.Board.scalars`
    """

    code = "TL203"
    name = "missing-step"
    severity = Severity.ERROR
    screen = having(b"SummaryWriter", matching=re.compile(rb"\.\s*add_"))

    def check(self, program: Program) -> Iterator[Finding]:
        from torchlint.semantics.steps import has_step, loops_of_series, starts_again
        from torchlint.semantics.summaries import summaries

        for found in summaries(program):
            loops = loops_of_series(program, found)
            if not loops:
                continue
            if not has_step(found):
                yield self._without(program, found, loops)
            elif starts_again(program, found, loops) and isinstance(found.step, ast.Name):
                yield self._again(program, found, found.step.id)

    def _without(self, program: Program, found: Summary, loops: list[Loop]) -> Finding:
        from torchlint.fixers.arguments import set_keyword
        from torchlint.semantics.steps import counter
        from torchlint.semantics.summaries import step_position

        message = text(
            "`{method}` in a loop has no `global_step`: TensorBoard's default view keeps only the last point",
            method=found.method,
        )
        name = counter(loops[0])
        if name is None or len(loops) > 1:
            help = text("pass a `global_step` that grows with every call")
            fix = Fix(help, Safety.MANUAL, reason=text("no single counter of the loops can be the step"))
            return self.finding(program, found.call, message, help, fix)
        help = text("pass `global_step={name}`", name=name)
        edits = set_keyword(
            program.source, program.tree, found.call, "global_step", name, position=step_position(found.method)
        )
        reason = text("only you know what the horizontal axis should count")
        fix = Fix(help, Safety.UNSAFE if edits else Safety.MANUAL, edits or (), reason)
        return self.finding(program, found.call, message, help, fix)

    def _again(self, program: Program, found: Summary, name: str) -> Finding:
        message = text(
            "the step `{name}` starts again in each turn of the outer loop: TensorBoard's default view then shows only the"
            " last turn",
            name=name,
        )
        help = text("pass a step that grows over all turns, for example `epoch * len(loader) + {name}`", name=name)
        fix = Fix(help, Safety.MANUAL, reason=text("only you know how long a turn is"))
        return self.finding(program, found.call, message, help, fix)
