"""TL102 unpinned-memory."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchlint.findings import Finding, Fix, Safety, Severity, text
from torchlint.rules.rule import Rule
from torchlint.rules.screens import having

if TYPE_CHECKING:
    from torchlint.semantics.program import Program


class UnpinnedMemory(Rule):
    """Batches are copied to the GPU from memory that is not pinned.

    ## What it does
    Reports a `DataLoader` without `pin_memory` when this file moves its batches to a device that may be a GPU.

    ## Why it matters
    A GPU reads pinned (page-locked) host memory directly. From ordinary memory the driver first copies each batch
    into a pinned buffer of its own, and the copy cannot run beside the computation: `non_blocking=True` has no effect.

    ## Example
    ```python
    import torch
    from torch.utils.data import DataLoader

    device = "cuda" if torch.cuda.is_available() else "cpu"

    def train(model, dataset):
        loader = DataLoader(dataset, batch_size=32, shuffle=True, num_workers=4)
        for x, y in loader:
            model(x.to(device, non_blocking=True))
    ```

    ## Use instead
    ```python
    import torch
    from torch.utils.data import DataLoader

    device = "cuda" if torch.cuda.is_available() else "cpu"

    def train(model, dataset):
        loader = DataLoader(dataset, batch_size=32, shuffle=True, num_workers=4, pin_memory=torch.cuda.is_available())
        for x, y in loader:
            model(x.to(device, non_blocking=True))
    ```

    ## Fix safety
    Safe: `pin_memory=torch.cuda.is_available()` changes no value, and nothing at all without CUDA. The copies of these
    batches get `non_blocking=True`, for which pinning is there. Unsafe where a collate function makes the batch:
    pinning leaves objects alone that it does not know. Withheld where it, or the dataset, puts tensors on the device
    itself, because those cannot be pinned.

    ## Stays quiet when
    - `pin_memory` is given, also as `False`, or may come with `**kwargs`;
    - no batch of the loader is visibly moved to an accelerator in this file, or the file never speaks of one;
    - the batches stay on the CPU or go to Apple's GPU, which shares its memory;
    - the file has put the data on the device before the loader gets it.

    ## References
    - https://docs.pytorch.org/docs/stable/data.html#memory-pinning
    - https://docs.pytorch.org/tutorials/intermediate/pinmem_nonblock.html
    - `torchlint.runtime.data.train_loader`
    """

    code = "TL102"
    name = "unpinned-memory"
    severity = Severity.WARNING
    screen = having(b"oader", (b"cuda", b"accelerator", b"xpu"))

    def check(self, program: Program) -> Iterator[Finding]:
        from torchlint.semantics.batches import transfers
        from torchlint.semantics.loaders import loader_argument
        from torchlint.semantics.pinning import Pinned, pinned
        from torchlint.semantics.placed import on_device

        moved = dict.fromkeys(loader for transfer in transfers(program) for loader in transfer.loaders)
        for loader in sorted(moved, key=lambda call: (call.lineno, call.col_offset)):
            data = loader_argument(program, loader, "dataset")
            if pinned(program, loader) is Pinned.OMITTED and not (data is not None and on_device(program, data)):
                name = program.code(loader.func).rpartition(".")[2]
                message = text(
                    "`{name}` is given no `pin_memory`, and its batches go to the GPU: each is copied twice, and no"
                    " copy runs beside the computation",
                    name=name,
                )
                fix = self._fix(program, loader)
                yield self.finding(program, loader, message, fix.title, fix)

    def _fix(self, program: Program, loader: ast.Call) -> Fix:
        from torchlint.fixers.arguments import add_keyword, set_keyword
        from torchlint.fixers.imports import add_import
        from torchlint.semantics.batches import transfers
        from torchlint.semantics.hazards import Hazard
        from torchlint.semantics.loaders import loader_argument
        from torchlint.semantics.pinning import PIN_POSITION, collates_on_device, is_collated, waits
        from torchlint.semantics.workers import hazards

        waiting = [t.call for t in transfers(program) if loader in t.loaders and waits(program, t.call)]
        title = (
            text("set `pin_memory=torch.cuda.is_available()` and copy with `non_blocking=True`")
            if waiting
            else text("set `pin_memory=torch.cuda.is_available()`")
        )
        collates = collates_on_device(program, loader)
        dataset = loader_argument(program, loader, "dataset")
        if collates or any(hazard is Hazard.CUDA for hazard, _ in hazards(program, loader, dataset)):
            help = text("move batches in the training loop, then set `pin_memory=torch.cuda.is_available()`")
            reason = text("the dataset or the collate function returns tensors on the device, which cannot be pinned")
            return Fix(help, Safety.MANUAL, reason=reason)
        imported = add_import(program.source, program.tree, "import torch", loader)
        value = "torch.cuda.is_available()"
        starred = any(isinstance(arg, ast.Starred) for arg in loader.args)
        edits = set_keyword(
            program.source,
            program.tree,
            loader,
            "pin_memory",
            value,
            position=PIN_POSITION,
            allow_unpacking=not starred,
        )
        if edits is None or imported is None or imported.name != "torch":
            return Fix(title, Safety.MANUAL, reason=text("the argument cannot be added where the call stands"))
        copies = [add_keyword(program.source, program.tree, call, "non_blocking", "True") for call in waiting]
        edits = (*imported.edits, *edits, *(edit for copy in copies if copy for edit in copy))
        if is_collated(loader):
            return Fix(title, Safety.UNSAFE, edits, text("what the collate function returns may not be plain tensors"))
        return Fix(title, Safety.SAFE, edits)
