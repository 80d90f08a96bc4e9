"""TL402 blocking-transfer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchlint.findings import Finding, Fix, Safety, Severity, text
from torchlint.rules.rule import Rule
from torchlint.rules.screens import having

if TYPE_CHECKING:
    from torchlint.semantics.batches import Transfer
    from torchlint.semantics.program import Program


class BlockingTransfer(Rule):
    """A pinned batch is copied to the GPU while the program waits.

    ## What it does
    Reports `.to(device)` and `.cuda()` on a batch, or a part of it, without `non_blocking` when the loader pins its
    batches.

    ## Why it matters
    Copies from pinned memory can run while the program goes on. Without `non_blocking=True` the training process
    waits for each of them, and what pinning costs is spent for half of its use.

    ## Example
    ```python
    import torch
    from torch.utils.data import DataLoader

    def train(model, dataset):
        loader = DataLoader(dataset, batch_size=32, shuffle=True, num_workers=4, pin_memory=True)
        for x, y in loader:
            model(x.to("cuda"))
    ```

    ## Use instead
    ```python
    import torch
    from torch.utils.data import DataLoader

    def train(model, dataset):
        loader = DataLoader(dataset, batch_size=32, shuffle=True, num_workers=4, pin_memory=True)
        for x, y in loader:
            model(x.to("cuda", non_blocking=True))
    ```

    ## Fix safety
    Safe: what runs on the device afterwards waits for the copy by itself, and on the CPU the argument does nothing.
    Unsafe where a collate function of the project makes the batch, whose objects may have a `to` of their own.

    ## Stays quiet when
    - `non_blocking` is given, by keyword or position, or may come with `**kwargs`;
    - the loader is not in sight, or not every loader it may be is pinned: then TL102 has a say;
    - the value was computed from the batch, and so is not pinned (`x.float().to(device)`);
    - the copy goes to the CPU, or a module is moved.

    ## References
    - https://docs.pytorch.org/docs/stable/notes/cuda.html#use-pinned-memory-buffers
    - https://docs.pytorch.org/tutorials/intermediate/pinmem_nonblock.html
    - `torchlint.runtime.trainer.train_one_epoch`
    """

    code = "TL402"
    name = "blocking-transfer"
    severity = Severity.WARNING
    screen = having(b"pin_memory", b"oader", (b"cuda", b"accelerator", b"xpu"))

    def check(self, program: Program) -> Iterator[Finding]:
        from torchlint.semantics.batches import transfers
        from torchlint.semantics.pinning import Pinned, pinned, waits

        for transfer in transfers(program):
            if not waits(program, transfer.call):
                continue
            if any(pinned(program, loader) is not Pinned.YES for loader in transfer.loaders):
                continue
            call = program.code(transfer.call.func)
            message = text(
                "`{call}(…)` copies a pinned batch without `non_blocking=True`: the training process waits for"
                " the copy",
                call=call,
            )
            fix = self._fix(program, transfer)
            yield self.finding(program, transfer.call, message, fix.title, fix)

    def _fix(self, program: Program, transfer: Transfer) -> Fix:
        from torchlint.fixers.arguments import add_keyword
        from torchlint.semantics.pinning import is_collated

        title = text("pass `non_blocking=True`")
        edits = add_keyword(program.source, program.tree, transfer.call, "non_blocking", "True")
        if edits is None:
            return Fix(title, Safety.MANUAL, reason=text("the argument cannot be added where the call stands"))
        if any(is_collated(loader) for loader in transfer.loaders):
            reason = text("the collate function may make objects with a `to` of their own")
            return Fix(title, Safety.UNSAFE, edits, reason)
        return Fix(title, Safety.SAFE, edits)
