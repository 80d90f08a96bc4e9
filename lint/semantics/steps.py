"""The step of a summary in the loops around it: whether there is one, and whether it starts again."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchlint.semantics.branches import guards, runs_once
from torchlint.semantics.loops import Varies, varies
from torchlint.semantics.summaries import Summary

if TYPE_CHECKING:
    from torchlint.semantics.program import Program

Loop = ast.For | ast.AsyncFor | ast.While


def has_step(summary: Summary) -> bool:
    """Whether a call passes a step; ``global_step=None`` is none."""
    step = summary.step
    return step is not None and not (isinstance(step, ast.Constant) and step.value is None)


def loops_of_series(program: Program, summary: Summary) -> list[Loop]:
    """The loops around a summary that log under one tag of one writer turn after turn, innermost first.

    Empty when the writer is not certainly a ``SummaryWriter`` of this project's making: a wrapper may count steps itself.
    So it is below ``with writer.use_metadata(global_step=…)`` of tensorboardX, which gives the step to every call.
    """
    writer = summary.writer
    if writer is None or not writer.sure or writer.made is None:
        return []
    if any(isinstance(a, ast.With) and _gives_step(a) for a in program.tree.ancestors(summary.call)):
        return []
    around = set(program.tree.ancestors(writer.made))
    loops: list[Loop] = []
    for loop in program.tree.loops(summary.call):
        if loop in around or varies(program, summary.tag_node, loop) is not Varies.NO:
            break
        if not _is_reached_once(program, summary.call, loop):
            loops.append(loop)
    return loops


def _is_reached_once(program: Program, call: ast.Call, loop: Loop) -> bool:
    """Whether a loop reaches a call in one turn only: it is left behind it, or asks for one value of its counter."""
    if runs_once(program, call, loop):
        return True
    name = loop.target.id if isinstance(loop, ast.For) and isinstance(loop.target, ast.Name) else counter(loop)
    for guard in guards(program, call, loop):
        test = guard.test
        if guard.outcome and isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq):
            sides = (test.left, test.comparators[0])
            if any(isinstance(side, ast.Name) and side.id == name for side in sides):
                return True
    return False


def _gives_step(block: ast.With) -> bool:
    calls = [item.context_expr for item in block.items if isinstance(item.context_expr, ast.Call)]
    return any(isinstance(call.func, ast.Attribute) and call.func.attr == "use_metadata" for call in calls)


def counter(loop: Loop) -> str | None:
    """The name that counts the turns: of ``for i in range(…)`` and ``for i, x in enumerate(…)``."""
    if not isinstance(loop, ast.For) or not isinstance(loop.iter, ast.Call) or not isinstance(loop.iter.func, ast.Name):
        return None
    if loop.iter.func.id == "range" and isinstance(loop.target, ast.Name):
        return loop.target.id
    if loop.iter.func.id == "enumerate" and isinstance(loop.target, ast.Tuple):
        first = loop.target.elts[0]
        return first.id if isinstance(first, ast.Name) else None
    return None


def starts_again(program: Program, summary: Summary, loops: list[Loop]) -> bool:
    """Whether the step is the counter of the inner of two loops, so that each turn of the outer one repeats its steps."""
    if len(loops) != 2 or not isinstance(summary.step, ast.Name) or counter(loops[1]) is None:
        return False
    inner, outer = loops
    if summary.step.id != counter(inner) or not isinstance(inner, ast.For) or not isinstance(inner.iter, ast.Call):
        return False
    whole = isinstance(inner.iter.func, ast.Name) and inner.iter.func.id == "range"
    bounds = [*(inner.iter.args if whole else inner.iter.args[1:]), *(k.value for k in inner.iter.keywords)]
    if any(varies(program, value, outer) is not Varies.NO for value in bounds):
        return False
    return all(binding.kind == "for" for binding in program.scopes.reaching(summary.step))
