"""TL103 loader-conflict."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchlint.findings import Finding, Fix, Safety, Severity, Text, text
from torchlint.rules.rule import Rule
from torchlint.rules.screens import having

if TYPE_CHECKING:
    from torchlint.semantics.conflicts import Contradiction
    from torchlint.semantics.program import Program


class LoaderConflict(Rule):
    """Arguments of a loader contradict each other.

    ## What it does
    Reports a `DataLoader` with `prefetch_factor`, `persistent_workers`, `multiprocessing_context` or `timeout` but no
    workers, with `sampler` beside `shuffle`, with `batch_sampler` beside what it replaces, and with `drop_last` for
    validation.

    ## Why it matters
    All but the last raise, the first as soon as a run sets `num_workers` to 0. `drop_last=True` on a validation loader
    leaves out up to a batch of data from the figures, and all of it when there is less than one batch.

    ## Example
    ```python
    from torch.utils.data import DataLoader

    def make(train_set, sampler_of):
        return DataLoader(train_set, batch_size=32, num_workers=0, prefetch_factor=4)
    ```

    ## Use instead
    ```python
    from torch.utils.data import DataLoader

    def make(train_set, sampler_of):
        return DataLoader(train_set, batch_size=32, num_workers=2, prefetch_factor=4)
    ```

    ## Fix safety
    Safe where the call raises as it stands and dropping the argument keeps what the other one asks for (`shuffle`
    beside a sampler). Unsafe for `drop_last`, because the figures change. By hand for arguments that need workers:
    give it workers, or drop them.

    ## Stays quiet when
    - a value is computed, a parameter, or may come with `**kwargs`; or the argument is `None`, `False` or 0;
    - the name of the loader does not say that it is for validation, or its batches are single samples, also by a default
      of the project's configuration (`cfg.VAL.batch_size = 1`).

    ## References
    - https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.DataLoader
    - `torchlint.runtime.data.train_loader`
    """

    code = "TL103"
    name = "loader-conflict"
    severity = Severity.ERROR
    screen = having(
        b"oader",
        (b"prefetch_factor", b"persistent_workers", b"multiprocessing_context", b"timeout", b"drop_last", b"sampler"),
    )

    def check(self, program: Program) -> Iterator[Finding]:
        from torchlint.semantics.conflicts import contradictions

        for found in contradictions(program):
            fix = self._fix(program, found)
            yield self.finding(program, found.loader.call, _message(found), fix.title, fix)

    def _fix(self, program: Program, found: Contradiction) -> Fix:
        from torchlint.fixers.arguments import remove_argument
        from torchlint.semantics.conflicts import Conflict

        call = found.loader.call
        if found.conflict is Conflict.NO_WORKERS:
            title = text("set `num_workers`, or drop `{name}`", name=found.name)
            return Fix(title, Safety.MANUAL, reason=text("only you know whether workers are wanted"))
        title = text("drop `{name}`", name=found.name)
        word = next((word for word in call.keywords if word.arg == found.name), None)
        edits = remove_argument(program.source, program.tree, call, word) if word is not None else None
        if edits is None:
            return Fix(title, Safety.MANUAL, reason=text("it is not written as a keyword of this call"))
        if found.conflict is Conflict.VALIDATION:
            return Fix(title, Safety.UNSAFE, edits, text("the last batch then counts in the figures"))
        return Fix(title, Safety.SAFE, edits)


def _message(found: Contradiction) -> Text:
    from torchlint.semantics.conflicts import NEED_WORKERS, Conflict

    if found.conflict is Conflict.NO_WORKERS:
        assert found.name in NEED_WORKERS
        return text("`{name}` without workers raises: there is no process it could apply to", name=found.name)
    if found.conflict is Conflict.BATCH_SAMPLER:
        return text(
            "`{name}` beside `batch_sampler` raises: the batch sampler makes the batches alone", name=found.name
        )
    if found.conflict is Conflict.SAMPLER:
        return text("`shuffle` beside `sampler` raises: the sampler decides about the order")
    return text("`drop_last=True` leaves the last batch out of validation, so the figures miss some of the data")
