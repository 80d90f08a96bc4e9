"""Evaluation passes with gradients on: loops over data in which a model runs and nothing is back-propagated."""

from __future__ import annotations

import ast
import builtins
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchlint.semantics.backward import backwards
from torchlint.semantics.callers import call_sites, callee, files_calling
from torchlint.semantics.classes import lineage, methods, self_name
from torchlint.semantics.evalmode import VALIDATION
from torchlint.semantics.frames import Event
from torchlint.semantics.gradients import FLAG, switch
from torchlint.semantics.modes import Mode
from torchlint.semantics.module_classes import is_framework_class
from torchlint.semantics.project import Definition
from torchlint.semantics.receivers import is_module
from torchlint.semantics.tree import FUNCTIONS, last_name, walk, walk_scope

if TYPE_CHECKING:
    from torchlint.semantics.loops import Loop
    from torchlint.semantics.program import Program

_DATA = re.compile(r"load|data|batch|dl$|set$|iter|samples|images|inputs", re.IGNORECASE)
_HELD_OUT = re.compile(
    r"(^|_)(val|valid|validation|test|dev|eval)(_|$)|(val|valid|test)_?(data)?_?(load|dl|iter|set)", re.I
)
_NO_MODEL = re.compile(r"loss|criterion|metric|optim|sched|loader|transform|^fn$|func|tokeni|process", re.IGNORECASE)
_WRAPPERS = frozenset(
    {"enumerate", "tqdm", "zip", "iter", "list", "track", "islice", "trange", "progress_bar", "sorted"}
)
MODEL_NAME = re.compile(
    r"(^|_)(model|net|network|classifier|generator|discriminator|encoder|decoder|backbone|teacher|student|module)(_|\d*$)"
    r"|model$|net$",
    re.IGNORECASE,
)
# Words that say that gradients are wanted, or what is done with them.
_GRADIENTS = frozenset({
    "backward", "grad", "requires_grad_", "enable_grad", "register_hook", "register_full_backward_hook", "vjp", "jvp",
    "jacobian", "hessian", "vmap", "functional_call", "zero_grad", "manual_backward", "retain_grad", "jacrev", "jacfwd",
})  # fmt: skip
_ATTACK = re.compile(
    r"attack|advers|fgsm|pgd|salien|attribut|cam$|gradcam|influence|perturb|explain|captum|craft", re.I
)
_HARMLESS_MANAGERS = re.compile(
    r"autocast|open|nullcontext|tqdm|progress|timer|device|profile|record|suppress|catch_warn|join"
)
_HARMLESS_DECORATORS = frozenset(
    {"staticmethod", "classmethod", "property", "timer", "record", "main", "overrides", "override"}
)


_BUILTINS = frozenset(dir(builtins))


@dataclass(frozen=True, slots=True)
class GradientPass:
    """One such loop: the call that runs the model, and whether the model surely is in eval mode there."""

    loop: ast.For | ast.AsyncFor
    call: ast.Call
    in_eval_mode: bool


def gradient_passes(program: Program) -> Iterator[GradientPass]:
    """The evaluation passes of a file that build graphs for nothing, each loop once, in source order."""
    if "torch" not in program.source.text or not evaluation_loops(program) or _switched_off(program):
        return
    groups: dict[ast.Call, list[Event]] = {}
    for event in program.flow.events:
        if event.kind == "forward" and event.program is program:
            groups.setdefault(event.node, []).append(event)
    seen: set[ast.AST] = set()
    for node, events in sorted(groups.items(), key=lambda item: (item[0].lineno, item[0].col_offset)):
        loop = _pass_around(program, node) if _runs_directly(program, node) else None
        if loop is None or loop in seen or not _unwatched(program, node, loop):
            continue
        every = [*events, *_from_other_files(program, node)]
        if any(e.region is not None for e in every) or not _is_network(every):
            continue
        sure = all(s.mode is Mode.EVAL and s.sources for e in every for _, s in e.receivers)
        if sure or _is_evaluation(program, loop):
            seen.add(loop)
            yield GradientPass(loop, node, sure)


