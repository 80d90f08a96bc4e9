"""Data that a file has put on the accelerator before a loader gets it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchlint.semantics.datasets import WRAPPERS, is_builtin
from torchlint.semantics.devices import place

if TYPE_CHECKING:
    from torchlint.semantics.program import Program

_HOLDERS = (*WRAPPERS, "torch.utils.data.TensorDataset")
_BUILDERS = frozenset({"list", "tuple", "zip"})
_DEFAULTS = ("torch.set_default_device", "torch.set_default_tensor_type")
_BACK = frozenset({"cpu", "numpy", "tolist", "item"})


def on_device(program: Program, data: ast.expr, depth: int = 10) -> bool:
    """Whether data may lie on the accelerator already, so that nothing is left to copy and it cannot be pinned.

    Looked up through names, splits, ``TensorDataset`` and methods of tensors. A default device of the file counts for
    what the file makes itself.
    """
    if depth == 0:
        return False
    if isinstance(data, ast.Name):
        return any(_bound(program, b.kind, b.value, b.index, depth) for b in program.scopes.reaching(data))
    if isinstance(data, ast.List | ast.Tuple):
        return any(on_device(program, part, depth - 1) for part in data.elts)
    if isinstance(data, ast.ListComp):
        return on_device(program, data.elt, depth - 1)
    if isinstance(data, ast.Subscript | ast.Starred):
        return on_device(program, data.value, depth - 1)
    if isinstance(data, ast.IfExp):
        return on_device(program, data.body, depth - 1) or on_device(program, data.orelse, depth - 1)
    return isinstance(data, ast.Call) and _call(program, data, depth)


def _bound(program: Program, kind: str, value: ast.expr | None, index: int | None, depth: int) -> bool:
    if value is None or kind not in ("assign", "walrus", "unpack"):
        return False
    if kind == "unpack" and isinstance(value, ast.Tuple) and index is not None and index < len(value.elts):
        value = value.elts[index]
    return on_device(program, value, depth - 1)


def _call(program: Program, call: ast.Call, depth: int) -> bool:
    name = program.names.one(call.func) or ""
    if name in _HOLDERS or is_builtin(program, call.func, _BUILDERS):
        return any(on_device(program, part, depth - 1) for part in call.args)
    if _goes_to_device(program, call):
        return True
    if name.startswith("torch.") and name.count(".") == 1 and next(program.calls_to(*_DEFAULTS), None) is not None:
        return True
    if not isinstance(call.func, ast.Attribute) or call.func.attr in _BACK or name not in ("", "?"):
        return False
    stays = call.func.attr != "to" or not _is_host(program, call)
    return stays and on_device(program, call.func.value, depth - 1)


def _goes_to_device(program: Program, call: ast.Call) -> bool:
    """``x.cuda()``, ``x.to(device)`` and ``torch.zeros(3, device=device)`` for a device that may be an accelerator."""
    if isinstance(call.func, ast.Attribute) and call.func.attr in ("cuda", "xpu"):
        return True
    found = _named_place(program, call)
    return found is not None and place(program, found).device and not place(program, found).cpu


def _is_host(program: Program, call: ast.Call) -> bool:
    found = _named_place(program, call)
    return found is not None and place(program, found).cpu


def _named_place(program: Program, call: ast.Call) -> ast.expr | None:
    word = next((word.value for word in call.keywords if word.arg == "device"), None)
    if word is not None:
        return word
    moves = isinstance(call.func, ast.Attribute) and call.func.attr == "to" and call.args
    return call.args[0] if moves and not isinstance(call.args[0], ast.Starred) else None
