"""Verbs on method calls that move data: ``x.cuda(…)`` → ``x.to(device, …)`` and ``torch.zeros(…).cuda()`` →
``device=``.
"""

from __future__ import annotations

import ast

from torchlint.findings import Edit
from torchlint.fixers.arguments import add_keyword, prepend_argument
from torchlint.fixers.expressions import parenthesised_span, replace_expression
from torchlint.fixers.layout import Edits, call_layout, has_comment, has_unpacking, in_fstring, span
from torchlint.semantics.tree import Tree
from torchlint.source import Source


def rename_method(source: Source, tree: Tree, call: ast.Call, name: str) -> Edits | None:
    """``x.old(…)`` → ``x.name(…)``. Refuses a call that is not a method call, and inside an f-string."""
    if not isinstance(call.func, ast.Attribute) or in_fstring(tree, call):
        return None
    end = span(source, call.func)[1]
    start = end - len(call.func.attr)
    return (Edit(start, end, name),) if source.text[start:end] == call.func.attr else None


def cuda_to_device(source: Source, tree: Tree, call: ast.Call, device: str) -> Edits | None:
    """``x.cuda(0, True)`` → ``x.to(device, non_blocking=True)``; the rest of the call stays as it is laid out.

    The second positional argument of ``.cuda`` is ``non_blocking``, that of ``.to`` is the dtype, hence the keyword.
    Refuses ``*``/``**``, more than two positional arguments, and inside an f-string.
    """
    renamed = rename_method(source, tree, call, "to")
    if renamed is None or has_unpacking(call) or len(call.args) > 2:
        return None
    edits: Edits | None
    named = next((word for word in call.keywords if word.arg == "device"), None)
    if named is not None:
        edits = replace_expression(source, tree, named.value, device)
    elif call.args:
        edits = replace_expression(source, tree, call.args[0], device)
    else:
        edits = prepend_argument(source, tree, call, device)
    if edits is None:
        return None
    if len(call.args) == 2:
        start = parenthesised_span(source, tree, call.args[1])[0]
        edits = (*edits, Edit(start, start, "non_blocking="))
    return (*renamed, *edits)


def move_into_factory(source: Source, tree: Tree, call: ast.Call, device: str) -> Edits | None:
    """``torch.zeros(2, 3).cuda()`` → ``torch.zeros(2, 3, device=device)``, also for ``.to(device)``.

    Refuses when the receiver is not a call or already gives ``device`` (or may, by unpacking), when the outer call
    passes more than the device, when a comment stands between the two, and inside an f-string.
    """
    if not isinstance(call.func, ast.Attribute) or not isinstance(call.func.value, ast.Call) or in_fstring(tree, call):
        return None
    factory = call.func.value
    if len(call.args) + len(call.keywords) > 1 or any(word.arg != "device" for word in call.keywords):
        return None
    added = add_keyword(source, tree, factory, "device", device)
    if added is None or call_layout(source, call) is None:
        return None
    start, end = parenthesised_span(source, tree, factory)[1], span(source, call)[1]
    if has_comment(source.text[start:end]):
        return None
    return (*added, Edit(start, end, ""))
