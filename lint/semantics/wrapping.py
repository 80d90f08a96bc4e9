"""Models in a wrapper that adds a prefix to their state: DataParallel, DistributedDataParallel, torch.compile."""

from __future__ import annotations

import ast
import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchlint.semantics.callers import call_sites
from torchlint.semantics.classes import attribute_values, bind, self_name
from torchlint.semantics.neighbours import imported_files
from torchlint.semantics.project import Definition
from torchlint.semantics.tree import FUNCTIONS, FunctionNode, last_name, walk

if TYPE_CHECKING:
    from torchlint.semantics.program import Program

_WRAPPERS = {
    "torch.nn.DataParallel": "module",
    "torch.nn.parallel.DistributedDataParallel": "module",
    "apex.parallel.DistributedDataParallel": "module",
    "torch.compile": "_orig_mod",
}
_SAME = frozenset({"to", "cuda", "cpu", "train", "eval", "half", "float", "double", "requires_grad_", "share_memory"})
_STRIPS = re.compile(rb"""['"]module\.|_orig_mod|consume_prefix_in_state_dict""")
_LOADS_WRAPPED = re.compile(rb"\A(?s:(?=.*load_state_dict)(?=.*(?:DataParallel\b|torch\.compile\()))")

Chain = tuple[str, ...]
_BARE: frozenset[Chain] = frozenset({()})


@dataclass(frozen=True, slots=True)
class Wrapped:
    """How a model is wrapped: the attributes that lead to the bare one, one tuple for each wrapping that is possible.

    ``certain`` when it is wrapped on every path.
    """

    chains: tuple[Chain, ...]
    certain: bool


def wrapped(program: Program, expr: ast.expr) -> Wrapped | None:
    """The wrapping of a model where an expression stands; None when no path shows one."""
    found = _chains(program, expr, 8)
    visible = tuple(sorted(chain for chain in found if chain))
    return Wrapped(visible, certain=len(visible) == len(found)) if visible else None


def _chains(program: Program, expr: ast.expr, depth: int) -> frozenset[Chain]:
    """The possible wrappings; ``()`` stands for none in sight."""
    if depth == 0:
        return _BARE
    if isinstance(expr, ast.NamedExpr):
        return _chains(program, expr.value, depth - 1)
    if isinstance(expr, ast.IfExp):
        if _is_unwrapped(expr.body) or _is_unwrapped(expr.orelse):
            return _BARE
        return _chains(program, expr.body, depth - 1) | _chains(program, expr.orelse, depth - 1)
    if isinstance(expr, ast.Call):
        return _call(program, expr, depth)
    if isinstance(expr, ast.Name):
        return _name(program, expr, depth)
    if isinstance(expr, ast.Attribute):
        return _attribute(program, expr, depth)
    return _BARE


def _is_unwrapped(expr: ast.expr) -> bool:
    """``model.module``."""
    return isinstance(expr, ast.Attribute) and expr.attr in ("module", "_orig_mod")


def _call(program: Program, call: ast.Call, depth: int) -> frozenset[Chain]:
    names = program.names.of(call.func)
    attributes = {_WRAPPERS.get(name) for name in names}
    if len(attributes) == 1 and None not in attributes:
        (attribute,) = attributes
        held = (
            call.args[0] if call.args else next((k.value for k in call.keywords if k.arg in ("module", "model")), None)
        )
        if held is None or isinstance(held, ast.Starred):
            return _BARE
        return frozenset((str(attribute), *chain) for chain in _chains(program, held, depth - 1))
    if isinstance(call.func, ast.Attribute) and call.func.attr in _SAME:
        return _chains(program, call.func.value, depth - 1)
    return _BARE


def _name(program: Program, name: ast.Name, depth: int) -> frozenset[Chain]:
    found: frozenset[Chain] = frozenset()
    for binding in program.scopes.reaching(name):
        if binding.kind in ("assign", "walrus") and binding.value is not None:
            if _is_unwrapped(binding.value):
                return _BARE  # taken out by hand on some path
            if isinstance(binding.value, ast.Constant) and binding.value.value is None:
                continue
            found |= _chains(program, binding.value, depth - 1)
        elif binding.kind == "param" and isinstance(binding.node, ast.arg):
            found |= _parameter(program, binding.node, depth)
        else:
            found |= _BARE
    return found or _BARE


def _parameter(program: Program, arg: ast.arg, depth: int) -> frozenset[Chain]:
    """What the calls in this file pass."""
    function = program.tree.parent(program.tree.parents[arg])
    if not isinstance(function, FUNCTIONS) or _is_instance(program, function, arg):
        return _BARE
    found: frozenset[Chain] = frozenset()
    for site in call_sites(program, function):
        filled = bind(site.call, function, bound=site.bound)
        given = filled.get(arg.arg) if filled is not None else None
        if site.program is not program or given is None:
            found |= _BARE
        else:
            found |= _chains(program, given, depth - 2)
    return found or _BARE


def _is_instance(program: Program, function: FunctionNode, arg: ast.arg) -> bool:
    return self_name(function) == arg.arg and program.tree.class_of(function) is not None


