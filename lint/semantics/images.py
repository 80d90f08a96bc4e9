"""What kind of picture an expression holds: who made it, its channel order and layout."""

from __future__ import annotations

import ast
import enum
from typing import TYPE_CHECKING

from torchlint.semantics.tree import FUNCTIONS, walk_scope

if TYPE_CHECKING:
    from torchlint.semantics.program import Program

_READERS = ("cv2.imread", "cv2.imdecode", "cv2.applyColorMap")
# OpenCV functions that keep the channel order of their first argument.
_KEEPERS = (
    "cv2.resize", "cv2.addWeighted", "cv2.flip", "cv2.rotate", "cv2.GaussianBlur", "cv2.medianBlur", "cv2.blur",
    "cv2.copyMakeBorder", "cv2.warpAffine", "cv2.warpPerspective", "cv2.rectangle", "cv2.putText", "cv2.line", "cv2.circle",
    "numpy.ascontiguousarray", "numpy.asarray", "numpy.array", "numpy.copy",
)  # fmt: skip
_PIL = ("PIL.Image.open", "PIL.Image.fromarray", "PIL.Image.new")
_PIL_METHODS = frozenset({"convert", "resize", "crop", "rotate", "copy", "filter"})


class Picture(enum.Enum):
    """Where a picture certainly comes from."""

    BGR = "an OpenCV array in BGR order"
    PIL = "a PIL image"


def picture(program: Program, expr: ast.expr, depth: int = 6) -> Picture | None:
    """The kind of picture, when every path agrees; None when it is converted or unknown."""
    if depth == 0:
        return None
    if isinstance(expr, ast.Name):
        bindings = program.scopes.reaching(expr)
        if _is_changed_in_place(program, expr):
            return None
        if not bindings or any(b.kind != "assign" or b.value is None for b in bindings):
            return None
        found = {picture(program, b.value, depth - 1) for b in bindings if b.value is not None}
        return found.pop() if len(found) == 1 else None
    if isinstance(expr, ast.IfExp):
        first, second = picture(program, expr.body, depth - 1), picture(program, expr.orelse, depth - 1)
        return first if first is second else None
    if not isinstance(expr, ast.Call):
        return None
    names = program.names
    if names.matches(expr.func, *_READERS):
        return None if _is_gray(expr) else Picture.BGR
    if names.matches(expr.func, *_PIL):
        return Picture.PIL
    if names.matches(expr.func, *_KEEPERS):
        inner = picture(program, expr.args[0], depth - 1) if expr.args else None
        return inner if inner is Picture.BGR else None  # an array made of a PIL image is RGB
    if isinstance(expr.func, ast.Attribute) and expr.func.attr in ("copy", *_PIL_METHODS):
        held = picture(program, expr.func.value, depth - 1)
        return held if held is Picture.PIL or expr.func.attr == "copy" else None
    return _returned(program, expr, depth)


def _is_gray(call: ast.Call) -> bool:
    """Whether ``imread`` is asked for something else than three channels in OpenCV's order."""
    flags = call.args[1:2] or [word.value for word in call.keywords if word.arg in ("flags", None)]
    return any(not (isinstance(flag, ast.Attribute) and flag.attr == "IMREAD_COLOR") for flag in flags)


def _is_changed_in_place(program: Program, name: ast.Name) -> bool:
    """Whether a statement of the scope may reorder the channels of the array itself: ``image[...] = image[..., ::-1]``
    and ``cv2.cvtColor(image, code, image)``.
    """
    around: ast.AST = program.tree.function(name) or program.module
    for node in walk_scope(around):
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            if isinstance(node.value, ast.Name) and node.value.id == name.id:
                return True
        elif isinstance(node, ast.Call) and program.names.matches(node.func, "cv2.cvtColor"):
            into = [*node.args[2:], *(word.value for word in node.keywords if word.arg == "dst")]
            if any(isinstance(value, ast.Name) and value.id == name.id for value in into):
                return True
    return False


def _returned(program: Program, call: ast.Call, depth: int) -> Picture | None:
    """What a function in reach gives back."""
    target = program.definition(call.func)
    if target is None or not isinstance(target.node, FUNCTIONS):
        return None
    values = [n.value for n in walk_scope(target.node) if isinstance(n, ast.Return)]
    if not values or any(v is None for v in values):
        return None
    found = {picture(target.program, v, depth - 1) for v in values if v is not None}
    return found.pop() if len(found) == 1 else None
