"""TL301 missing-eval."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchlint.findings import Finding, Fix, Safety, Severity, Text, text
from torchlint.rules.rule import Rule
from torchlint.rules.screens import having

if TYPE_CHECKING:
    from torchlint.semantics.evalmode import Exposure
    from torchlint.semantics.program import Program


class MissingEval(Rule):
    """A model runs without gradients while it may be in train mode.

    ## What it does
    Follows the mode of every model through branches, loops, calls and other files, and reports a region without gradients
    (`no_grad`, `inference_mode`, `set_grad_enabled(False)`, as context manager or decorator) in which a model runs that is
    in train mode on some path: after `train()`, as constructed, or as a caller hands it over.

    ## Why it matters
    `no_grad` only stops gradients. In train mode dropout still drops, and batch norm normalises with the statistics of the
    batch and counts the data into its running statistics: the figures are wrong, and measuring changes the model.

    ## Example
    ```python
    import torch
    from torch import nn

    def validate(model, loader):
        with torch.no_grad():
            return sum((model(x).argmax(1) == y).sum().item() for x, y in loader)

    def main(loader):
        net = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5), nn.Linear(8, 2))
        print(validate(net, loader))
    ```

    ## Use instead
    ```python
    import torch
    from torch import nn

    def validate(model, loader):
        was_training = model.training
        model.eval()
        with torch.no_grad():
            result = sum((model(x).argmax(1) == y).sum().item() for x, y in loader)
        model.train(was_training)
        return result

    def main(loader):
        net = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5), nn.Linear(8, 2))
        print(validate(net, loader))
    ```

    ## Fix safety
    Calls `eval()` before the region and gives the model its earlier mode back at every exit; in a file that never trains,
    `eval()` alone. Safe when the mode is known on every path and a layer that depends on it is in sight. Unsafe when
    callers or layers are unknown, or when the outputs feed a loss. Where a flag decides about gradients it decides about
    the mode too (`model.train(flag)`, unsafe). By hand when the model has no name where the region stands.

    ## Stays quiet when
    - `eval()` or `train(False)` ran on every path: in the function, a constructor, a loader, the callers (other files too);
    - something out of sight may have switched the mode, or all callers are out of sight;
    - all layers are visible and none depends on the mode; the layers of an agent that steps an environment are not visible;
    - the region runs no model: initialisation, weight copies, metrics; or throws the output away (dry runs, recalibration);
    - a network runs itself or its parts: the mode is its caller's affair;
    - a framework switches modes (Lightning hooks, `from_pretrained`), or `self.training` or a flag decides;
    - train mode is wanted and shown: single layers switched by hand, `train()` before outputs that feed a loss, detectors
      called for their losses, noisy layers;
    - the region stands in a test of a test module.

    ## References
    - https://docs.pytorch.org/docs/stable/notes/autograd.html#locally-disabling-gradient-computation
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.eval
    - `torchlint.runtime.modes.evaluating`
    """

    code = "TL301"
    name = "missing-eval"
    severity = Severity.ERROR
    screen = having((b"no_grad", b"inference_mode", b"set_grad_enabled"))

    def check(self, program: Program) -> Iterator[Finding]:
        from torchlint.semantics.evalmode import exposures

        for exposed in exposures(program):
            first = exposed[0]
            model = _name(program, first)
            message = _message(first, model)
            help = text("call `{model}.eval()` before, and give it its earlier mode back after", model=model)
            yield self.finding(program, first.region.node, message, help, _fix(program, exposed, help))


def _name(program: Program, exposure: Exposure) -> str:
    if exposure.receiver is not None:
        return program.code(exposure.receiver)
    return exposure.event.program.code(exposure.event.node.func)


def _message(exposure: Exposure, model: str) -> Text:
    from torchlint.semantics.torch_layers import Dependence

    seen = exposure.dependence is Dependence.DEPENDS
    row = exposure.train_row
    if exposure.callers_unknown:
        return text(
            "`{model}` may be in train mode here, where nothing calls `eval()`: dropout then stays on and batch norm"
            " counts this data into its statistics",
            model=model,
        )
    if row is not None and seen:
        return text(
            "`{model}` is in train mode here since line {row}: dropout stays on and batch norm counts this data into"
            " its statistics",
            model=model,
            row=row,
        )
    if row is not None:
        return text(
            "`{model}` is in train mode here since line {row}: any dropout in it stays on and any batch norm counts"
            " this data into its statistics",
            model=model,
            row=row,
        )
    if seen:
        return text(
            "`{model}` runs here in train mode, in which every module starts: dropout stays on and batch norm counts"
            " this data into its statistics",
            model=model,
        )
    return text(
        "`{model}` runs here in train mode, in which every module starts: any dropout in it stays on and any batch norm"
        " counts this data into its statistics",
        model=model,
    )


def _fix(program: Program, exposed: list[Exposure], title: Text) -> Fix:
    from torchlint.fixers.mode_switches import follow_flag, switch_for_inference, switch_modes
    from torchlint.semantics.evalmode import gradient_flag, trains

    receivers = [program.code(e.receiver) for e in exposed if e.receiver is not None]
    region = exposed[0].region
    if len(receivers) < len(exposed):
        reason = text("the model has no name where the region stands; switch it where it is called")
        return Fix(title, Safety.MANUAL, reason=reason)
    source, tree = program.source, program.tree
    flag = gradient_flag(program, region)
    if flag is not None:
        followed = follow_flag(source, tree, region.node, receivers, program.code(flag))
        if followed is None:
            return Fix(
                title, Safety.MANUAL, reason=text("the flag that decides about gradients has to decide about the mode")
            )
        edits, row = followed
        title = text("let the flag decide about the mode as well: `{row}`", row=row)
        return Fix(title, Safety.UNSAFE, edits, text("the mode then follows the flag at every call"))
    if trains(program) or region.function is not None:
        switched = switch_modes(source, tree, region.node, region.function, receivers)
    else:
        switched = switch_for_inference(source, tree, region.node, receivers)
    if switched is None:
        return Fix(title, Safety.MANUAL, reason=text("the region is left in a way that cannot be followed"))
    doubt = _doubt(exposed)
    return Fix(title, Safety.SAFE if doubt is None else Safety.UNSAFE, switched, doubt)


def _doubt(exposed: list[Exposure]) -> Text | None:
    """Why switching the mode may not be what the author meant."""
    from torchlint.semantics.torch_layers import Dependence
    from torchlint.semantics.wanted import feeds_backward

    if any(e.callers_unknown for e in exposed):
        return text("callers out of sight may have chosen the mode")
    if any(e.dependence is Dependence.UNKNOWN for e in exposed):
        return text("the layers of the model are not in sight")
    if any(feeds_backward(e.event, e.region) for e in exposed):
        return text("the outputs feed a loss, which will see other values")
    return None