def _attribute(program: Program, expr: ast.Attribute, depth: int) -> frozenset[Chain]:
    """``self.model``: what the methods of the class put there."""
    function = program.tree.function(expr)
    while function is not None and program.tree.class_of(function) is None:
        function = program.tree.function(function)
    if not isinstance(function, FUNCTIONS) or not isinstance(expr.value, ast.Name):
        return _BARE
    cls = program.tree.class_of(function)
    if cls is None or self_name(function) != expr.value.id:
        return _BARE
    values = [
        (where, value) for where, value in attribute_values(Definition(program, cls), expr.attr) if not _none(value)
    ]
    if any(_is_unwrapped(value) for _, value in values):
        return _BARE
    if values and _replaces_all(*values[-1]):
        values = values[-1:]
    found: frozenset[Chain] = frozenset()
    for where, value in values:
        inner = value.args[0] if isinstance(value, ast.Call) and value.args else None
        again = isinstance(inner, ast.Attribute) and ast.dump(inner) == ast.dump(expr).replace("Store()", "Load()")
        found |= _chains(where, value, min(2, depth - 1) if again else depth - 1)
    return found or _BARE


def _replaces_all(program: Program, value: ast.expr) -> bool:
    """Whether an assignment to an attribute surely runs when the object is made, after all others."""
    statement = program.tree.statement(value)
    function = program.tree.function(value)
    return (
        isinstance(function, FUNCTIONS)
        and function.name == "__init__"
        and program.tree.blocks[statement][0] is function.body
    )


def _none(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is None


def told_apart(program: Program, call: ast.Call, receiver: ast.expr) -> bool:
    """Whether the branch around a call was chosen because the model is, or is not, wrapped."""
    wanted = ast.dump(receiver)
    conditions = _wrapping_conditions(program, receiver)
    child: ast.AST = call
    for ancestor in program.tree.ancestors(call):
        if isinstance(ancestor, ast.If | ast.IfExp | ast.Try):
            for node in walk(ancestor):
                if isinstance(node, ast.Attribute) and _is_unwrapped(node) and ast.dump(node.value) == wanted:
                    return True
            if (
                isinstance(ancestor, ast.If | ast.IfExp)
                and child is not ancestor.test
                and (_words(ancestor.test) & conditions or _asks_for_type(ancestor.test, wanted))
            ):
                return True
        if isinstance(ancestor, FUNCTIONS):
            break
        child = ancestor
    return False


def _asks_for_type(test: ast.expr, model: str) -> bool:
    """``isinstance(model, …)``, ``hasattr(model, "module")``: whether a condition asks what the model is."""
    return any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ("isinstance", "hasattr")
        and bool(node.args)
        and ast.dump(node.args[0]) == model
        for node in walk(test)
    )


def _wrapping_conditions(program: Program, receiver: ast.expr) -> set[str]:
    """The names in the conditions under which a name is bound to a wrapper."""
    found: set[str] = set()
    if isinstance(receiver, ast.Name):
        for binding in program.scopes.reaching(receiver):
            if binding.statement is None or not isinstance(binding.value, ast.Call):
                continue
            for ancestor in program.tree.ancestors(binding.statement):
                if isinstance(ancestor, ast.If):
                    found |= _words(ancestor.test)
                if isinstance(ancestor, FUNCTIONS):
                    break
    return found


def _words(test: ast.expr) -> set[str]:
    """The names and dotted names a condition asks about."""
    found = {ast.unparse(node) for node in walk(test) if isinstance(node, ast.Name | ast.Attribute)}
    return {name for name in found if not any(other.startswith(name + ".") for other in found)}


def loaded_wrapped(program: Program) -> bool:
    """Whether the file, or another of the project, loads states with their prefix or takes it off."""
    if any(_strips(node) for node in program.tree.nodes):
        return True
    return _loads_into_wrapper(program) or _elsewhere(program)


def _loads_into_wrapper(program: Program) -> bool:
    return any(
        isinstance(call.func, ast.Attribute)
        and call.func.attr == "load_state_dict"
        and wrapped(program, call.func.value) is not None
        for call in program.tree.calls
    )


def _strips(node: ast.AST) -> bool:
    """Whether a piece of code speaks of the prefix; comments and docstrings may explain it."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str) and node.value.startswith(("module.", "_orig_mod"))
    name = last_name(node)
    return name in ("_orig_mod", "consume_prefix_in_state_dict_if_present")


def _elsewhere(program: Program) -> bool:
    """Whether a module that this file imports does so, or a neighbour that imports this file or one of the same modules,
    or a script in the same folder that loads into a wrapper, unless both write out other names of checkpoints.
    """
    project = program.project
    if project is None:
        return False
    here = os.path.abspath(program.source.path)
    imported = set(imported_files(program))
    near = [path for path in project.files() if os.path.dirname(path) == os.path.dirname(here)]
    for path in sorted({*near, *imported} - {here}):
        raw = project.raw(path)
        if raw is None or b"load_state_dict" not in raw or not (_STRIPS.search(raw) or _LOADS_WRAPPED.search(raw)):
            continue
        other = project.program(path) if path not in imported else None
        related = other is not None and not (imported | {here}).isdisjoint(imported_files(other))
        if path in imported or related or (other is not None and _may_share(program, other)):
            project.used.add(path)
            return True
    return False


def _may_share(program: Program, other: Program) -> bool:
    """Whether a neighbour loads into a wrapper what may be the checkpoint of this file."""
    own = _checkpoint_names(program)
    return _loads_into_wrapper(other) and (not own or not own.isdisjoint(_checkpoint_names(other)))


def _checkpoint_names(program: Program) -> set[str]:
    """The file names of checkpoints that a file writes out; ``*`` stands for what it fills in."""
    found: set[str] = set()
    for node in program.tree.nodes:
        if isinstance(node, ast.JoinedStr):
            parts = (str(v.value) if isinstance(v, ast.Constant) else "*" for v in node.values)
            found.add(os.path.basename("".join(parts)))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.add(os.path.basename(node.value))
    return {name for name in found if name.endswith((".pt", ".pth", ".ckpt", ".tar", ".bin", ".pkl", ".pth.tar"))}
