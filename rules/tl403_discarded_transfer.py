"""TL403 discarded-transfer."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchlint.findings import Finding, Fix, Safety, Severity, Text, text
from torchlint.rules.layout_screens import Discarded
from torchlint.rules.rule import Rule

if TYPE_CHECKING:
    from torchlint.semantics.program import Program
    from torchlint.semantics.transfers import Transfer


class DiscardedTransfer(Rule):
    """A tensor is moved or converted, and the result is thrown away.

    ## What it does
    Reports `.to(...)`, `.cuda()`, `.cpu()`, `.detach()` and conversions such as `.float()` on a tensor when the call
    is a statement of its own.

    ## Why it matters
    A module moves in place, a tensor does not: the call gives a new tensor and leaves the old one where it is. The
    next operation with something on the device raises `RuntimeError: Expected all tensors to be on the same device`.

    ## Example
    ```python
    import torch

    def sample(model, device):
        model.to(device)
        noise = torch.randn(4, 64)
        noise.to(device)
        return model(noise)
    ```

    ## Use instead
    ```python
    import torch

    def sample(model, device):
        model.to(device)
        noise = torch.randn(4, 64)
        noise = noise.to(device)
        return model(noise)
    ```

    ## Fix safety
    Assigns the result to the name. Safe for moves between devices, unless the tensor is given to something made in the
    same function that is never moved: moving the tensor alone would break a program that runs. Unsafe for `.detach()`
    and conversions, which change what is computed from there on. To be changed by hand where the tensor is the
    variable of a loop and not read again: the collection it comes from has to be built anew.

    ## Stays quiet when
    - the receiver is a module, which moves in place, or nothing shows that it is a tensor;
    - the result is used;
    - the statement changes the tensor in place (`x.zero_().float()`), or makes it (`torch.zeros(1).cuda()`);
    - the call is only timed, or expected to raise.

    ## References
    - https://docs.pytorch.org/docs/stable/generated/torch.Tensor.to.html
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.to
    - `torchlint.runtime.trainer.train_one_epoch`
    """

    code = "TL403"
    name = "discarded-transfer"
    severity = Severity.ERROR
    screen = Discarded(
        re.compile(rb"\.\s*(?:to|cuda|cpu|float|double|half|bfloat16|long|int|detach|type|type_as|xpu)\s*\(")
    )

    def check(self, program: Program) -> Iterator[Finding]:
        from torchlint.semantics.tensors import is_tensor
        from torchlint.semantics.transfers import discarded, is_batch_part

        for found in discarded(program):
            if not is_tensor(program, found.receiver) and not is_batch_part(program, found):
                continue
            value, method = program.code(found.receiver), found.method
            message = text(
                "`.{method}(...)` gives a new tensor, which is thrown away here: `{value}` stays as it is",
                method=method,
                value=value,
            )
            help = text("assign the result: `{value} = {call}`", value=value, call=program.code(found.statement))
            yield self.finding(program, found.statement, message, help, self._fix(program, found, help))

    def _fix(self, program: Program, found: Transfer, title: Text) -> Fix:
        from torchlint.fixers.statements import assign_result
        from torchlint.semantics.transfers import is_read_later, meets_what_stays

        loop_variable = isinstance(found.receiver, ast.Name) and any(
            binding.kind == "for" for binding in program.scopes.reaching(found.receiver)
        )
        if loop_variable and not is_read_later(program, found):
            reason = text("the variable of a loop is not read again, so the collection has to be built anew")
            return Fix(title, Safety.MANUAL, reason=reason)
        target = None
        if isinstance(found.receiver, ast.Subscript):
            target = program.code(found.receiver)
        edits = assign_result(program.source, program.tree, found.statement, target)
        if edits is None:
            return Fix(title, Safety.MANUAL, reason=text("the receiver is no name that can be assigned to"))
        if found.moves and meets_what_stays(program, found):
            return Fix(
                title, Safety.UNSAFE, edits, text("what it is given to is not moved, and would have to be as well")
            )
        if found.moves:
            return Fix(title, Safety.SAFE, edits)
        return Fix(title, Safety.UNSAFE, edits, text("what is computed from here on changes"))