def evaluation_loops(program: Program) -> list[ast.For | ast.AsyncFor]:
    """The loops over data that run something and in which nothing asks for gradients. A cheap look, errs to too many."""
    memo: dict[ast.AST, list[ast.For | ast.AsyncFor]] = program.memo("gradpass.loops")
    if program.module not in memo:
        memo[program.module] = [
            loop
            for loop in program.tree.binders
            if isinstance(loop, ast.For | ast.AsyncFor)
            and _over_data(loop.iter)
            and any(isinstance(n, ast.Call) and _may_run_directly(n) for n in walk(loop))
            and not any(_wants(program, n, 0) for n in walk(loop))
        ]
    return memo[program.module]


def _may_run_directly(call: ast.Call) -> bool:
    func = call.func
    if isinstance(func, ast.Name):
        return not _NO_MODEL.search(func.id) and func.id not in _BUILTINS
    return isinstance(func, ast.Attribute) and (
        func.attr == "forward"
        or (
            not _NO_MODEL.search(func.attr) and (isinstance(func.value, ast.Name) or bool(MODEL_NAME.search(func.attr)))
        )
    )


# -- which loop -----------------------------------------


def _runs_directly(program: Program, call: ast.Call) -> bool:
    """Whether the call is ``model(x)`` or ``self.model(x)``: other methods may turn gradients off themselves."""
    func = call.func
    if isinstance(func, ast.Name):
        return not _NO_MODEL.search(func.id)
    if not isinstance(func, ast.Attribute):
        return False
    if func.attr == "forward":
        return True
    if callee(program, call) is not None or _NO_MODEL.search(func.attr):
        return False
    function = program.tree.function(call)
    while function is not None and program.tree.class_of(function) is None:
        function = program.tree.function(function)
    own = isinstance(function, FUNCTIONS) and isinstance(func.value, ast.Name) and func.value.id == self_name(function)
    return own or MODEL_NAME.search(func.attr) is not None


def _is_network(events: list[Event]) -> bool:
    return all(any(is_module(e, o) and not _NO_MODEL.search(o.name) for o, _ in e.receivers) for e in events)


def _pass_around(program: Program, node: ast.AST) -> ast.For | ast.AsyncFor | None:
    """The outermost loop over data around a call in which nothing trains."""
    found: ast.For | ast.AsyncFor | None = None
    for loop in program.tree.loops(node):
        if _wants_gradients(program, loop):
            break
        if isinstance(loop, ast.For | ast.AsyncFor) and _over_data(loop.iter):
            found = loop
    return found


def _over_data(iterable: ast.expr) -> bool:
    return any(_DATA.search(word) for word in _source_words(iterable))


def _source_words(iterable: ast.expr) -> list[str]:
    """The names an iterable is made of, without what only wraps it: ``enumerate(tqdm(test_loader))``."""
    found: list[str] = []
    for node in walk(iterable):
        word = last_name(node)
        if word and word not in _WRAPPERS and word not in ("range", "len"):
            found.append(word)
    plain = isinstance(iterable, ast.Call) and isinstance(iterable.func, ast.Name) and iterable.func.id == "range"
    return [] if plain else found


def _is_evaluation(program: Program, loop: ast.For | ast.AsyncFor) -> bool:
    """Whether a name says that a loop evaluates: that of its function, or of what it runs over."""
    if any(_HELD_OUT.search(word) for word in _source_words(loop.iter)):
        return True
    function = program.tree.function(loop)
    return isinstance(function, FUNCTIONS) and VALIDATION.search(function.name) is not None


# -- what speaks against it -----------------------------------------


