"""TL503 pickled-model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchlint.findings import Finding, Fix, Safety, Severity, text
from torchlint.rules.rule import Rule
from torchlint.rules.screens import AnyOf, having
from torchlint.semantics.saving_names import SAVING_CALLS

if TYPE_CHECKING:
    from torchlint.semantics.program import Program


class PickledModel(Rule):
    """A whole model is pickled.

    ## What it does
    Reports `torch.save` of a module itself, alone or in a dict.

    ## Why it matters
    The file keeps the name of the class and not its code: it opens only where the same classes can be imported from
    the same modules, and `torch.load` refuses it by default since PyTorch 2.6.

    ## Example
    ```python
    import torch
    from torch import nn

    def save(path):
        model = nn.Linear(8, 2)
        torch.save(model, path)
    ```

    ## Use instead
    ```python
    import torch
    from torch import nn

    def save(path):
        model = nn.Linear(8, 2)
        torch.save(model.state_dict(), path)
    ```

    ## Fix safety
    No fix: every place that loads the file has to build the model first. Save `model.state_dict()`, and load it with
    `model.load_state_dict(torch.load(path, weights_only=True))`.

    ## Stays quiet when
    - a state dict, a script or an exported program is saved;
    - a test saves into the folder that pytest gives it (`tmp_path`);
    - nothing shows that the value is a module: neither its class nor the methods that are called on it.

    ## References
    - https://docs.pytorch.org/tutorials/beginner/saving_loading_models.html#save-load-entire-model
    - https://docs.pytorch.org/docs/stable/notes/serialization.html
    - `torchlint.runtime.export.write_weights`
    """

    code = "TL503"
    name = "pickled-model"
    severity = Severity.WARNING
    screen = having(b"torch", b"save", matching=AnyOf(SAVING_CALLS))

    def check(self, program: Program) -> Iterator[Finding]:
        from torchlint.semantics.whole_models import pickled_models

        for save, model in pickled_models(program):
            name = program.code(model)
            message = text(
                "`{model}` is saved as a whole: the file opens only beside the same classes, and `torch.load` refuses it by"
                " default since PyTorch 2.6",
                model=name,
            )
            help = text("save `{model}.state_dict()`, and build the model before loading", model=name)
            reason = text("every place that loads the file has to build the model first")
            yield self.finding(program, save.call, message, help, Fix(help, Safety.MANUAL, reason=reason))
