"""TL304 retained-graph."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchlint.findings import Finding, Fix, Safety, Severity, text
from torchlint.rules.rule import Rule
from torchlint.rules.screens import having

if TYPE_CHECKING:
    from torchlint.semantics.program import Program
    from torchlint.semantics.retained import Retained


class RetainedGraph(Rule):
    """A loss is kept over the steps together with its graph.

    ## What it does
    Reports `total += loss`, `total = total + loss` and `losses.append(loss)` in a training loop when the value is
    back-propagated in the same turn, so that it carries a graph, and what is kept outlives the turn.

    ## Why it matters
    A loss tensor holds on to the graph it was computed by. A sum of losses therefore holds every graph since the sum
    began, and memory grows with every step until the epoch ends or the process is killed.

    ## Example
    ```python
    def train_epoch(model, loader, criterion, optimizer):
        running_loss = 0.0
        for inputs, targets in loader:
            optimizer.zero_grad()
            loss = criterion(model(inputs), targets)
            loss.backward()
            optimizer.step()
            running_loss += loss
        print(f"loss {running_loss / len(loader):.4f}")
    ```

    ## Use instead
    ```python
    def train_epoch(model, loader, criterion, optimizer):
        running_loss = 0.0
        for inputs, targets in loader:
            optimizer.zero_grad()
            loss = criterion(model(inputs), targets)
            loss.backward()
            optimizer.step()
            running_loss += loss.item()
        print(f"loss {running_loss / len(loader):.4f}")
    ```

    ## Fix safety
    Safe: adds `.item()` where the result is only printed, logged or computed with, and `.detach()` where it may have
    to stay a tensor.

    ## Stays quiet when
    - the sum, or something computed from it, is back-propagated;
    - each training step begins the sum anew: several terms of one loss;
    - the value is a number already (`.item()`, `float(...)`) or detached (`.detach()`, `.data`);
    - gradients are off (`torch.no_grad()`), or the graph is kept on purpose (`retain_graph=True`);
    - what it is appended to is an object of another class than a list, which may keep a number only;
    - nothing shows that the value is back-propagated.

    ## References
    - https://docs.pytorch.org/docs/stable/notes/faq.html#my-model-reports-cuda-runtime-error-2-out-of-memory
    - https://docs.pytorch.org/docs/stable/generated/torch.Tensor.item.html
    - `torchlint.runtime.trainer.train_one_epoch`
    """

    code = "TL304"
    name = "retained-graph"
    severity = Severity.WARNING
    screen = having(b"backward", matching=re.compile(rb"\.\s*(?:manual_)?backward\b"))

    def check(self, program: Program) -> Iterator[Finding]:
        from torchlint.semantics.retained import needs_tensor, retained

        for found in retained(program):
            suffix = ".detach()" if needs_tensor(program, found) else ".item()"
            kept, value = program.code(found.target), program.code(found.leaves[0][0])
            message = text(
                "`{kept}` keeps `{value}` of every step with its graph: memory grows until the sum is dropped",
                kept=kept,
                value=value,
            )
            if found.listed:
                message = text(
                    "`{kept}` keeps `{value}` of every step with its graph: memory grows until the list is dropped",
                    kept=kept,
                    value=value,
                )
            help = text("add `{value}{suffix}` instead", value=value, suffix=suffix)
            yield self.finding(program, found.statement, message, help, self._fix(program, found, suffix))

    def _fix(self, program: Program, found: Retained, suffix: str) -> Fix | None:
        from torchlint.fixers.expressions import append_to_expression

        title = text("write `{suffix}` behind what is kept", suffix=suffix)
        edits = [append_to_expression(program.source, program.tree, leaf, suffix) for leaf, _ in found.leaves]
        if None in edits:
            return None
        return Fix(title, Safety.SAFE, tuple(edit for each in edits if each is not None for edit in each))