def _wants_gradients(program: Program, node: ast.AST, depth: int = 2) -> bool:
    """Whether running ``node`` computes gradients, visibly or by what it calls in this file."""
    memo: dict[ast.AST, bool] = program.memo(f"gradpass.wanted{depth}")
    if node not in memo:
        memo[node] = False
        memo[node] = any(_wants(program, n, depth) for n in walk(node))
    return memo[node]


def _wants(program: Program, node: ast.AST, depth: int) -> bool:
    if isinstance(node, ast.Attribute):
        optimizer = node.attr == "step" and re.search(r"opt|scaler|sched", ast.unparse(node.value), re.I) is not None
        stored = node.attr == "requires_grad" and isinstance(node.ctx, ast.Store)
        return node.attr in _GRADIENTS or optimizer or stored
    if isinstance(node, ast.keyword):
        return node.arg == "requires_grad" and not (isinstance(node.value, ast.Constant) and node.value.value is False)
    if not isinstance(node, ast.Call):
        return False
    name = last_name(node.func)
    if _ATTACK.search(name) or (name == "train" and not node.args):
        return True
    target = callee(program, node) if depth else None
    return target is not None and target.program is program and _wants_gradients(program, target.node, depth - 1)


def _unwatched(program: Program, call: ast.Call, loop: ast.For | ast.AsyncFor) -> bool:
    """Whether nothing around or behind the loop turns gradients off or makes use of them."""
    for ancestor in program.tree.ancestors(call):
        if isinstance(ancestor, ast.With | ast.AsyncWith) and not all(_plain(program, i) for i in ancestor.items):
            return False
        if isinstance(ancestor, FUNCTIONS):
            if any(_name(d) not in _HARMLESS_DECORATORS for d in ancestor.decorator_list):
                return False
            if _ATTACK.search(ancestor.name) or _in_unit_test(program, ancestor.name):
                return False
            if _belongs_to_caller(program, ancestor):
                return False
        if isinstance(ancestor, ast.ClassDef) and is_framework_class(Definition(program, ancestor)):
            return False
    function = program.tree.function(loop)
    around: ast.AST = function if function is not None else program.module
    if any(isinstance(n, ast.Yield | ast.YieldFrom) for n in walk_scope(around)):
        return False
    return not (_frozen(program, call) or _used_behind(program, loop, around) or _used_by_caller(program, loop))


