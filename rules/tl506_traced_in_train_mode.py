"""TL506 traced-in-train-mode."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchlint.findings import Finding, Fix, Safety, Severity, Text, text
from torchlint.rules.rule import Rule
from torchlint.rules.screens import AnyOf, having

if TYPE_CHECKING:
    from torchlint.fixers.layout import Edits
    from torchlint.semantics.exports import Exported
    from torchlint.semantics.program import Program


class TracedInTrainMode(Rule):
    """A model is traced or exported while it is in train mode.

    ## What it does
    Follows the mode of every model and reports `torch.jit.trace`, `torch.export.export` and `torch.onnx.export` of one
    that is in train mode on some path: after `train()`, or as constructed.

    ## Why it matters
    Tracing writes down the operations as they run at that moment. Dropout stays on in the result for ever, batch norm
    uses the statistics of each batch, and no later `eval()` changes that.

    ## Example
    ```python
    import torch
    from torch import nn

    def export(example, path):
        model = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5), nn.Linear(8, 2))
        torch.export.save(torch.export.export(model, (example,)), path)
    ```

    ## Use instead
    ```python
    import torch
    from torch import nn

    def export(example, path):
        model = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5), nn.Linear(8, 2))
        model.eval()
        torch.export.save(torch.export.export(model, (example,)), path)
    ```

    ## Fix safety
    Safe: calls `eval()` before; in a file that trains, the model gets its earlier mode back behind the export. By hand
    where the model has no name of its own.

    ## Stays quiet when
    - `eval()` ran on every path: before, in a constructor, in the callers;
    - something out of sight may have switched the mode, or made the model, or a branch chooses between both modes;
    - all layers are visible and none depends on the mode;
    - the model only wraps what it was handed, whose mode is not known;
    - the traced model takes the place of the model in a file that trains and does not save it, or a test compares both;
    - the model is scripted (`torch.jit.script` keeps both modes), or a plain function is traced;
    - `torch.onnx.export` is told the mode with `training`, or uses the older exporter, which evaluates by itself
      (`dynamo=False`, or a project that asks for a PyTorch before 2.9, such as `torch==2.1`).

    ## References
    - https://docs.pytorch.org/docs/stable/generated/torch.jit.trace.html
    - https://docs.pytorch.org/docs/stable/export.html
    - `torchlint.runtime.export.export`
    """

    code = "TL506"
    name = "traced-in-train-mode"
    severity = Severity.ERROR
    screen = having(
        b"torch",
        matching=AnyOf(
            (
                having(b"jit", matching=re.compile(rb"trace(?:\b(?<=\.trace)|\s*\(|\s+as\b)")),
                re.compile(rb"export(?:\b(?<=\.export)(?!\.)|\s*\(|\s+as\b)"),
            )
        ),
    )

    def check(self, program: Program) -> Iterator[Finding]:
        from torchlint.semantics.exports import exported_in_train_mode

        if not any(True for _ in program.calls_to("torch.jit.trace", "torch.export.export", "torch.onnx.export")):
            return
        for exported in exported_in_train_mode(program):
            model = program.code(exported.model)
            help = text("call `{model}.eval()` before", model=model)
            edits = _edits(program, exported, model)
            fix = (
                Fix(help, Safety.MANUAL, reason=text("the model has no name of its own where it is exported"))
                if edits is None
                else Fix(help, Safety.SAFE, edits)
            )
            yield self.finding(program, exported.call, _message(exported, model), help, fix)


def _message(exported: Exported, model: str) -> Text:
    if exported.row is not None:
        return text(
            "`{model}` is exported in train mode, on since line {row}: dropout stays on in the result and batch norm"
            " uses each batch's statistics, whatever is called later",
            model=model,
            row=exported.row,
        )
    return text(
        "`{model}` is exported in train mode, in which every module starts: dropout stays on in the result and batch"
        " norm uses each batch's statistics, whatever is called later",
        model=model,
    )


def _edits(program: Program, exported: Exported, model: str) -> Edits | None:
    from torchlint.fixers.expressions import append_to_expression
    from torchlint.fixers.mode_switches import names_in
    from torchlint.fixers.modes import surround_with_mode
    from torchlint.fixers.statements import insert_before
    from torchlint.semantics.training import trains

    source, tree = program.source, program.tree
    if isinstance(exported.model, ast.Call):
        return append_to_expression(source, tree, exported.model, ".eval()")
    root = exported.model
    while isinstance(root, ast.Attribute):
        root = root.value
    if not isinstance(root, ast.Name) or isinstance(tree.function(exported.call), ast.Lambda):
        return None
    statement = tree.statement(exported.call)
    keeps_training = trains(program, program.module)
    owner = program.scopes.owner(root.id, program.scopes.scope_of(exported.call))
    if owner is not None and owner.is_inline:  # a comprehension: the name does not exist before it
        return None if keeps_training else append_to_expression(source, tree, exported.model, ".eval()")
    if keeps_training:
        return surround_with_mode(source, tree, [statement], model, names_in(tree))
    return insert_before(source, tree, statement, [f"{model}.eval()"])
