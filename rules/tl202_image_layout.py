"""TL202 image-layout."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchlint.findings import Edit, Finding, Fix, Safety, Severity, text
from torchlint.rules.rule import Rule
from torchlint.rules.screens import having

if TYPE_CHECKING:
    from torchlint.semantics.program import Program
    from torchlint.semantics.summaries import Summary


class ImageLayout(Rule):
    """A picture is logged in an order of channels or axes that TensorBoard does not expect.

    ## What it does
    Reports `add_image` of an OpenCV array that was never converted from BGR, and of a PIL image.

    ## Why it matters
    TensorBoard expects RGB, channels first. A BGR array shows red as blue without any error; without `dataformats="HWC"` it
    raises TypeError, as a PIL image raises NotImplementedError.

    ## Example
    ```python
    import cv2
    from torch.utils.tensorboard import SummaryWriter

    def log(path, step):
        with SummaryWriter("runs/a") as writer:
            image = cv2.imread(path)
            writer.add_image("input", image, step, dataformats="HWC")
    ```

    ## Use instead
    ```python
    import cv2
    from torch.utils.tensorboard import SummaryWriter

    def log(path, step):
        with SummaryWriter("runs/a") as writer:
            image = cv2.cvtColor(cv2.imread(path), cv2.COLOR_BGR2RGB)
            writer.add_image("input", image, step, dataformats="HWC")
    ```

    ## Fix safety
    Converts the array where it is logged and states its layout. Safe when the array is read in the same function and `cv2`
    is imported under that name. By hand when it comes from another function, and for PIL images.

    ## Stays quiet when
    - the array is converted (`cvtColor`, `[..., ::-1]`) or written in place, or its origin is not certain;
    - it is read as gray;
    - the writer is not certainly a `SummaryWriter`.

    ## References
    - https://docs.pytorch.org/docs/stable/tensorboard.html
    - https://docs.opencv.org/4.x/d4/da8/group__imgcodecs.html
    - `torchlint.runtime.board.to_chw`
    """

    code = "TL202"
    name = "image-layout"
    severity = Severity.ERROR
    screen = having(b"add_image", (b"cv2", b"PIL"))

    def check(self, program: Program) -> Iterator[Finding]:
        from torchlint.semantics.images import Picture, picture
        from torchlint.semantics.summaries import summaries

        for found in summaries(program):
            writer = found.writer if found.method == "add_image" else None
            if writer is None or not writer.sure:
                continue
            image = found.value
            kind = picture(program, image) if image is not None else None
            if image is None or kind is None:
                continue
            shown = program.code(image)
            if kind is Picture.PIL:
                message = text("`{image}` is a PIL image: `add_image` takes tensors and arrays and raises", image=shown)
                help = text('pass `np.asarray({image})` with `dataformats="HWC"`', image=shown)
                fix = Fix(help, Safety.MANUAL, reason=text("gray pictures need another layout"))
            else:
                message = text(
                    "`{image}` is an OpenCV array in BGR order: TensorBoard takes it for RGB and shows red as blue",
                    image=shown,
                )
                help = text("pass `cv2.cvtColor({image}, cv2.COLOR_BGR2RGB)`", image=shown)
                fix = _convert(program, found, image)
            yield self.finding(program, found.call, message, help, fix)


def _convert(program: Program, found: Summary, image: ast.expr) -> Fix:
    from torchlint.fixers.arguments import add_keyword
    from torchlint.semantics.values import ABSENT

    shown = program.code(image)
    title = text("convert it with `cv2.cvtColor({image}, cv2.COLOR_BGR2RGB)`", image=shown)
    if not _read_here(program, image):
        return Fix(
            title, Safety.MANUAL, reason=text("it comes from another function, where it may be converted once for all")
        )
    edits: tuple[Edit, ...] = (
        Edit(program.start(image), program.end(image), f"cv2.cvtColor({shown}, cv2.COLOR_BGR2RGB)"),
    )
    layout = program.values.argument(found.call, "dataformats", 4)
    if layout == (ABSENT,):
        stated = add_keyword(program.source, program.tree, found.call, "dataformats", '"HWC"')
        if stated is None:
            return Fix(title, Safety.MANUAL, reason=text("its layout has to be stated too"))
        edits = (*edits, *stated)
    return Fix(title, Safety.SAFE, edits)


def _read_here(program: Program, image: ast.expr) -> bool:
    """Whether the array is made by OpenCV in this function, under the name ``cv2``."""
    values = program.values.alternatives(image)
    return all(
        isinstance(v, ast.Call) and program.names.under(v.func, "cv2") and program.code(v.func).startswith("cv2.")
        for v in values
    )
