"""TL404 stray-cpu-tensor."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchlint.findings import Finding, Fix, Safety, Severity, text
from torchlint.rules.layout_screens import Within
from torchlint.rules.rule import Rule
from torchlint.semantics.factories import FACTORIES

if TYPE_CHECKING:
    from torchlint.semantics.program import Program


class StrayCpuTensor(Rule):
    """A network makes a tensor on the CPU and combines it with its input.

    ## What it does
    Reports a call such as `torch.ones(...)` without `device=` in the `forward` of an `nn.Module` whose result is
    combined with an argument of `forward`, or with what a layer makes of it; also as the first state of a recurrent
    layer (`self.rnn(x, h0)`).

    ## Why it matters
    The new tensor lives on the CPU wherever the network and its input live. As soon as they are on a GPU, the
    operation raises `RuntimeError: Expected all tensors to be on the same device`.

    ## Example
    ```python
    import torch
    from torch import nn

    class Noise(nn.Module):
        def forward(self, x):
            return x + torch.randn(x.shape)
    ```

    ## Use instead
    ```python
    import torch
    from torch import nn

    class Noise(nn.Module):
        def forward(self, x):
            return x + torch.randn(x.shape, device=x.device)
    ```

    ## Fix safety
    Adds `device=` with the device of the argument. Safe: on the CPU nothing changes.

    ## Stays quiet when
    - `device` is given, or the tensor is moved (`.to(x)`, `.cuda()`, `.type_as(x)`) before it is used;
    - it is made like another (`zeros_like`, `x.new_zeros`), or is a scalar, which may meet any device;
    - it only indexes, or only meets values that need not live on the device;
    - a default device is set;
    - the class need not be a network, or the method is not `forward`.

    ## References
    - https://docs.pytorch.org/docs/stable/notes/cuda.html#device-agnostic-code
    - https://docs.pytorch.org/docs/stable/tensor_attributes.html#torch-device
    """

    code = "TL404"
    name = "stray-cpu-tensor"
    severity = Severity.ERROR
    screen = Within(b"forward", tuple(name.encode() for name in FACTORIES), given=b"device=")

    def check(self, program: Program) -> Iterator[Finding]:
        from torchlint.fixers.arguments import add_keyword
        from torchlint.semantics.strays import strays

        for found in strays(program):
            made = program.code(found.call.func)
            device = f"{found.partner}.device"
            message = text(
                "`{made}` makes a tensor on the CPU that meets `{partner}`: the network fails on any other device",
                made=made,
                partner=found.partner,
            )
            title = text("pass `device={device}`", device=device)
            edits = add_keyword(program.source, program.tree, found.call, "device", device)
            fix = None if edits is None else Fix(title, Safety.SAFE, edits)
            yield self.finding(program, found.call, message, title, fix)
