"""Every call that writes a summary: which writer, which kind, which tag, which value at which step."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchlint.semantics.tags import Tag, static_tag
from torchlint.semantics.tree import FunctionNode
from torchlint.semantics.writers import Writer, writer_of

if TYPE_CHECKING:
    from torchlint.semantics.program import Program

# Method → the kind of summary TensorBoard stores under the tag as it is given (text and meshes get a suffix of their
# own).
FAMILIES = {
    "add_scalar": "scalar",
    "add_histogram": "histogram",
    "add_histogram_raw": "histogram",
    "add_image": "image",
    "add_images": "image",
    "add_image_with_boxes": "image",
    "add_figure": "image",
    "add_video": "image",
    "add_audio": "audio",
    "add_text": "text",
    "add_pr_curve": "pr_curve",
}
_STEP = {"add_pr_curve": 3, "add_histogram_raw": 7, "add_image_with_boxes": 3}
_VALUE = {
    "add_scalar": "scalar_value",
    "add_histogram": "values",
    "add_image": "img_tensor",
    "add_images": "img_tensor",
    "add_figure": "figure",
    "add_video": "vid_tensor",
    "add_audio": "snd_tensor",
    "add_text": "text_string",
}


@dataclass(frozen=True, slots=True, eq=False)
class Summary:
    """One call such as ``writer.add_scalar("loss", loss, step)``."""

    program: Program
    call: ast.Call
    method: str
    family: str
    receiver: ast.expr
    tag_node: ast.expr
    tag: Tag
    value: ast.expr | None
    step: ast.expr | None
    function: FunctionNode | ast.Lambda | None

    @property
    def writer(self) -> Writer | None:
        """The writer it goes to; None when the receiver is none or unknown."""
        return writer_of(self.program, self.receiver)


def summaries(program: Program) -> list[Summary]:
    """The calls of a file that look like summaries and whose tag is seen, in source order; ask each for its writer."""
    memo: dict[ast.AST, list[Summary]] = program.memo("summaries")
    if program.module not in memo:
        found = [s for call in program.tree.calls if (s := _summary(program, call)) is not None]
        memo[program.module] = sorted(
            found, key=lambda s: (s.call.func.end_lineno or 0, s.call.func.end_col_offset or 0)
        )
    return memo[program.module]


def _summary(program: Program, call: ast.Call) -> Summary | None:
    func = call.func
    if not isinstance(func, ast.Attribute) or func.attr not in FAMILIES:
        return None
    tag = _given(program, call, "tag", 0)
    step = _given(program, call, "global_step", step_position(func.attr))
    if tag is None or (step is None and program.values.has_unpacking(call)):
        return None
    return Summary(
        program,
        call,
        func.attr,
        FAMILIES[func.attr],
        func.value,
        tag,
        static_tag(program, tag),
        _given(program, call, _VALUE.get(func.attr, "value"), 1),
        step,
        program.tree.function(call),
    )


def step_position(method: str) -> int:
    """Where a method takes ``global_step`` by position."""
    return _STEP.get(method, 2)


def _given(program: Program, call: ast.Call, name: str, position: int) -> ast.expr | None:
    values = program.values.argument(call, name, position)
    return values[0] if len(values) == 1 and isinstance(values[0], ast.expr) else None
