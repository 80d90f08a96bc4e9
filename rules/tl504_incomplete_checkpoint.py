"""TL504 incomplete-checkpoint."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchlint.findings import Finding, Fix, Safety, Severity, text
from torchlint.rules.rule import Rule
from torchlint.rules.screens import having

if TYPE_CHECKING:
    from torchlint.semantics.program import Program


class IncompleteCheckpoint(Rule):
    """Training goes on from a checkpoint that leaves out the optimizer.

    ## What it does
    Reports `torch.save` of a checkpoint without the state of the optimizer in a file that goes on training from it:
    that loads the weights and the epoch or step it had reached.

    ## Why it matters
    Momentum and the averages of Adam start from zero again. The loss jumps after each resume, and the run is another
    one than without the break.

    ## Example
    ```python
    import torch

    def fit(model, loader, path, resume, epochs):
        optimizer = torch.optim.Adam(model.parameters())
        start = 0
        if resume:
            saved = torch.load(path, map_location="cpu", weights_only=True)
            model.load_state_dict(saved["model"])
            start = saved["epoch"]
        for epoch in range(start, epochs):
            for x, y in loader:
                optimizer.zero_grad()
                torch.nn.functional.cross_entropy(model(x), y).backward()
                optimizer.step()
            torch.save({"model": model.state_dict(), "epoch": epoch + 1}, path)
    ```

    ## Use instead
    ```python
    import torch

    def fit(model, loader, path, resume, epochs):
        optimizer = torch.optim.Adam(model.parameters())
        start = 0
        if resume:
            saved = torch.load(path, map_location="cpu", weights_only=True)
            model.load_state_dict(saved["model"])
            optimizer.load_state_dict(saved["optimizer"])
            start = saved["epoch"]
        for epoch in range(start, epochs):
            for x, y in loader:
                optimizer.zero_grad()
                torch.nn.functional.cross_entropy(model(x), y).backward()
                optimizer.step()
            state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch + 1}
            torch.save(state, path)
    ```

    ## Fix safety
    No fix: checkpoints that are there already lack the entry, and the place that loads has to put it back.

    ## Stays quiet when
    - the file saves or loads the state of an optimizer anywhere, be it by `accelerator.save_state`;
    - the file does not train, or does not read the epoch or step back: the weights are for prediction;
    - the optimizer has no state (`SGD` without momentum), or is not seen to have some;
    - the checkpoint may hold more than the file shows.

    ## References
    - https://docs.pytorch.org/tutorials/recipes/recipes/saving_and_loading_a_general_checkpoint.html
    - `torchlint.runtime.run.state_of`
    """

    code = "TL504"
    name = "incomplete-checkpoint"
    severity = Severity.WARNING
    screen = having(b"load_state_dict", b"optim", b"save")

    def check(self, program: Program) -> Iterator[Finding]:
        from torchlint.semantics.resuming import incomplete_checkpoints

        for found in incomplete_checkpoints(program):
            message = text(
                "the checkpoint that training goes on from leaves out `{optimizer}`: its averages start from zero after each"
                " resume",
                optimizer=found.missing,
            )
            help = text("save `{optimizer}.state_dict()` in it as well, and load it back", optimizer=found.missing)
            reason = text("checkpoints that are there already lack the entry")
            yield self.finding(program, found.save, message, help, Fix(help, Safety.MANUAL, reason=reason))
