"""TL104 missing-set-epoch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchlint.findings import Finding, Fix, Safety, Severity, text
from torchlint.rules.rule import Rule
from torchlint.rules.screens import having

if TYPE_CHECKING:
    from torchlint.semantics.program import Program
    from torchlint.semantics.samplers import Repeated


class MissingSetEpoch(Rule):
    """A distributed sampler gives the same order in every epoch.

    ## What it does
    Reports a shuffling `DistributedSampler` whose loader is run through in a loop over epochs, or by a method called
    there, when nothing calls `set_epoch`.

    ## Why it matters
    All processes must draw the same order, so the sampler seeds it with the number of the epoch. Without
    `set_epoch` that number stays 0: every epoch shows the same samples in the same batches, and shuffling is lost.

    ## Example
    ```python
    from torch.utils.data import DataLoader
    from torch.utils.data.distributed import DistributedSampler

    def fit(dataset, step, epochs):
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=32, sampler=sampler, num_workers=4)
        for epoch in range(epochs):
            for batch in loader:
                step(batch)
    ```

    ## Use instead
    ```python
    from torch.utils.data import DataLoader
    from torch.utils.data.distributed import DistributedSampler

    def fit(dataset, step, epochs):
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=32, sampler=sampler, num_workers=4)
        for epoch in range(epochs):
            sampler.set_epoch(epoch)
            for batch in loader:
                step(batch)
    ```

    ## Fix safety
    Calls `set_epoch` first in the loop. Safe when the sampler has a name there on every path: it does what shuffling
    was asked for. By hand where the sampler has no name in the scope of the loop, or may be missing.

    ## Stays quiet when
    - `set_epoch` is called anywhere in the file or in a module it imports, also through `loader.sampler`;
    - `shuffle` is false or not known, the loop makes the sampler with a seed of its own, or writes its `epoch`;
    - a name says that the data is for validation, whose order does not matter;
    - no loop over epochs in this file runs through the loader;
    - a framework that calls it is used (Lightning, Accelerate, Transformers, Ignite…).

    ## References
    - https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.distributed.DistributedSampler
    - `torchlint.runtime.data.TrainBatches`
    """

    code = "TL104"
    name = "missing-set-epoch"
    severity = Severity.ERROR
    screen = having(b"DistributedSampler", b"range", without=(b"set_epoch",))

    def check(self, program: Program) -> Iterator[Finding]:
        from torchlint.semantics.samplers import repeated_orders

        for repeated in repeated_orders(program):
            message = text(
                "nothing calls `set_epoch` on this sampler: it shuffles with the same seed in every epoch, so all epochs"
                " have one order"
            )
            fix = self._fix(program, repeated)
            yield self.finding(program, repeated.sampler, message, fix.title, fix)

    def _fix(self, program: Program, repeated: Repeated) -> Fix:
        from torchlint.fixers.statements import insert_at_body_start

        epoch = program.code(repeated.loop.target)
        if repeated.name is None or repeated.optional:
            title = text("call `set_epoch({epoch})` on the sampler first in the loop over epochs", epoch=epoch)
            reason = text("the sampler has no name where the loop stands, or may be missing there")
            return Fix(title, Safety.MANUAL, reason=reason)
        call = f"{repeated.name.id}.set_epoch({epoch})"
        title = text("call `{call}` first in the loop over epochs", call=call)
        edits = insert_at_body_start(program.source, program.tree, repeated.loop.body, [call], docstring=False)
        if edits is None:
            return Fix(title, Safety.MANUAL, reason=text("the loop cannot take another statement where it stands"))
        return Fix(title, Safety.SAFE, edits)
