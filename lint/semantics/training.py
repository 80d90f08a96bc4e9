"""Code that trains: back-propagates, steps an optimizer, or calls something that does."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from torchlint.semantics.callers import callee
from torchlint.semantics.tree import FUNCTIONS, last_name, walk

if TYPE_CHECKING:
    from torchlint.semantics.program import Program

_OPTIMIZER = re.compile(r"opt|adam|sgd|scaler|trainer", re.I)
_TRAINS = re.compile(
    r"(?:^|_)(?:train(?!ing_set|_loader|able|_data)|fit|finetune|fine_tune|optimi[sz]e)(?:_|$|[A-Z])|^train[A-Z]"
)


def trains(program: Program, node: ast.AST) -> bool:
    """Whether running ``node`` visibly takes training steps."""
    memo: dict[ast.AST, bool] = program.memo("training.trains")
    if node not in memo:
        memo[node] = any(_is_step(program, call) for call in walk(node) if isinstance(call, ast.Call))
    return memo[node]


def _is_step(program: Program, call: ast.Call) -> bool:
    func = call.func
    name = last_name(func)
    if isinstance(func, ast.Attribute):
        if name == "backward":
            return True
        if name == "step":
            return _OPTIMIZER.search(ast.unparse(func.value)) is not None
        if name == "train" and (not call.args or _is_mode(call.args)):
            return False  # model.train() switches the mode
    if _TRAINS.search(name):
        return bool(call.args or call.keywords) or isinstance(func, ast.Attribute)
    found = callee(program, call)
    return found is not None and isinstance(found.node, FUNCTIONS) and backpropagates(found.node)


def _is_mode(arguments: list[ast.expr]) -> bool:
    """``True``, ``mode``, ``self.training``: what ``nn.Module.train`` takes."""
    given = arguments[0]
    switch = isinstance(given, ast.Constant) and isinstance(given.value, bool)
    return len(arguments) == 1 and (switch or last_name(given) in ("mode", "training"))


def backpropagates(node: ast.AST) -> bool:
    """Whether ``backward()`` is called in ``node`` itself."""
    return any(
        isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "backward"
        for call in walk(node)
    )
