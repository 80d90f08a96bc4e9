"""TL101 no-workers."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchlint.findings import Finding, Fix, Safety, Severity, Text, text
from torchlint.rules.rule import Rule
from torchlint.rules.screens import having
from torchlint.semantics.hazards import Hazard

if TYPE_CHECKING:
    from torchlint.fixers.layout import Edits
    from torchlint.semantics.loaders import Loader
    from torchlint.semantics.program import Program


class NoWorkers(Rule):
    """A loader prepares every batch in the training process.

    ## What it does
    Reports a call that builds a `torch.utils.data.DataLoader` with `num_workers` 0: left out, written as 0 in any
    way that the file shows (a keyword, the sixth positional argument, a name bound once, a dict of arguments), also
    through a subclass that adds nothing about workers.

    ## Why it matters
    Without workers, reading, decoding and transforming happen in the training process, between two steps: no batch
    is prepared while the model computes.

    ## Example
    ```python
    from torch.utils.data import DataLoader
    from torchvision.datasets import ImageFolder

    def make_loader(root):
        return DataLoader(ImageFolder(root), batch_size=32, shuffle=True)
    ```

    ## Use instead
    ```python
    import os

    from torch.utils.data import DataLoader
    from torchvision.datasets import ImageFolder

    def make_loader(root):
        return DataLoader(ImageFolder(root), batch_size=32, shuffle=True, num_workers=min(4, os.cpu_count() or 1))
    ```

    ## Fix safety
    Always unsafe: workers change the stream of random numbers, so a run with the same seed gives other batches. The
    fix writes `num-workers` of the configuration, else `min(4, os.cpu_count() or 1)`, where the 0 stands, and
    nothing else. It is withheld, with the reason, where workers would break the script: iteration at module level
    without a main guard, notebooks, lambdas and local functions or classes, iterable datasets that do not split
    their stream, datasets that keep open files, use the GPU or write attributes while they are read.

    ## Stays quiet when
    - the count is an option, a parameter, an attribute or computed, or may come with `**kwargs`;
    - some path gives a positive count;
    - the dataset visibly is in memory (`TensorDataset`, a list, tensor or array, their splits, a class that only
      indexes them): workers make those slower;
    - an argument that needs workers stands beside it, so that the call raises (TL103);
    - the class is another library's or the project's own.

    ## References
    - https://docs.pytorch.org/docs/stable/data.html#single-and-multi-process-data-loading
    - https://docs.pytorch.org/docs/stable/notes/windows.html#usage-multiprocessing
    - `torchlint.runtime.data.auto_workers`
    - `torchlint.runtime.loaders.measure_loaders`
    """

    code = "TL101"
    name = "no-workers"
    severity = Severity.WARNING
    screen = having(b"Loader")

    def check(self, program: Program) -> Iterator[Finding]:
        from torchlint.semantics.conflicts import asks_for_workers
        from torchlint.semantics.loaders import loaders

        found = [loader for loader in loaders(program) if loader.no_workers and not asks_for_workers(program, loader)]
        held = [loader for loader in found if self._is_in_memory(program, loader)]
        reported = [loader for loader in found if loader not in held]
        reasons = [self._withheld(program, loader) for loader in reported]
        kept = {zero for loader, why in zip(reported, reasons, strict=True) if why is not None for zero in loader.zeros}
        kept.update(zero for loader in held for zero in loader.zeros)
        value = str(program.settings.num_workers or "min(4, os.cpu_count() or 1)")
        for loader, why in zip(reported, reasons, strict=True):
            name = program.code(loader.call.func).rpartition(".")[2]
            message = (
                text(
                    "`{name}` gets `num_workers=0`: the training process prepares every batch, between steps",
                    name=name,
                )
                if loader.zeros
                else text(
                    "`{name}` is given no `num_workers`: the training process prepares every batch, between steps",
                    name=name,
                )
            )
            title = text("set `num_workers={value}`", value=value)
            fix = (
                self._fix(program, loader, kept, value, title)
                if why is None
                else Fix(why[0], Safety.MANUAL, reason=why[1])
            )
            yield self.finding(program, loader.call, message, title if why is None else why[0], fix)

    def _is_in_memory(self, program: Program, loader: Loader) -> bool:
        from torchlint.semantics.datasets import in_memory
        from torchlint.semantics.loaders import loader_argument

        dataset = loader_argument(program, loader.call, "dataset")
        return dataset is not None and in_memory(program, dataset)

    def _withheld(self, program: Program, loader: Loader) -> tuple[Text, Text] | None:
        """What to do before workers can be used, and why; None when nothing speaks against them."""
        from torchlint.semantics.guards import iterated_on_import
        from torchlint.semantics.loaders import loader_argument
        from torchlint.semantics.workers import hazards

        if program.source.cells:
            return (
                text("move the dataset and what it uses into a module, then set `num_workers`"),
                text("workers started by spawn (Windows, macOS) cannot import what a notebook defines"),
            )
        dataset = loader_argument(program, loader.call, "dataset")
        for hazard, what in hazards(program, loader.call, dataset):
            return _first(hazard, what)
        if iterated_on_import(program, loader.call):
            return (
                text('put the script under `if __name__ == "__main__":` first, then set `num_workers`'),
                text("under spawn and forkserver every worker imports the script again and would run it"),
            )
        return None

    def _fix(self, program: Program, loader: Loader, kept: set[ast.expr], value: str, title: Text) -> Fix:
        from torchlint.fixers.imports import add_import

        edits = self._edits(program, loader, kept, value)
        if edits is None:
            return Fix(
                title, Safety.MANUAL, reason=text("the 0 also serves other places, or is not written in one place")
            )
        if "os." in value:
            imported = add_import(
                program.source, program.tree, "import os", loader.zeros[0] if loader.zeros else loader.call
            )
            if imported is None or imported.name != "os":
                return Fix(title, Safety.MANUAL, reason=text("the name `os` means something else in this file"))
            edits = (*imported.edits, *edits)
        return Fix(title, Safety.UNSAFE, edits, text("workers change the stream of random numbers"))

    def _edits(self, program: Program, loader: Loader, kept: set[ast.expr], value: str) -> Edits | None:
        from torchlint.fixers.arguments import set_keyword
        from torchlint.fixers.expressions import replace_expression
        from torchlint.semantics.loaders import WORKERS_POSITION, only_counts_workers
        from torchlint.semantics.values import ABSENT

        source, tree, call = program.source, program.tree, loader.call
        outside = [zero for zero in loader.zeros if call not in tree.ancestors(zero)]
        shared = [zero for zero in outside if zero in kept or not only_counts_workers(program, zero)]
        unpacks = any(word.arg is None for word in call.keywords)
        if not loader.zeros or (shared and not unpacks):
            return set_keyword(
                source, tree, call, "num_workers", value, position=WORKERS_POSITION,
                allow_unpacking=not any(isinstance(arg, ast.Starred) for arg in call.args),
            )  # fmt: skip
        if shared or ABSENT in loader.workers:
            return None
        edits: list[Edits | None] = [replace_expression(source, tree, zero, value) for zero in loader.zeros]
        return None if any(e is None for e in edits) else tuple(edit for e in edits if e for edit in e)


_KEPT = {
    Hazard.HANDLE: text(
        "workers that share an open file read wrong samples under fork, and cannot be started otherwise"
    ),
    Hazard.DATABASE: text("a database must not be used after a fork, and workers cannot be started with it otherwise"),
    Hazard.OWN: text("it cannot be handed to workers under spawn and forkserver"),
}


def _first(hazard: Hazard, what: str) -> tuple[Text, Text]:
    """What has to be done before workers can be used, and why."""
    if hazard is Hazard.REPLAYED:
        return (
            text("split the stream of `{what}` by `get_worker_info()` first, then set `num_workers`", what=what),
            text("every worker would yield every sample"),
        )
    if hazard is Hazard.LOCAL:
        return (
            text("move what the loader keeps (`{what}`) to module level first, then set `num_workers`", what=what),
            text("a lambda, or what a function defines, cannot be handed to workers under spawn and forkserver"),
        )
    if hazard in _KEPT:
        first = text("open `{what}` in the worker, on its first `__getitem__`, then set `num_workers`", what=what)
        return first, _KEPT[hazard]
    if hazard is Hazard.CUDA:
        return (
            text(
                "move batches in the training loop and not in the dataset (`{what}`), then set `num_workers`", what=what
            ),
            text("a forked worker cannot use the GPU of the training process"),
        )
    return (
        text("make sure that nothing reads `{what}` in the training process, then set `num_workers`", what=what),
        text("the dataset writes it while it is read, and each worker would write a copy of its own"),
    )
