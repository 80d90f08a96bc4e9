"""TL105 replayed-stream."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchlint.findings import Finding, Fix, Safety, Severity, text
from torchlint.rules.rule import Rule
from torchlint.rules.screens import having

if TYPE_CHECKING:
    from torchlint.semantics.loaders import Loader
    from torchlint.semantics.program import Program


class ReplayedStream(Rule):
    """Workers repeat a stream, or share an open file.

    ## What it does
    Reports a `DataLoader` with workers whose dataset is in sight and is an `IterableDataset` that never asks which
    worker it is in, or keeps an open file, archive or database in its constructor.

    ## Why it matters
    Every worker gets a copy of the dataset. One that streams gives each sample once per worker. Forked workers that
    share an open file share its position too, and read wrong samples without any error; databases do not allow it.

    ## Example
    ```python
    from torch.utils.data import DataLoader, IterableDataset

    class Lines(IterableDataset):
        def __init__(self, path):
            self.path = path

        def __iter__(self):
            with open(self.path) as file:
                yield from file

    def make(path):
        return DataLoader(Lines(path), batch_size=32, num_workers=4)
    ```

    ## Use instead
    ```python
    from itertools import islice

    from torch.utils.data import DataLoader, IterableDataset, get_worker_info

    class Lines(IterableDataset):
        def __init__(self, path):
            self.path = path

        def __iter__(self):
            worker = get_worker_info()
            first, step = (worker.id, worker.num_workers) if worker is not None else (0, 1)
            with open(self.path) as file:
                yield from islice(file, first, None, step)

    def make(path):
        return DataLoader(Lines(path), batch_size=32, num_workers=4)
    ```

    ## Fix safety
    No fix: how a stream is split, and where a file is opened, is the dataset's affair.

    ## Stays quiet when
    - the number of workers is 0 or not written in the file (TL101 speaks of loaders without workers), or 1;
    - the dataset is out of sight, or asks `get_worker_info`;
    - a `worker_init_fn` is given, which may split the stream or open the file;
    - the file is opened while samples are read, closed by the constructor, or opened anew by another method;
    - it is an LMDB opened with `lock=False`, which forked workers can read.

    ## References
    - https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.IterableDataset
    - https://docs.pytorch.org/docs/stable/data.html#multi-process-data-loading
    - `torchlint.runtime.data.Seeded`
    """

    code = "TL105"
    name = "replayed-stream"
    severity = Severity.ERROR
    screen = having(b"oader", b"workers")

    def check(self, program: Program) -> Iterator[Finding]:
        from torchlint.semantics.hazards import Hazard
        from torchlint.semantics.loaders import loader_argument, loaders
        from torchlint.semantics.workers import hazards

        for loader in loaders(program):
            if not _has_workers(program, loader) or _is_initialised(program, loader.call):
                continue
            dataset = loader_argument(program, loader.call, "dataset")
            for hazard, what in hazards(program, loader.call, dataset):
                if hazard is Hazard.REPLAYED:
                    message = text(
                        "every worker plays the whole stream of `{what}`: each sample comes once a worker", what=what
                    )
                    help = text("split the stream of `{what}` by `get_worker_info()`", what=what)
                elif hazard is Hazard.HANDLE:
                    message = text(
                        "the workers share the open file `{what}` and its position: they read wrong samples under fork, and"
                        " do not start otherwise",
                        what=what,
                    )
                    help = text("open `{what}` in the worker, on its first `__getitem__`", what=what)
                elif hazard is Hazard.DATABASE:
                    message = text(
                        "the workers share the open database `{what}`, which must not be used after a fork, and do not start"
                        " otherwise",
                        what=what,
                    )
                    help = text("open `{what}` in the worker, on its first `__getitem__`", what=what)
                else:
                    continue
                reason = text("only the dataset knows how it can be split")
                yield self.finding(program, loader.call, message, help, Fix(help, Safety.MANUAL, reason=reason))
                break


def _has_workers(program: Program, loader: Loader) -> bool:
    """Whether two workers or more are written, on every path: one alone repeats and shares nothing."""
    from torchlint.semantics.values import Known

    values = [program.values.constant(v) if isinstance(v, ast.expr) else None for v in loader.workers]
    return bool(values) and all(isinstance(v, Known) and isinstance(v.value, int) and v.value > 1 for v in values)


def _is_initialised(program: Program, call: ast.Call) -> bool:
    from torchlint.semantics.values import ABSENT

    return program.values.argument(call, "worker_init_fn", 10) != (ABSENT,)
