"""TL502 wrapped-state-dict."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchlint.findings import Finding, Fix, Safety, Severity, text
from torchlint.rules.rule import Rule
from torchlint.rules.screens import having

if TYPE_CHECKING:
    from torchlint.semantics.program import Program
    from torchlint.semantics.saves import Save
    from torchlint.semantics.wrapping import Wrapped


class WrappedStateDict(Rule):
    """The weights of a wrapped model are saved with the prefix of the wrapper.

    ## What it does
    Reports `state_dict()` of a model that is wrapped in `DataParallel`, `DistributedDataParallel` or `torch.compile`,
    or may be, when the state is saved.

    ## Why it matters
    The wrapper puts `module.` (or `_orig_mod.`) before every key. Such a file does not load into the bare model:
    `load_state_dict` raises with missing and unexpected keys, and with `strict=False` it loads nothing and says
    nothing.

    ## Example
    ```python
    import torch
    from torch import nn

    def save(model, path):
        model = nn.DataParallel(model)
        torch.save(model.state_dict(), path)
    ```

    ## Use instead
    ```python
    import torch
    from torch import nn

    def save(model, path):
        model = nn.DataParallel(model)
        torch.save(model.module.state_dict(), path)
    ```

    ## Fix safety
    Safe: the same tensors are saved, under the names of the bare model. Where the model is wrapped on some paths only,
    the fix writes `getattr(model, "module", model)`. Withheld where paths wrap it in different ways.

    ## Stays quiet when
    - the state is that of the bare model (`model.module.state_dict()`, `raw_model = model.module if ddp else model`);
    - a branch asks whether the model is wrapped, or asks the question that decided it;
    - this file, a module it imports, or a script beside it that shares one, takes the prefix off or loads the state
      into a wrapped model; or any script beside it does so, unless the two name other checkpoints;
    - the state is not saved.

    ## References
    - https://docs.pytorch.org/tutorials/beginner/saving_loading_models.html#saving-torch-nn-dataparallel-models
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html
    - `torchlint.runtime.run.state_of`
    - `torchlint.runtime.weights.load_weights`
    """

    code = "TL502"
    name = "wrapped-state-dict"
    severity = Severity.ERROR
    screen = having((b"DataParallel", b"compile"), b"state_dict", b"save")

    def check(self, program: Program) -> Iterator[Finding]:
        from torchlint.semantics.saves import saves
        from torchlint.semantics.wrapping import loaded_wrapped, told_apart, wrapped

        quiet: bool | None = None
        for call in dict.fromkeys(call for save in saves(program) for call in _states(program, save)):
            assert isinstance(call.func, ast.Attribute)
            receiver = call.func.value
            how = wrapped(program, receiver)
            if how is None or told_apart(program, call, receiver):
                continue
            quiet = loaded_wrapped(program) if quiet is None else quiet
            if not quiet:
                yield self._report(program, call, receiver, how)

    def _report(self, program: Program, call: ast.Call, receiver: ast.expr, how: Wrapped) -> Finding:
        from torchlint.fixers.expressions import replace_expression

        model = program.code(receiver)
        prefix = "".join(f"{part}." for part in how.chains[0])
        message = (
            text(
                "`{model}` is wrapped here, so its state is saved with the prefix `{prefix}` and does not load into the"
                " bare model",
                model=model, prefix=prefix,
            )
            if how.certain
            else text(
                "`{model}` may be wrapped here: its state is then saved with the prefix `{prefix}` and does not load"
                " into the bare model",
                model=model, prefix=prefix,
            )
        )  # fmt: skip
        bare = _bare(model, how)
        if bare is None:
            help = text("save the state of the model inside the wrapper")
            reason = text("it is wrapped in different ways on different paths")
            return self.finding(program, call, message, help, Fix(help, Safety.MANUAL, reason=reason))
        help = text("save `{bare}.state_dict()`", bare=bare)
        edits = replace_expression(program.source, program.tree, receiver, bare)
        fix = None if edits is None else Fix(help, Safety.SAFE, edits)
        return self.finding(program, call, message, help, fix)


def _bare(model: str, how: Wrapped) -> str | None:
    """The expression for the model inside the wrapper."""
    if len(how.chains) > 1:
        return None
    chain = how.chains[0]
    if how.certain:
        return ".".join([model, *chain])
    return f'getattr({model}, "{chain[0]}", {model})' if len(chain) == 1 else None


def _states(program: Program, save: Save) -> Iterator[ast.Call]:
    """The ``state_dict()`` calls whose result is saved as it is."""
    from torchlint.semantics.saves import contents

    if save.through is not None and _renames(save):
        return
    for entry in contents(program, save.payload):
        call = entry.value
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "state_dict":
            yield call


def _renames(save: Save) -> bool:
    """Whether the function that saves speaks of the wrapper."""
    from torchlint.semantics.tree import walk

    assert save.through is not None
    return any(
        (isinstance(node, ast.Attribute) and node.attr in ("module", "_orig_mod"))
        or (isinstance(node, ast.Constant) and isinstance(node.value, str) and "module" in node.value)
        for node in walk(save.through.node)
    )
