"""TL508 aliased-best-weights."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchlint.findings import Finding, Fix, Safety, Severity, text
from torchlint.rules.rule import Rule
from torchlint.rules.screens import AnyOf, having
from torchlint.semantics.kept_words import KEPT_ASSIGNMENT, KEPT_WHILE

if TYPE_CHECKING:
    from torchlint.fixers.layout import Edits
    from torchlint.semantics.kept_weights import Kept
    from torchlint.semantics.program import Program

_KEPT_WHILE = AnyOf(tuple(re.compile(pattern.encode()) for pattern in KEPT_WHILE))
_PARTS = AnyOf(
    tuple(
        re.compile(word + rb"\b(?<=\." + word + b")")
        for word in (b"parameters", b"named_parameters", b"weight", b"bias")
    )
)


class AliasedBestWeights(Rule):
    """Weights are kept without a copy while training goes on.

    ## What it does
    Reports `state_dict()`, `parameters()`, `.weight` and `.bias` of a model that a name keeps over later training
    steps and that are read afterwards, when nothing copies them.

    ## Why it matters
    `state_dict()` gives the tensors of the model themselves, and the optimizer changes them in place. What was kept
    as the best weights is the last ones; loading them back does nothing, and no error says so.

    ## Example
    ```python
    def fit(model, epochs, train_epoch, score):
        best, best_state = 0.0, None
        for epoch in range(epochs):
            train_epoch(model)
            if score(model) > best:
                best = score(model)
                best_state = model.state_dict()
        model.load_state_dict(best_state)
    ```

    ## Use instead
    ```python
    import copy

    def fit(model, epochs, train_epoch, score):
        best, best_state = 0.0, None
        for epoch in range(epochs):
            train_epoch(model)
            if score(model) > best:
                best = score(model)
                best_state = copy.deepcopy(model.state_dict())
        model.load_state_dict(best_state)
    ```

    ## Fix safety
    Safe: the copy is what the name was meant to keep. The state is put in `copy.deepcopy(…)`, with the import where
    it is missing; a single weight gets `.detach().clone()`. Withheld where the name `copy` means something else.

    ## Stays quiet when
    - a copy is made (`copy.deepcopy`, `.clone()`), or the state is saved to disk at once;
    - no training step follows before the weights are read, or the loop ends there;
    - each turn of the loop builds a model of its own;
    - the name asks for the newest weights (`last_state`);
    - the state is only changed and loaded back, or loaded into another model.

    ## References
    - https://docs.pytorch.org/tutorials/beginner/saving_loading_models.html#saving-loading-model-for-inference
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.state_dict
    - `torchlint.runtime.checkpoint.save`
    """

    code = "TL508"
    name = "aliased-best-weights"
    severity = Severity.ERROR
    screen = AnyOf(
        (
            having(b"state_dict", matching=(re.compile(rb"state_dict(?<=\.state_dict)\s*\("), _KEPT_WHILE)),
            having((b"parameters", b"weight", b"bias"), matching=(_PARTS, _KEPT_WHILE, KEPT_ASSIGNMENT)),
        )
    )

    def check(self, program: Program) -> Iterator[Finding]:
        from torchlint.semantics.kept_weights import kept_weights

        for kept in kept_weights(program):
            model = program.code(kept.model)
            message = text(
                "`{name}` holds the tensors of `{model}` and no copy of them, so it changes with every training step:"
                " the weights it keeps are the last ones",
                name=kept.name,
                model=model,
            )
            help = (
                text("copy it with `.detach().clone()`")
                if kept.kind == "weight"
                else text("copy it with `copy.deepcopy(…)`")
            )
            edits = _edits(program, kept)
            fix = (
                Fix(help, Safety.MANUAL, reason=text("the name `copy` means something else in this file"))
                if edits is None
                else Fix(help, Safety.SAFE, edits)
            )
            yield self.finding(program, kept.node, message, help, fix)


def _edits(program: Program, kept: Kept) -> Edits | None:
    from torchlint.fixers.expressions import append_to_expression, wrap_expression
    from torchlint.fixers.imports import add_import

    source, tree = program.source, program.tree
    if kept.kind == "weight":
        return append_to_expression(source, tree, kept.node, ".detach().clone()")
    imported = add_import(source, tree, "import copy", kept.node)
    if imported is None:
        return None
    whole = kept.node if kept.kind == "state_dict" else kept.value  # a generator cannot be copied
    wrapped = wrap_expression(source, tree, whole, f"{imported.name}.deepcopy(")
    return None if wrapped is None else (*imported.edits, *wrapped)
