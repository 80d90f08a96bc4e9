"""TL305 missing-zero-grad."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchlint.findings import Finding, Fix, Safety, Severity, text
from torchlint.rules.rule import Rule
from torchlint.rules.screens import having

if TYPE_CHECKING:
    from torchlint.semantics.accumulation import Uncleared
    from torchlint.semantics.program import Program


class MissingZeroGrad(Rule):
    """Nothing clears the gradients between training steps.

    ## What it does
    Reports `backward()` in a loop in which an optimizer steps, in a file that never clears gradients.

    ## Why it matters
    `backward()` adds to the gradients that are there. Without clearing, each step follows the sum of the gradients of
    all earlier batches: training is unstable and soon diverges, without any error.

    ## Example
    ```python
    def train(model, optimizer, loader, criterion):
        for inputs, targets in loader:
            loss = criterion(model(inputs), targets)
            loss.backward()
            optimizer.step()
    ```

    ## Use instead
    ```python
    def train(model, optimizer, loader, criterion):
        for inputs, targets in loader:
            optimizer.zero_grad()
            loss = criterion(model(inputs), targets)
            loss.backward()
            optimizer.step()
    ```

    ## Fix safety
    Puts `zero_grad()` of the optimizer before `backward()`. Unsafe: the gradients may be summed on purpose.

    ## Stays quiet when
    - anything in the file clears or touches gradients (`zero_grad`, `p.grad = None`, `p.grad.zero_()`), so also when
      they are summed over several batches and then cleared;
    - the optimizer steps with a closure, or is made anew in each turn;
    - the optimizer is handed to code out of sight, which may clear them;
    - an engine or a framework steps (`model_engine.step()`), or several optimizers do.

    ## References
    - https://docs.pytorch.org/docs/stable/generated/torch.optim.Optimizer.zero_grad.html
    - https://docs.pytorch.org/tutorials/recipes/recipes/zeroing_out_gradients.html
    - `torchlint.runtime.trainer.train_one_epoch`
    """

    code = "TL305"
    name = "missing-zero-grad"
    severity = Severity.ERROR
    screen = having(b"backward", b"step", matching=re.compile(rb"\.\s*(?:manual_)?backward\b"))

    def check(self, program: Program) -> Iterator[Finding]:
        from torchlint.semantics.accumulation import uncleared

        for found in uncleared(program):
            optimizer = program.code(found.optimizer)
            message = text(
                "nothing clears the gradients: each step of `{optimizer}` follows the sum over all earlier batches",
                optimizer=optimizer,
            )
            help = text("call `{optimizer}.zero_grad()` before `backward()`", optimizer=optimizer)
            yield self.finding(program, found.backward, message, help, self._fix(program, found, optimizer))

    def _fix(self, program: Program, found: Uncleared, optimizer: str) -> Fix | None:
        from torchlint.fixers.statements import insert_before

        statement = program.tree.statement(found.backward)
        edits = insert_before(program.source, program.tree, statement, [f"{optimizer}.zero_grad()"])
        if edits is None:
            return None
        title = text("insert `{optimizer}.zero_grad()`", optimizer=optimizer)
        return Fix(title, Safety.UNSAFE, edits, text("the gradients may be summed on purpose"))
