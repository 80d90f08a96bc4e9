"""TL204 unclosed-writer."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchlint.findings import Finding, Fix, Safety, Severity, text
from torchlint.rules.rule import Rule
from torchlint.rules.screens import having

if TYPE_CHECKING:
    from torchlint.fixers.layout import Edits
    from torchlint.semantics.open_writers import OpenWriter
    from torchlint.semantics.program import Program

_ENDS = frozenset({"sys.exit", "os._exit", "os.abort", "builtins.exit", "builtins.quit"})


class UnclosedWriter(Rule):
    """A summary writer is never closed.

    ## What it does
    Reports a `SummaryWriter` bound to a local name of a function or script that is never closed, flushed or used as a
    context manager.

    ## Why it matters
    Events wait in a queue that a background thread writes. A run that ends without `close()` may lose them: of twelve runs
    with five scalars each, eight left nothing on disk.

    ## Example
    ```python
    from torch.utils.tensorboard import SummaryWriter

    def probe(losses):
        writer = SummaryWriter("runs/probe")
        for step, loss in enumerate(losses):
            writer.add_scalar("loss", loss, step)
    ```

    ## Use instead
    ```python
    from torch.utils.tensorboard import SummaryWriter

    def probe(losses):
        with SummaryWriter("runs/probe") as writer:
            for step, loss in enumerate(losses):
                writer.add_scalar("loss", loss, step)
    ```

    ## Fix safety
    Calls `close()` at the end of the function or script, and before each `return`. Safe: the events are written as before,
    only surely. By hand where the end cannot be found, as in a generator, or where the program may end before
    it (`sys.exit()`).

    ## Stays quiet when
    - the writer is closed or flushed anywhere, or handed to code out of sight;
    - nothing is logged with it, or it is one of tensorboardX, which closes itself when the program ends;
    - it is kept on an object, in a container, under a `global` name, or returned;
    - it is made in a loop, or its name is bound twice.

    ## References
    - https://docs.pytorch.org/docs/stable/tensorboard.html
    - `torchlint.runtime.board.opened`
    """

    code = "TL204"
    name = "unclosed-writer"
    severity = Severity.WARNING
    screen = having(b"SummaryWriter")

    def check(self, program: Program) -> Iterator[Finding]:
        from torchlint.semantics.open_writers import open_writers

        for found in open_writers(program):
            message = text(
                "`{name}` is never closed: events still wait to be written when the program ends, and a short run loses them",
                name=found.name,
            )
            help = text("call `{name}.close()` at the end, or use the writer in a `with` block", name=found.name)
            yield self.finding(program, found.made, message, help, self._fix(program, found))

    def _fix(self, program: Program, found: OpenWriter) -> Fix:
        title = text("call `{name}.close()` at the end", name=found.name)
        edits = _closing(program, found)
        if edits is None:
            return Fix(title, Safety.MANUAL, reason=text("the end of the work cannot be found"))
        return Fix(title, Safety.SAFE, edits)


def _closing(program: Program, found: OpenWriter) -> Edits | None:
    """``close()`` behind the last statement of the block that makes the writer, and before what leaves it."""
    from torchlint.fixers.modes import always_leaves, insert_before_each_exit
    from torchlint.fixers.statements import insert_after
    from torchlint.semantics.tree import walk

    source, tree = program.source, program.tree
    block, index = tree.blocks[found.statement]
    rest = block[index + 1 :]
    if found.home is not None and block is not found.home.body:
        return None  # made on one path only
    if not rest or (found.home is None and not _used_only_in(program, found, rest)):
        return None
    if any(isinstance(node, ast.Yield | ast.YieldFrom | ast.Await) for statement in rest for node in walk(statement)):
        return None
    if any(
        program.names.one(call.func) in _ENDS
        for statement in rest
        for call in walk(statement)
        if isinstance(call, ast.Call)
    ):
        return None  # the program may end before the last statement
    row = f"{found.name}.close()"
    if any(isinstance(node, ast.Return) for statement in rest for node in walk(statement)):
        taken = {n.id for n in walk(program.module) if isinstance(n, ast.Name)}
        return insert_before_each_exit(source, tree, rest, found.name, [row], taken)
    return None if always_leaves(rest) else insert_after(source, tree, rest[-1], [row])


def _used_only_in(program: Program, found: OpenWriter, rest: list[ast.stmt]) -> bool:
    """Whether nothing behind the block of a script still logs."""
    from torchlint.semantics.tree import walk

    last = rest[-1].end_lineno or rest[-1].lineno
    return not any(isinstance(n, ast.Name) and n.id == found.name and n.lineno > last for n in walk(program.module))
