"""Which part of a run a place belongs to: training, validation, test; and what says so."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchlint.semantics.branches import guards
from torchlint.semantics.quantities import subjects, words
from torchlint.semantics.tree import FUNCTIONS, last_name

if TYPE_CHECKING:
    from torchlint.semantics.program import Program

_WORDS = {
    "train": "train", "training": "train", "trn": "train", "val": "val", "valid": "val", "validate": "val",
    "validation": "val", "validating": "val", "dev": "val", "vali": "val", "test": "test", "testing": "test",
    "tst": "test", "eval": "eval", "evaluate": "eval", "evaluation": "eval", "evaluating": "eval",
    "evaluator": "eval",
}  # fmt: skip
_ORDER = ("val", "test", "eval")


@dataclass(frozen=True, slots=True)
class Phase:
    """``name`` is train, val, test or eval; ``source`` is value, call, loop, guard, block or function."""

    name: str
    source: str

    def differs(self, other: Phase) -> bool:
        """Whether two places surely log for different phases (an evaluation may be the validation or the test)."""
        if self.name == other.name:
            return False
        return "train" in (self.name, other.name) or "eval" not in (self.name, other.name)


def phase_words(text: str) -> str | None:
    """The phase the words of a text name; None when they name none, or training and another one."""
    found = {_WORDS[word] for word in words(text) if word in _WORDS}
    if "train" in found:
        return "train" if len(found) == 1 else None
    return next((name for name in _ORDER if name in found), None)


def is_phase_word(word: str) -> bool:
    """Whether a word names a phase."""
    return word in _WORDS


def phase(program: Program, node: ast.AST, value: ast.expr | None = None) -> Phase | None:
    """The phase in which ``node`` runs, or to which ``value`` belongs.

    Values say it best, then what computed them, the loops and tests around, what ran before in the block, at last the
    function's name.
    """
    for name, source in _evidence(program, node, value):
        if name is not None:
            return Phase(name, source)
    return None


def _evidence(program: Program, node: ast.AST, value: ast.expr | None) -> Iterator[tuple[str | None, str]]:
    yield phase_words(" ".join(subjects(value))), "value"
    yield _computed_by(program, value), "call"
    for loop in program.tree.loops(node):
        yield _of_loop(program, loop), "loop"
    for guard in guards(program, node):
        yield _of_test(guard.test, guard.outcome), "guard"
    yield _of_block(program, node), "block"
    function = program.tree.function(node)
    while function is not None:
        if isinstance(function, FUNCTIONS):
            yield phase_words(function.name), "function"
        function = program.tree.function(function)


def _computed_by(program: Program, value: ast.expr | None) -> str | None:
    """The phase in the call that gave the value its name: ``loss, acc = evaluate(model, val_loader)``."""
    for name in ast.walk(value) if value is not None else ():
        if not isinstance(name, ast.Name):
            continue
        bindings = program.scopes.reaching(name)
        if len(bindings) == 1 and bindings[0].kind in ("assign", "unpack") and isinstance(bindings[0].value, ast.Call):
            found = _of_call(bindings[0].value)
            if found is not None:
                return found
    return None


def _of_call(call: ast.Call) -> str | None:
    func = call.func
    named = last_name(func)
    given = [_last(a) for a in (*call.args, *(k.value for k in call.keywords))]
    constants = [a.value for a in call.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
    return phase_words(" ".join([*given, *constants])) or phase_words(named)


def _last(expr: ast.expr) -> str:
    return last_name(expr)


def _of_loop(program: Program, loop: ast.stmt) -> str | None:
    """The phase in what a loop runs over; a number of epochs or steps says nothing."""
    if not isinstance(loop, ast.For | ast.AsyncFor):
        return None
    parts: Iterable[ast.AST] = [loop.iter]
    if (
        isinstance(loop.iter, ast.Call)
        and isinstance(loop.iter.func, ast.Name)
        and loop.iter.func.id in ("range", "trange")
    ):
        parts = [
            n
            for n in ast.walk(loop.iter)
            if isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id == "len"
        ]
    found = phase_words(" ".join(text for part in parts for text in _texts(part)))
    return found or phase_words(" ".join(text for part in parts for text in _made_from(program, part)))


def _texts(node: ast.AST) -> Iterator[str]:
    """Names, attributes and strings below a node."""
    for child in ast.walk(node):
        if isinstance(child, ast.Name):
            yield child.id
        elif isinstance(child, ast.Attribute):
            yield child.attr
        elif isinstance(child, ast.Constant) and isinstance(child.value, str):
            yield child.value


def _made_from(program: Program, node: ast.AST) -> Iterator[str]:
    """What the names below a node are made from: the data behind ``bar = tqdm(train_loader)``."""
    for child in ast.walk(node):
        if isinstance(child, ast.Name):
            bindings = program.scopes.reaching(child)
            if len(bindings) == 1 and bindings[0].kind == "assign" and isinstance(bindings[0].value, ast.Call):
                for arg in (*bindings[0].value.args, *(k.value for k in bindings[0].value.keywords)):
                    yield from _texts(arg)


def _of_test(test: ast.expr, outcome: bool) -> str | None:
    while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test, outcome = test.operand, not outcome
    if (
        isinstance(test, ast.Compare)
        and len(test.ops) == 1
        and isinstance(test.ops[0], ast.Eq | ast.NotEq | ast.Is | ast.IsNot)
    ):
        outcome = outcome is isinstance(test.ops[0], ast.Eq | ast.Is)
        right = test.comparators[0]
        text = right.value if isinstance(right, ast.Constant) and isinstance(right.value, str) else _last(right)
        name = phase_words(text)
    elif isinstance(test, ast.Name | ast.Attribute):
        text = _last(test)
        name = (
            phase_words(text)
            if set(words(text)) <= {"train", "training", "is", "val", "validation", "test", "eval", "mode"}
            else None
        )
    else:
        return None
    if name is None or outcome:
        return name
    return "eval" if name == "train" else "train" if name in ("val", "eval") else None


def _of_block(program: Program, node: ast.AST) -> str | None:
    """The phase of the nearest statement before.

    A loop over a phase's data, ``model.train()``, ``model.eval()``, a call.
    """
    statement = program.tree.statement(node)
    while True:
        block, index = program.tree.blocks[statement]
        for before in reversed(block[:index]):
            found = _of_statement(program, before)
            if found is not None:
                return found
        parent = program.tree.parents[statement]
        if not isinstance(parent, ast.stmt) or isinstance(parent, (*FUNCTIONS, ast.ClassDef)):
            return None
        statement = parent


def _of_statement(program: Program, statement: ast.stmt) -> str | None:
    if isinstance(statement, ast.With | ast.AsyncWith):
        return _last_of(program, statement.body)
    if isinstance(statement, ast.For | ast.AsyncFor):
        inner: list[ast.stmt] = [s for s in statement.body if isinstance(s, ast.For | ast.AsyncFor | ast.With)]
        return _of_loop(program, statement) or _last_of(program, inner)
    value = statement.value if isinstance(statement, ast.Expr | ast.Assign | ast.AnnAssign) else None
    if not isinstance(value, ast.Call):
        return None
    if isinstance(statement, ast.Expr) and isinstance(value.func, ast.Attribute):
        if value.func.attr in ("train", "eval"):
            return _of_switch(value, value.func.attr)
        if value.func.attr.startswith("add_"):
            return None
    return _of_call(value)


def _last_of(program: Program, block: list[ast.stmt]) -> str | None:
    return next((found for s in reversed(block) if (found := _of_statement(program, s)) is not None), None)


def _of_switch(call: ast.Call, method: str) -> str | None:
    """The phase behind ``model.train()``, ``model.train(False)`` or ``model.eval()``; None for other methods of the name."""
    if method == "eval":
        return None if call.args else "eval"
    if not call.args:
        return "train"
    mode = call.args[0]
    return None if not isinstance(mode, ast.Constant) else "eval" if mode.value is False else "train"
