"""TL501 unmapped-load."""

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
    from torchlint.semantics.checkpoints import Load
    from torchlint.semantics.program import Program


class UnmappedLoad(Rule):
    """A checkpoint is loaded onto the device it was saved from.

    ## What it does
    Reports `torch.load`, `torch.jit.load` and `torch.hub.load_state_dict_from_url` (also `model_zoo.load_url`) without
    `map_location`, or with `map_location=None`, under any name they are imported or wrapped with `functools.partial`.

    ## Why it matters
    A checkpoint remembers the device of each tensor. Loading one from a GPU on a machine without that GPU raises
    `RuntimeError: Attempting to deserialize object on a CUDA device`, and with several processes each of them first
    puts everything on the GPU of the process that saved.

    ## Example
    ```python
    import torch

    def resume(model, path):
        model.load_state_dict(torch.load(path))
    ```

    ## Use instead
    ```python
    import torch

    def resume(model, path):
        model.load_state_dict(torch.load(path, map_location="cpu"))
    ```

    ## Fix safety
    Adds `map_location` with a device that is bound before, else `"cpu"` (also where the state of random generators is
    restored, which has to be on the CPU). Safe when what is loaded only reaches `load_state_dict`, which copies it to
    where the module lives. Unsafe when a whole model or tensors are used directly or handed on, because they then live
    on that device. A `map_location` given to `load_state_dict` by mistake is moved to the load. A misspelt keyword has
    to be renamed by hand.

    ## Stays quiet when
    - the location is given by keyword, by position, or possibly through `**kwargs`;
    - its value is a parameter or computed;
    - `load` belongs to another library, an object or the project (`np.load`, `pickle.load`, `trainer.load`,
      `torch.hub.load`);
    - the file replaces `torch.load` by a function of its own;
    - a buffer is read back that the same function has just saved to;
    - published weights are downloaded from PyTorch's own servers, or the address is not written in the file.

    ## References
    - https://docs.pytorch.org/docs/stable/generated/torch.load.html
    - https://docs.pytorch.org/tutorials/beginner/saving_loading_models.html
    - `torchlint.runtime.checkpoint.read_plain`
    """

    code = "TL501"
    name = "unmapped-load"
    severity = Severity.ERROR
    screen = having(
        b"load",
        matching=re.compile(
            rb"load(?<!\wload)(?:\b(?<=\.load)|\s*[(),#\n\r]|\s+as\b|\Z|(?:_url|_state_dict_from_url)\b)"
        ),
    )

    def check(self, program: Program) -> Iterator[Finding]:
        from torchlint.semantics.checkpoints import HUB_LOAD, is_published, is_round_trip, is_unmapped, loads

        for load in loads(program):
            if not is_unmapped(program, load) or is_round_trip(program, load):
                continue
            if load.kind == HUB_LOAD and is_published(program, load):
                continue
            message, help, fix = self._advice(program, load)
            yield self.finding(program, load.call, message, help, fix)

    def _advice(self, program: Program, load: Load) -> tuple[Text, Text, Fix | None]:
        from torchlint.semantics.checkpoints import misplaced, misspelt, restores_random_state
        from torchlint.semantics.device_choice import location

        call = program.code(load.call.func)
        wrong = misspelt(load)
        if wrong is not None:
            return self._rename(program, load, call, str(wrong.arg), wrong)
        stray = misplaced(program, load)
        if stray is not None:
            return self._move(program, load, call, *stray)
        message = _message(load.kind, call)
        device = None if restores_random_state(program, load) else location(program, load.call)
        device = device or '"cpu"'
        help = text("pass `map_location={device}`", device=device)
        return message, help, self._add(program, load, device, help)

    def _add(self, program: Program, load: Load, device: str, title: Text) -> Fix | None:
        from torchlint.fixers.arguments import set_keyword
        from torchlint.semantics.loaded import Use, use_of

        source, tree = program.source, program.tree
        position = None if load.through_partial else load.position
        edits = set_keyword(
            source, tree, load.call, "map_location", device, position=position, allow_unpacking=_named_only(load.call)
        )
        if edits is None:
            return Fix(
                title, Safety.MANUAL, reason=text("the arguments are unpacked here, so add it where they are written")
            )
        use = use_of(program, load.call)
        if use is Use.STATE:
            return Fix(title, Safety.SAFE, edits)
        reason = (
            text("what is loaded is used directly, and will then live on `{device}`", device=device)
            if use is Use.DIRECT
            else text("what is loaded is handed on, and will then live on `{device}`", device=device)
        )
        return Fix(title, Safety.UNSAFE, edits, reason)

    def _move(
        self, program: Program, load: Load, call: str, outer: ast.Call, word: ast.keyword
    ) -> tuple[Text, Text, Fix | None]:
        from torchlint.fixers.arguments import add_keyword, move_keyword, remove_argument

        message = text(
            "`map_location` is given to `load_state_dict`, which raises TypeError, and not to `{call}`, which needs it",
            call=call,
        )
        help = text("move `map_location={value}` into `{call}`", value=program.code(word.value), call=call)
        source, tree = program.source, program.tree
        edits: Edits | None = move_keyword(source, tree, outer, load.call, "map_location")
        value = program.code(word.value)
        if edits is None and outer not in tree.ancestors(load.call) and _means_the_same(program, load, word.value):
            added = add_keyword(source, tree, load.call, "map_location", value)
            removed = remove_argument(source, tree, outer, word)
            edits = None if added is None or removed is None else (*added, *removed)
        if edits is None:
            return message, help, Fix(help, Safety.MANUAL, reason=text("the value may mean something else at the load"))
        return message, help, Fix(help, Safety.SAFE, edits)

    def _rename(
        self, program: Program, load: Load, call: str, wrong: str, word: ast.keyword
    ) -> tuple[Text, Text, Fix | None]:
        from torchlint.fixers.arguments import rename_keyword

        message = text(
            "`{call}` has no parameter `{wrong}`: the load fails as it reads the file, and its tensors are not mapped",
            call=call,
            wrong=wrong,
        )
        help = text("rename the keyword to `map_location`")
        edits = rename_keyword(program.source, program.tree, word, "map_location") or ()
        reason = text("only you know what `{wrong}` was meant to be", wrong=wrong)
        return message, help, Fix(help, Safety.MANUAL, edits, reason)


def _means_the_same(program: Program, load: Load, value: ast.expr) -> bool:
    """Whether a value can be written at the load: a constant, or a device that is bound there already."""
    from torchlint.semantics.device_choice import choices

    if isinstance(value, ast.Constant):
        return True
    return any(choice.text == program.code(value) for choice in choices(program, load.call))


def _message(kind: str, call: str) -> Text:
    from torchlint.semantics.checkpoints import HUB_LOAD, JIT_LOAD

    if kind == JIT_LOAD:
        return text(
            "`{call}` without `map_location` puts the archive back on the device it was saved from: one from a GPU does"
            " not load on a machine without that GPU",
            call=call,
        )
    if kind == HUB_LOAD:
        return text(
            "`{call}` without `map_location` puts the downloaded tensors on the device they were saved from: weights"
            " from a GPU do not load on a machine without one",
            call=call,
        )
    return text(
        "`{call}` without `map_location` puts every tensor back on the device it was saved from: a checkpoint from a"
        " GPU does not load on a machine without that GPU",
        call=call,
    )


def _named_only(call: ast.Call) -> bool:
    """Whether all unpacked arguments are ``**`` ones, whose keys are known when the rule reports."""
    return not any(isinstance(arg, ast.Starred) for arg in call.args)
