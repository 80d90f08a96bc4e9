"""TL505 untrusted-load."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchlint.findings import Finding, Fix, Safety, Severity, Text, text
from torchlint.rules.rule import Rule
from torchlint.rules.screens import having

if TYPE_CHECKING:
    from torchlint.semantics.checkpoints import Load
    from torchlint.semantics.program import Program

SAFE_DEFAULT = (2, 6)


class UntrustedLoad(Rule):
    """A checkpoint may run code when it is loaded.

    ## What it does
    Reports `torch.load` without `weights_only`, and with `weights_only=False` where the file comes from a download or
    from the command line.

    ## Why it matters
    A checkpoint is a pickle, and opening a pickle runs what it says. `weights_only=True` opens data only. It is the
    default since PyTorch 2.6; before, whoever made the file ran code here.

    ## Example
    ```python
    import torch

    def resume(model, path):
        model.load_state_dict(torch.load(path, map_location="cpu"))
    ```

    ## Use instead
    ```python
    import torch

    def resume(model, path):
        model.load_state_dict(torch.load(path, map_location="cpu", weights_only=True))
    ```

    ## Fix safety
    Unsafe: a file with other objects no longer loads. `weights_only=True` is added when this file saves plain data
    only, or when what is loaded only reaches `load_state_dict`. By hand otherwise, and where this file saves objects
    that need pickling (TL507).

    ## Stays quiet when
    - a value is given, apart from a constant `False` for a file from outside; or one may come with `**kwargs`;
    - the project asks for PyTorch 2.6 or newer (`torch>=2.6` in `pyproject.toml`, `setup.cfg`, `setup.py` or
      `requirements.txt`) and leaves the argument out;
    - a buffer of the same function is read back.

    Off by default: with a current PyTorch an omitted argument is the safe one, and only the few projects that declare
    what they need can be told apart from those that run an older one.

    ## References
    - https://docs.pytorch.org/docs/stable/generated/torch.load.html
    - https://docs.pytorch.org/docs/stable/notes/serialization.html#weights-only
    - `torchlint.runtime.checkpoint.read_plain`
    """

    code = "TL505"
    name = "untrusted-load"
    severity = Severity.WARNING
    screen = having(b"torch", b"load")
    default = False

    def check(self, program: Program) -> Iterator[Finding]:
        from torchlint.semantics.checkpoints import LOAD, is_round_trip, loads
        from torchlint.semantics.requirements import torch_floor

        floor = torch_floor(program)
        for load in loads(program):
            if load.kind != LOAD:
                continue
            message = self._message(program, load, floor is not None and floor >= SAFE_DEFAULT)
            if message is not None and not is_round_trip(program, load):
                fix = _fix(program, load)
                yield self.finding(program, load.call, message, fix.title, fix)

    def _message(self, program: Program, load: Load, safe_default: bool) -> Text | None:
        from torchlint.semantics.checkpoints import from_outside, weights_only
        from torchlint.semantics.values import ABSENT

        given = weights_only(program, load)
        call = program.code(load.call.func)
        if given is ABSENT or _is(program, given, None):
            if safe_default:
                return None
            return text(
                "`{call}` without `weights_only=True` runs whatever code the file holds on PyTorch before 2.6",
                call=call,
            )
        if _is(program, given, False) and from_outside(program, load):
            return text(
                "`{call}` with `weights_only=False` runs whatever code the file holds, and the file comes from outside",
                call=call,
            )
        return None


def _is(program: Program, given: object, value: object) -> bool:
    from torchlint.semantics.values import Known

    constant = program.values.constant(given) if isinstance(given, ast.expr) else None
    return isinstance(constant, Known) and constant.value is value


def _needs_pickle(program: Program) -> bool:
    from torchlint.semantics.plainness import REFUSED, kind_of
    from torchlint.semantics.saves import contents, saves

    return any(
        kind_of(program, entry.written) in REFUSED
        for save in saves(program)
        for entry in contents(program, save.payload)
    )


def _fix(program: Program, load: Load) -> Fix:
    from torchlint.fixers.arguments import set_keyword
    from torchlint.semantics.loaded import Use, use_of

    title = text("pass `weights_only=True`")
    edits = set_keyword(program.source, program.tree, load.call, "weights_only", "True")
    if _needs_pickle(program):
        return Fix(title, Safety.MANUAL, reason=text("what this file saves needs pickling"))
    if edits is None or not (_saves_plain_data(program) or use_of(program, load.call) is Use.STATE):
        return Fix(title, Safety.MANUAL, reason=text("nothing here shows that the file holds plain data only"))
    return Fix(title, Safety.UNSAFE, edits, text("a file with other objects no longer loads"))


def _saves_plain_data(program: Program) -> bool:
    """Whether all that this file saves is plain data."""
    from torchlint.semantics.kinds import Kind
    from torchlint.semantics.plainness import kind_of
    from torchlint.semantics.saves import SAVE, contents, is_open, saves

    own = [save for save in saves(program) if program.names.matches(save.call.func, SAVE)]
    return bool(own) and all(
        not is_open(program, save.payload)
        and all(kind_of(program, entry.written) is Kind.PLAIN for entry in contents(program, save.payload))
        for save in own
    )
