"""What TL301's kind of cure needs of the verbs: models switched to eval mode around a region without gradients."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from torchlint.fixers.layout import Edits
from torchlint.fixers.modes import find_exits, fresh_name, surround_with_mode
from torchlint.fixers.statements import insert_after, insert_before
from torchlint.semantics.tree import FunctionNode, Tree, walk
from torchlint.source import Source

Region = ast.With | ast.AsyncWith | ast.expr


def switch_modes(
    source: Source, tree: Tree, region: Region, function: FunctionNode | None, receivers: Sequence[str]
) -> Edits | None:
    """Eval mode before the region, the earlier modes after it; for a decorator the region is the body of ``function``.

    Refuses what :func:`surround_with_mode` refuses, and several models around a region that is left early.
    """
    body = _body(region, function)
    if body is None or not receivers:
        return None
    taken = names_in(tree)
    if len(receivers) == 1:
        return surround_with_mode(source, tree, body, receivers[0], taken)
    exits = find_exits(body)
    if exits.leaving or exits.suspends:
        return None
    before: list[str] = []
    after: list[str] = []
    for receiver in receivers:
        saved = fresh_name("was_training", taken)
        taken.add(saved)
        before.extend([f"{saved} = {receiver}.training", f"{receiver}.eval()"])
        after.append(f"{receiver}.train({saved})")
    first = insert_before(source, tree, body[0], before)
    last = insert_after(source, tree, body[-1], after)
    return (*first, *last) if first is not None and last is not None else None


def switch_for_inference(source: Source, tree: Tree, region: Region, receivers: Sequence[str]) -> Edits | None:
    """Eval mode before a region of a program that never trains, where nothing has to be restored."""
    if isinstance(region, ast.expr):
        return None
    return insert_before(source, tree, region, [f"{receiver}.eval()" for receiver in receivers])


def follow_flag(
    source: Source, tree: Tree, region: Region, receivers: Sequence[str], flag: str
) -> tuple[Edits, str] | None:
    """``model.train(flag)`` before a region whose gradients depend on the flag; also the text of the first new row."""
    if isinstance(region, ast.expr):
        return None
    rows = [f"{receiver}.train({flag})" for receiver in receivers]
    edits = insert_before(source, tree, region, rows)
    return (edits, rows[0]) if edits is not None else None


def _body(region: Region, function: FunctionNode | None) -> list[ast.stmt] | None:
    if isinstance(region, ast.With | ast.AsyncWith):
        return [region]
    return function.body if function is not None else None


def names_in(tree: Tree) -> set[str]:
    """Every name the module uses, so that a new one is new."""
    found = {n.id for n in walk(tree.module) if isinstance(n, ast.Name)}
    found.update(n.arg for n in walk(tree.module) if isinstance(n, ast.arg))
    return found