def _belongs_to_caller(program: Program, function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether gradients are for others to decide: in ``forward``, and in a method that a base class runs in a context."""
    cls = program.tree.class_of(function)
    if cls is None or function.name == "forward":
        return cls is not None
    for base in lineage(Definition(program, cls)):
        for method in methods(base) if base.node is not cls else ():
            for node in walk(method):
                if isinstance(node, ast.Call) and _is_own(node.func, method, function.name):
                    around = [a for a in base.program.tree.ancestors(node) if isinstance(a, ast.With | ast.AsyncWith)]
                    if method.decorator_list or not all(_plain(base.program, i) for a in around for i in a.items):
                        return True
    return False


def _is_own(func: ast.expr, method: ast.FunctionDef | ast.AsyncFunctionDef, name: str) -> bool:
    """``self.name``."""
    if not isinstance(func, ast.Attribute) or func.attr != name or not isinstance(func.value, ast.Name):
        return False
    return func.value.id == self_name(method)


def _plain(program: Program, item: ast.withitem) -> bool:
    """A context manager that certainly leaves gradients alone."""
    found = switch(program, item.context_expr)
    return found is None and _HARMLESS_MANAGERS.search(_name(item.context_expr)) is not None


def _name(expr: ast.expr) -> str:
    callee_ = expr.func if isinstance(expr, ast.Call) else expr
    return callee_.attr if isinstance(callee_, ast.Attribute) else getattr(callee_, "id", "?")


def _in_unit_test(program: Program, function: str) -> bool:
    path = program.source.path.replace(os.sep, "/")
    name = path.rpartition("/")[2]
    return function.startswith("test_") and (name.startswith("test_") or name.endswith("_test.py") or "/tests/" in path)


def _switched_off(program: Program) -> bool:
    """Whether the file turns gradients off for good: ``torch.set_grad_enabled(False)`` as a statement."""
    return any(isinstance(program.tree.parent(call), ast.Expr) for call in program.calls_to(FLAG))


def _is_bound_to(program: Program, call: ast.Call, name: str) -> bool:
    """``name = Net().requires_grad_(False)``."""
    statement = program.tree.statement(call)
    return isinstance(statement, ast.Assign) and any(ast.unparse(target) == name for target in statement.targets)


def _frozen(program: Program, call: ast.Call) -> bool:
    """Whether the file freezes the model that runs: no parameter of it requires gradients."""
    model = ast.unparse(call.func)
    for node in program.tree.nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "requires_grad_":
            given = [*node.args, *(word.value for word in node.keywords)]
            off = any(isinstance(value, ast.Constant) and value.value is False for value in given)
            here = program.tree.function(node) in (None, program.tree.function(call))
            if off and (
                ast.unparse(node.func.value).startswith(model) or (here and _is_bound_to(program, node, model))
            ):
                return True
        if isinstance(node, ast.For) and ast.unparse(node.iter) == f"{model}.parameters()":
            stores = [n for n in walk(node) if isinstance(n, ast.Attribute) and n.attr == "requires_grad"]
            if stores:
                return True
    return False


def _used_behind(program: Program, loop: Loop, around: ast.AST) -> bool:
    """Whether what the loop computes is back-propagated behind it."""
    inside = {id(n) for n in walk(loop)}
    listed = {
        n.func.value.id
        for n in walk(loop)
        if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute) and n.func.attr in ("append", "extend")
        and isinstance(n.func.value, ast.Name)
    }  # fmt: skip
    end = loop.end_lineno or loop.lineno
    for node in walk_scope(around):
        later = isinstance(node, ast.Assign) and node.lineno > end
        if isinstance(node, ast.Assign) and later:
            read = any(isinstance(n, ast.Name) and n.id in listed for n in walk(node.value))
            if read:
                listed.update(n.id for t in node.targets for n in walk(t) if isinstance(n, ast.Name))
    for backward in backwards(program):
        if id(backward.call) in inside or backward.call not in set(walk_scope(around)):
            continue
        for name in walk(backward.loss):
            if isinstance(name, ast.Name):
                bindings = program.scopes.reaching(name)
                if any(id(b.statement) in inside for b in bindings):
                    return True
                if name.id in listed and backward.call.lineno > end:
                    return True
    return False


def _used_by_caller(program: Program, loop: Loop) -> bool:
    """Whether a caller in sight back-propagates what the function gives back."""
    function = program.tree.function(loop)
    if not isinstance(function, FUNCTIONS):
        return False
    for site in call_sites(program, function):
        for backward in backwards(site.program):
            for node in walk(backward.loss):
                if node is site.call:
                    return True
                if isinstance(node, ast.Name):
                    bindings = site.program.scopes.reaching(node)
                    if any(b.value is not None and site.call in set(walk(b.value)) for b in bindings):
                        return True
    return False


def _from_other_files(program: Program, node: ast.Call) -> list[Event]:
    """The same call as seen from other files of the project that call its function or use its class."""
    entry: ast.AST | None = program.tree.function(node)
    while entry is not None and (outer := program.tree.function(entry)) is not None:
        entry = outer
    if program.project is None or not isinstance(entry, FUNCTIONS):
        return []
    owner = program.tree.class_of(entry)
    wanted: ast.AST = owner if owner is not None else entry
    name = owner.name if owner is not None else entry.name
    names = frozenset({name, entry.name})
    return [e for other in files_calling(program, name, wanted) for e in other.flow_to(names).events if e.node is node]
