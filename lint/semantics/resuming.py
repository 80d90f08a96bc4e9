"""Files that go on training from checkpoints they write, and what those checkpoints leave out."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchlint.semantics.checkpoints import LOAD, loads
from torchlint.semantics.loaded import uses_of_result
from torchlint.semantics.saves import SAVE, contents, is_open, saves
from torchlint.semantics.training import trains
from torchlint.semantics.values import ABSENT, Known

if TYPE_CHECKING:
    from torchlint.semantics.program import Program

_PROGRESS = re.compile(
    r"^(?:start_|last_|current_)?(?:epochs?|steps?|iter|iters|iteration|global_step|it|n_iter)$", re.I
)
_OPTIMIZER = re.compile(r"opt|adam|sgd", re.I)
_STATELESS = ("torch.optim.SGD",)


@dataclass(frozen=True, slots=True)
class Incomplete:
    """A save without the state of ``missing``, a name of an optimizer that has some."""

    save: ast.Call
    missing: str


def incomplete_checkpoints(program: Program) -> Iterator[Incomplete]:
    """The checkpoints of a file that resumes from them, without the state of its optimizer."""
    optimizer = _optimizer(program)
    if optimizer is None or _keeps_optimizer(program) or not trains(program, program.module):
        return
    resumed = _resumed_keys(program)
    for save in saves(program):
        if not program.names.matches(save.call.func, SAVE) or is_open(program, save.payload):
            continue
        entries = list(contents(program, save.payload))
        keys = {entry.key for entry in entries}
        states = [entry for entry in entries if _is_state(entry.value)]
        if states and any(key in resumed and _PROGRESS.match(key) for key in keys):
            yield Incomplete(save.call, optimizer)


def _is_state(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr == "state_dict"


def _optimizer(program: Program) -> str | None:
    """The name of an optimizer of the file that has a state to lose; None when there is none, or none is seen."""
    for node in program.tree.nodes:
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call) or len(node.targets) != 1:
            continue
        call = node.value
        if not program.names.under(call.func, "torch.optim") or program.names.under(
            call.func, "torch.optim.lr_scheduler"
        ):
            continue
        if program.names.matches(call.func, *_STATELESS) and not _has_momentum(program, call):
            continue
        return ast.unparse(node.targets[0])
    return None


def _has_momentum(program: Program, call: ast.Call) -> bool:
    values = program.values.argument(call, "momentum", 2)
    if values == (ABSENT,):
        return False
    constants = [program.values.constant(value) for value in values if isinstance(value, ast.expr)]
    return bool(constants) and all(isinstance(c, Known) and bool(c.value) for c in constants)


def _keeps_optimizer(program: Program) -> bool:
    """Whether the state of an optimizer is saved or loaded anywhere in the file, be it by a framework's ``save_state``."""
    for node in program.tree.nodes:
        if isinstance(node, ast.Attribute) and node.attr in ("save_state", "load_state"):
            return True
        if isinstance(node, ast.Attribute) and node.attr in ("state_dict", "load_state_dict"):
            if _OPTIMIZER.search(ast.unparse(node.value)):
                return True
    return False


def _resumed_keys(program: Program) -> set[str]:
    """The keys that are read from what the file loads, when one of them goes into a model."""
    found: set[str] = set()
    for load in loads(program):
        if load.kind != LOAD:
            continue
        keys: set[str] = set()
        into_model = False
        for use in uses_of_result(program, load.call):
            parent = program.tree.parent(use)
            if isinstance(parent, ast.Subscript) and isinstance(parent.slice, ast.Constant):
                if isinstance(program.tree.statement(parent), ast.Assign | ast.AnnAssign | ast.Return):
                    keys.add(str(parent.slice.value))  # kept, and not only shown
                taker = program.tree.parent(parent)
                into_model = into_model or _loads_state(taker) or _loaded_by_name(program, parent)
        if into_model:
            found |= keys
    return found


def _loads_state(node: ast.AST | None) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "load_state_dict"


def _loaded_by_name(program: Program, entry: ast.expr) -> bool:
    """``weights = saved["model"]`` and ``net.load_state_dict(weights)`` later."""
    statement = program.tree.statement(entry)
    if not isinstance(statement, ast.Assign) or statement.value is not entry:
        return False
    return any(
        isinstance(argument, ast.Name) and any(b.statement is statement for b in program.scopes.reaching(argument))
        for call in program.tree.calls
        if _loads_state(call)
        for argument in call.args[:1]
    )
