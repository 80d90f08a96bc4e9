"""TL303 stuck-in-eval."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchlint.findings import Finding, Fix, Safety, Severity, Text, text
from torchlint.rules.rule import Rule
from torchlint.rules.screens import having

if TYPE_CHECKING:
    from torchlint.fixers.layout import Edits
    from torchlint.semantics.program import Program


class StuckInEval(Rule):
    """A model is left in eval mode by an evaluation in the training loop.

    ## What it does
    Reports `model.eval()` in an epoch or step loop, or in a function called there, when the model trains on after it
    and no `model.train()` comes first on some path.

    ## Why it matters
    From the second turn on the model trains in eval mode: dropout does nothing and batch norm uses and keeps its old
    statistics. Nothing fails, the result is only worse.

    ## Example
    ```python
    import torch

    def fit(model, loader, held_out, criterion, optimizer, epochs):
        model.train()
        for epoch in range(epochs):
            for inputs, targets in loader:
                optimizer.zero_grad()
                criterion(model(inputs), targets).backward()
                optimizer.step()
            model.eval()
            with torch.no_grad():
                print(sum(criterion(model(x), y).item() for x, y in held_out))
    ```

    ## Use instead
    ```python
    import torch

    def fit(model, loader, held_out, criterion, optimizer, epochs):
        for epoch in range(epochs):
            model.train()
            for inputs, targets in loader:
                optimizer.zero_grad()
                criterion(model(inputs), targets).backward()
                optimizer.step()
            model.eval()
            with torch.no_grad():
                print(sum(criterion(model(x), y).item() for x, y in held_out))
    ```

    ## Fix safety
    Remembers the mode before `eval()` and restores it at each exit of the code behind it. Safe: training goes on in
    the mode it began in. To be changed by hand where the evaluation yields.

    ## Stays quiet when
    - `train()` comes on every path before the model trains again, or the mode from before is put back
      (`if was_training: model.train()`);
    - eval mode is on whenever the model trains: frozen batch norm, on purpose;
    - another model is switched, or single layers, or unseen code may switch back;
    - all layers are visible and none depends on the mode.

    ## References
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.train
    - https://docs.pytorch.org/docs/stable/notes/autograd.html#evaluation-mode-nn-module-eval
    - `torchlint.runtime.modes.evaluating`
    """

    code = "TL303"
    name = "stuck-in-eval"
    severity = Severity.ERROR
    screen = having(b"backward", matching=(re.compile(rb"\.\s*eval\s*\("), re.compile(rb"\.\s*(?:manual_)?backward\b")))

    def check(self, program: Program) -> Iterator[Finding]:
        from torchlint.semantics.stuckeval import stuck

        for found in stuck(program):
            assert isinstance(found.switch.func, ast.Attribute)
            model = program.code(found.switch.func.value)
            message = text(
                "`{model}` stays in eval mode: row {row} then trains it without dropout and with frozen batch norm",
                model=model,
                row=found.training.lineno,
            )
            help = text("call `{model}.train()` before training goes on", model=model)
            yield self.finding(program, found.switch, message, help, self._fix(program, found.switch, model))

    def _fix(self, program: Program, switch: ast.Call, model: str) -> Fix:
        title: Text = text("restore the mode `{model}` had before", model=model)
        edits = self._edits(program, switch, model)
        if edits is None:
            return Fix(
                title, Safety.MANUAL, reason=text("the code behind `eval()` has exits that cannot be changed here")
            )
        return Fix(title, Safety.SAFE, edits)

    def _edits(self, program: Program, switch: ast.Call, model: str) -> Edits | None:
        from torchlint.fixers.modes import fresh_name, insert_before_each_exit
        from torchlint.fixers.statements import insert_before
        from torchlint.semantics.tree import walk

        source, tree = program.source, program.tree
        statement = tree.statement(switch)
        block, index = tree.blocks[statement]
        if not re.fullmatch(r"[\w.]+", model) or not isinstance(statement, ast.Expr) or statement.value is not switch:
            return None
        around = tree.function(switch) or program.module
        taken = {n.id for n in walk(around) if isinstance(n, ast.Name)}
        saved = fresh_name(f"{model.rpartition('.')[2]}_was_training", taken)
        before = insert_before(source, tree, statement, [f"{saved} = {model}.training"])
        region = block[index + 1 :]
        after = insert_before_each_exit(source, tree, region, model, [f"{model}.train({saved})"], taken | {saved})
        return None if before is None or after is None else (*before, *after)
