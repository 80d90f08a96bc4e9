"""TL302 missing-no-grad."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchlint.findings import Finding, Fix, Safety, Severity, text
from torchlint.rules.layout_screens import ForLoops
from torchlint.rules.rule import Rule

if TYPE_CHECKING:
    from torchlint.fixers.layout import Edits
    from torchlint.semantics.gradpass import GradientPass
    from torchlint.semantics.program import Program


class MissingNoGrad(Rule):
    """An evaluation pass runs with gradients on.

    ## What it does
    Reports a loop over data in which a model runs with gradients on and nothing is back-propagated: the model is in
    eval mode there, or the function or the loader says that it evaluates.

    ## Why it matters
    `eval()` does not turn gradients off. Every batch builds a graph that keeps all activations until the outputs are
    dropped: an evaluation that needs several times the memory and is slower for nothing.

    ## Example
    ```python
    import torch

    def validate(model, loader):
        model.eval()
        hits = 0
        for images, labels in loader:
            hits += (model(images).argmax(1) == labels).sum().item()
        model.train()
        return hits / len(loader.dataset)
    ```

    ## Use instead
    ```python
    import torch

    def validate(model, loader):
        model.eval()
        hits = 0
        with torch.no_grad():
            for images, labels in loader:
                hits += (model(images).argmax(1) == labels).sum().item()
        model.train()
        return hits / len(loader.dataset)
    ```

    ## Fix safety
    Puts the loop under `with torch.no_grad():`. Safe: the numbers stay the same, and nothing back-propagates them.
    No fix where the model may also be in train mode: it has to be switched with `eval()` first.

    ## Stays quiet when
    - gradients are off (`no_grad`, `inference_mode`, `set_grad_enabled`), also by a decorator, a caller or for the
      whole file, or an unknown context manager or decorator may turn them off;
    - gradients are used: `backward`, `autograd.grad`, inputs that require gradients, attacks, saliency maps;
    - the outputs are back-propagated later, by the function or by who calls it;
    - the model is frozen, or the loop stands in a framework's class or a unit test;
    - the loop stands in `forward`, or in a method that a base class runs in a context of its own: others decide there;
    - the model runs outside of loops over data, or by a method such as `generate`.

    ## References
    - https://docs.pytorch.org/docs/stable/notes/autograd.html#locally-disabling-gradient-computation
    - https://docs.pytorch.org/docs/stable/generated/torch.no_grad.html
    - `torchlint.runtime.modes.evaluating`
    - `torchlint.runtime.trainer.validate`
    """

    code = "TL302"
    name = "missing-no-grad"
    severity = Severity.WARNING
    # A loop over something that sounds like data; where the header goes on in the next line, over anything.
    screen = ForLoops(re.compile(rb"load|data|batch|dl\b|set\b|iter|samples|images|inputs", re.IGNORECASE))

    def check(self, program: Program) -> Iterator[Finding]:
        from torchlint.semantics.gradpass import gradient_passes

        for found in gradient_passes(program):
            model = program.code(found.call.func)
            message = text(
                "`{model}` runs with gradients on in this evaluation pass: each batch builds a graph that nothing uses",
                model=model,
            )
            edits = self._edits(program, found)
            title = text("put the loop under `with torch.no_grad():`")
            if edits is not None and (found.in_eval_mode or not self._exposes(program, edits)):
                yield self.finding(program, found.loop, message, title, Fix(title, Safety.SAFE, edits))
                continue
            help = text("call `{model}.eval()` first and put the loop under `with torch.no_grad():`", model=model)
            reason = text("the model may be in train mode here, and what follows may need that mode back")
            yield self.finding(program, found.loop, message, help, Fix(help, Safety.MANUAL, reason=reason))

    def _edits(self, program: Program, found: GradientPass) -> Edits | None:
        from torchlint.fixers.imports import add_import
        from torchlint.fixers.statements import wrap_in_block

        source, tree = program.source, program.tree
        wrapped = wrap_in_block(source, tree, [found.loop], "with torch.no_grad():")
        imported = add_import(source, tree, "import torch", found.loop)
        if wrapped is None or imported is None or imported.name != "torch":
            return None
        return (*imported.edits, *wrapped)

    def _exposes(self, program: Program, edits: Edits) -> bool:
        """Whether the loop, once without gradients, would run the model in train mode by all that is known."""
        from torchlint.semantics.evalmode import exposures
        from torchlint.semantics.program import Program, parse
        from torchlint.source import apply_edits, read_source

        source = read_source(program.source.path, apply_edits(program.source.text, edits).encode())
        return len(list(exposures(Program(source, parse(source))))) > len(list(exposures(program)))
