"""TL401 mixed-device."""

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
    from torchlint.semantics.device_choice import Choice
    from torchlint.semantics.program import Program


class MixedDevice(Rule):
    """One file moves things with `.cuda()` and with `.to(device)`.

    ## What it does
    Reports each `.cuda(...)` on a tensor or module in a file that also moves things with `.to(<a device>)`.

    ## Why it matters
    `.cuda()` means the current GPU whatever `device` says. As soon as `device` is the CPU or another GPU, the two
    spellings put things that belong together in two places, and the next operation raises
    `RuntimeError: Expected all tensors to be on the same device`.

    ## Example
    ```python
    import torch

    def predict(model, batch):
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        model.to(device)
        return model(batch.cuda())
    ```

    ## Use instead
    ```python
    import torch

    def predict(model, batch):
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        model.to(device)
        return model(batch.to(device))
    ```

    ## Fix safety
    Writes `.to(device)` with the device that is bound at that point, and `device=` into functions that make a tensor
    (`torch.zeros(...).cuda()`). Safe for a `.cuda()` without index beside one device, and for an index that the
    device names too. Unsafe when several devices are in reach, when the index may be None, when the program chooses its
    current GPU itself, or when `device` has to be defined first. An index that the device does not name has to be
    changed by hand: `device` may be another GPU.

    ## Stays quiet when
    - the file uses only one of the two spellings;
    - `.to(...)` changes the dtype or memory format, follows another tensor (`.to(x)`, `.to(x.device)`) or goes to
      the CPU;
    - `cuda` is a package, a namespace (`torch.cuda`), a flag or an option;
    - the object's class defines `cuda` itself, or the call stands in such a method.

    ## References
    - https://docs.pytorch.org/docs/stable/notes/cuda.html#device-agnostic-code
    - https://docs.pytorch.org/docs/stable/generated/torch.Tensor.cuda.html
    - `torchlint.runtime.devices.resolve`
    """

    code = "TL401"
    name = "mixed-device"
    severity = Severity.WARNING
    screen = having(b"cuda", matching=(re.compile(rb"\.\s*cuda\s*\("), re.compile(rb"\.\s*to\s*\(")))

    def check(self, program: Program) -> Iterator[Finding]:
        from torchlint.semantics.moves import cuda_calls, index_argument, moves_beside

        for call in cuda_calls(program):
            elsewhere = moves_beside(program, call)
            if not elsewhere:
                continue
            assert isinstance(call.func, ast.Attribute)
            usual = _short(program.code(elsewhere[0]))
            moved = _short(program.code(call.func.value))
            index = index_argument(call)
            message = (
                text(
                    "`{moved}` goes to the current GPU by `.cuda()`, while this file moves with `.to({device})`: where"
                    " the two differ, the next operation fails",
                    moved=moved,
                    device=usual,
                )
                if index is None
                else text(
                    "`{moved}` goes to `{index}` by `.cuda()`, which knows only GPUs, while this file moves with"
                    " `.to({device})`: without a GPU, or where the two differ, this fails",
                    moved=moved,
                    index=_short(program.code(index)),
                    device=usual,
                )
            )
            help, fix = self._advice(program, call)
            yield self.finding(program, call, message, help, fix)

    def _advice(self, program: Program, call: ast.Call) -> tuple[Text, Fix | None]:
        from torchlint.semantics.device_choice import choices, meant
        from torchlint.semantics.moves import index_argument, sets_current_device

        found = choices(program, call)
        index = index_argument(call)
        if index is not None:
            return self._indexed(program, call, index, found)
        if not found:
            return self._without_device(program, call)
        if all(choice.place.number for choice in found):
            return self._beside_number(program, call, found[0])
        best, sure = meant(program, call, found)
        help = text("write `.to({device})`", device=best.text)
        if sure:
            return help, self._fix(program, call, best.text, help, Safety.SAFE)
        reason = text("several devices are in reach; check that `{device}` is the one meant", device=best.text)
        if sets_current_device(program):
            reason = text(
                "the file chooses the current GPU itself; check that `{device}` is that one", device=best.text
            )
        return help, self._fix(program, call, best.text, help, Safety.UNSAFE, reason)

    def _indexed(
        self, program: Program, call: ast.Call, index: ast.expr, found: list[Choice]
    ) -> tuple[Text, Fix | None]:
        from torchlint.semantics.device_choice import Choice
        from torchlint.semantics.devices import place
        from torchlint.semantics.moves import may_be_none

        given = place(program, index)
        same = next((choice for choice in found if choice.place.index == ast.dump(index)), None)
        written = program.code(index)
        if (given.device and not given.number) or any(choice.text == written for choice in found):
            same = Choice(written, given, 0)
        if same is not None:
            help = text("write `.to({device})`", device=same.text)
            if same.text == written and given.number and may_be_none(index):
                reason = text(
                    "where `{index}` is None, `.cuda` takes the current GPU and `.to` does nothing", index=written
                )
                return help, self._fix(program, call, written, help, Safety.UNSAFE, reason)
            return help, self._fix(program, call, same.text, help, Safety.SAFE)
        help = text(
            'let one device name the GPU, for example `torch.device("cuda", {index})`, and use it throughout',
            index=written,
        )
        reason = text(
            "no device in reach names the index `{index}`, so `.to(device)` may be another GPU", index=written
        )
        return help, Fix(help, Safety.MANUAL, reason=reason)

    def _beside_number(self, program: Program, call: ast.Call, number: Choice) -> tuple[Text, Fix | None]:
        help = text("write `.to({device})` if that is the GPU meant", device=number.text)
        reason = text("`.cuda()` means the current GPU, which need not be number `{device}`", device=number.text)
        if number.text.isdigit():
            return help, self._fix(program, call, number.text, help, Safety.UNSAFE, reason)
        return help, Fix(help, Safety.MANUAL, reason=reason)

    def _without_device(self, program: Program, call: ast.Call) -> tuple[Text, Fix | None]:
        from torchlint.fixers.device_definition import DEVICE, define_device
        from torchlint.semantics.device_choice import is_free

        help = text("define `device = {device}` once and write `.to(device)`", device=DEVICE)
        made = define_device(program.source, program.tree, call) if is_free(program, "device", call) else None
        if made is None:
            reason = text("no device is bound here on every path, and the name `device` is taken")
            return help, Fix(help, Safety.MANUAL, reason=reason)
        reason = text("no device is bound here, so one is defined at the top of the file")
        return help, self._fix(program, call, "device", help, Safety.UNSAFE, reason, made)

    def _fix(
        self,
        program: Program,
        call: ast.Call,
        device: str,
        title: Text,
        safety: Safety,
        reason: Text | None = None,
        before: Edits = (),
    ) -> Fix:
        from torchlint.fixers.calls import cuda_to_device, move_into_factory
        from torchlint.semantics.moves import is_factory

        source, tree = program.source, program.tree
        edits = move_into_factory(source, tree, call, device) if is_factory(program, call) else None
        edits = edits or cuda_to_device(source, tree, call, device)
        if edits is None:
            return Fix(
                title, Safety.MANUAL, reason=text("the call is written in a way that cannot be changed automatically")
            )
        return Fix(title, safety, (*before, *edits), reason)


def _short(code: str) -> str:
    """Code as one short line for a message."""
    line = " ".join(code.split())
    return line if len(line) <= 40 else line[:37] + "..."
