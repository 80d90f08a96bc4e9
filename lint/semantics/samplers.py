"""Distributed samplers: whether each epoch gets an order of its own."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchlint.semantics.batches import loaders_of
from torchlint.semantics.classes import method, self_name
from torchlint.semantics.loaders import loader_argument
from torchlint.semantics.neighbours import imported_files
from torchlint.semantics.phases import phase_words
from torchlint.semantics.project import Definition
from torchlint.semantics.tree import FUNCTIONS, FunctionNode, walk
from torchlint.semantics.values import ABSENT, Known

if TYPE_CHECKING:
    from torchlint.semantics.program import Program

SAMPLER = "torch.utils.data.DistributedSampler"
_SHUFFLE_POSITION = 3
_FRAMEWORKS = re.compile(
    r"\b(?:lightning|pytorch_lightning|accelerate|ignite|catalyst|composer|transformers|ray\.train)\b"
)
_EPOCH = re.compile(r"epoch", re.I)


@dataclass(frozen=True, slots=True)
class Repeated:
    """A shuffling sampler whose loader is run through once an epoch, and the loop over epochs. ``name`` is what the
    sampler is bound to where the loop stands, if that is the same scope; ``optional`` when that may be None.
    """

    sampler: ast.Call
    loop: ast.For
    name: ast.Name | None
    optional: bool


def repeated_orders(program: Program) -> Iterator[Repeated]:
    """The samplers of a file that shuffle and are never told the epoch, although a loop over epochs runs them."""
    text = program.source.text
    if "set_epoch" in text or _FRAMEWORKS.search(text) or _told_elsewhere(program):
        return
    loops = [(loop, loaders) for loop in _epoch_loops(program) if (loaders := _run_in(program, loop))]
    for call in program.calls_to(SAMPLER):
        if not _shuffles(program, call):
            continue
        for loop, loaders in loops:
            found = _through(program, call, loop, loaders)
            if found is not None:
                yield found
                break


def _told_elsewhere(program: Program) -> bool:
    """Whether a module that the file imports speaks of it."""
    project = program.project
    if project is None:
        return False
    for path in imported_files(program):
        if b"set_epoch" in (project.raw(path) or b""):
            project.used.add(path)
            return True
    return False


def _shuffles(program: Program, call: ast.Call) -> bool:
    values = program.values.argument(call, "shuffle", _SHUFFLE_POSITION)
    if values == (ABSENT,):
        return True
    constants = [program.values.constant(value) for value in values if isinstance(value, ast.expr)]
    return len(constants) == len(values) and all(isinstance(c, Known) and c.value is True for c in constants)


def _epoch_loops(program: Program) -> Iterator[ast.For]:
    for node in program.tree.nodes:
        if isinstance(node, ast.For) and isinstance(node.target, ast.Name):
            counts = isinstance(node.iter, ast.Call) and "range" in ast.unparse(node.iter.func)
            if not counts or not (_EPOCH.search(node.target.id) or _EPOCH.search(ast.unparse(node.iter))):
                continue
            if ast.unparse(node.iter) != "range(1)":
                yield node


def _run_in(program: Program, loop: ast.For) -> frozenset[ast.Call]:
    """The loaders that are run through in a loop, or handed to a function there, or run through by a method that is
    called there.
    """
    found: frozenset[ast.Call] = frozenset()
    for node in walk(loop):
        if isinstance(node, ast.For) and node is not loop:
            found |= loaders_of(program, node.iter)
        elif isinstance(node, ast.Call):
            for given in (*node.args, *(word.value for word in node.keywords)):
                if isinstance(given, ast.Name | ast.Attribute):
                    found |= loaders_of(program, given)
            run = _own_method(program, node)
            for inner in walk(run) if run is not None else ():
                if isinstance(inner, ast.For):
                    found |= loaders_of(program, inner.iter)
    return found


def _own_method(program: Program, call: ast.Call) -> FunctionNode | None:
    """The method of the same class that ``self.run_epoch(epoch)`` calls."""
    function = program.tree.function(call)
    cls = program.tree.class_of(function) if isinstance(function, FUNCTIONS) else None
    if cls is None or not isinstance(function, FUNCTIONS) or not isinstance(call.func, ast.Attribute):
        return None
    if not isinstance(call.func.value, ast.Name) or call.func.value.id != self_name(function):
        return None
    found = method(Definition(program, cls), call.func.attr)
    if found is None or found.program is not program or not isinstance(found.node, FUNCTIONS):
        return None
    return found.node


def _through(program: Program, sampler: ast.Call, loop: ast.For, loaders: frozenset[ast.Call]) -> Repeated | None:
    for loader in loaders:
        given = loader_argument(program, loader, "sampler")
        if given is None:
            continue
        values = program.values.alternatives(given)
        if sampler not in values or _only_judges(program, sampler, loader) or _is_told(program, sampler, loop):
            continue
        if not isinstance(given, ast.Name) or not _same_name(program, given, loop, sampler):
            return Repeated(sampler, loop, None, True)
        return Repeated(sampler, loop, given, len(values) > 1 or not program.scopes.bound_on_every_path(given.id, loop))
    return None


def _is_told(program: Program, sampler: ast.Call, loop: ast.For) -> bool:
    """Whether the loop makes the sampler anew with a seed, or writes the number that ``set_epoch`` would write."""
    if loop in program.tree.ancestors(sampler) and program.values.argument(sampler, "seed", 4) != (ABSENT,):
        return True
    return any(
        isinstance(node, ast.Attribute) and node.attr == "epoch" and isinstance(node.ctx, ast.Store)
        for node in walk(loop)
    )


def _only_judges(program: Program, sampler: ast.Call, loader: ast.Call) -> bool:
    """Whether a name says that the data is for validation, whose order does not matter."""
    texts = []
    for call in (sampler, loader):
        statement = program.tree.statement(call)
        if isinstance(statement, ast.Assign) and statement.value is call:
            texts += [ast.unparse(target) for target in statement.targets]
        data = program.values.argument(call, "dataset", 0)
        texts += [ast.unparse(value) for value in data if isinstance(value, ast.expr)]
    phases = {phase_words(text) for text in texts} - {None}
    return bool(phases) and "train" not in phases


def _same_name(program: Program, name: ast.Name, loop: ast.For, sampler: ast.Call) -> bool:
    """Whether a name means the sampler where the loop stands as well."""
    if program.tree.function(name) is not program.tree.function(loop):
        return False
    bindings = program.scopes.reaching_at(name.id, loop.body[0])
    return any(sampler in program.values.alternatives(b.value) for b in bindings if b.value is not None)
