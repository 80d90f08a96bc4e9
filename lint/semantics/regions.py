"""A cheap look at stretches without gradients: whether any of them holds a call that may run a network.

Most such stretches of real code copy weights or move averages. Deciding that from the tree saves following the modes of
every model through the file, which costs more than all else together.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchlint.semantics import classes
from torchlint.semantics.calls import FORWARD_METHODS, MODULE_METHODS
from torchlint.semantics.gradients import Gradient, decorator_switch, switch
from torchlint.semantics.names import UNKNOWN
from torchlint.semantics.project import Definition
from torchlint.semantics.tree import FUNCTIONS, FunctionNode, last_name, walk

if TYPE_CHECKING:
    from torchlint.semantics.program import Program

_OUTSIDE = (
    "torch.",
    "builtins.",
    "numpy.",
    "scipy.",
    "math.",
    "os.",
    "random.",
    "time.",
    "copy.",
    "logging.",
    "warnings.",
    "re.",
)
_NUMERIC = ("numpy.", "scipy.", "math.")
# Methods of tensors, parameters and optimizers: no network runs when they are called.
_TENSOR_METHODS = frozenset({
    "abs", "abs_", "add_", "addcdiv_", "addcmul_", "all", "amax", "amin", "any", "argmax", "argmin", "argsort", "bfloat16",
    "bool", "chunk", "clamp", "clamp_", "clip_", "clone", "contiguous", "copy_", "cos", "cpu", "cuda", "cumsum", "data_ptr",
    "detach", "detach_", "diff", "dim", "div", "div_", "double", "eq", "erfinv_", "exp", "expand", "expand_as", "fill_",
    "flatten", "flip", "float", "floor", "gather", "ge", "gt", "half", "index_copy_", "index_select", "int", "is_contiguous",
    "item", "le", "lerp_", "log", "long", "lt", "masked_fill", "masked_fill_", "masked_select", "matmul", "max", "mean",
    "min", "mm", "mul", "mul_", "narrow", "ne", "neg_", "nelement", "new_empty", "new_full", "new_ones", "new_tensor",
    "new_zeros", "nonzero", "norm", "normal_", "numel", "numpy", "ones_like", "permute", "pin_memory", "pow", "pow_",
    "reciprocal", "repeat", "repeat_interleave", "requires_grad_", "reshape", "rsqrt", "round", "scatter_", "set_",
    "sigmoid", "sign", "sin", "size", "softmax", "split_", "sqrt", "sqrt_", "square", "squeeze", "std", "stride", "sub",
    "sub_", "sum", "t", "to", "tolist", "topk", "transpose", "tril", "triu", "type", "type_as", "unbind", "unflatten",
    "unfold", "uniform_", "unique", "unsqueeze", "var", "view", "view_as", "where", "zero_", "isfinite", "isnan", "isinf",
    "named_buffers", "register_buffer", "param_groups", "step", "cosine_similarity", "element_size", "storage",
    "lerp", "coalesce", "manual_seed", "astype", "isEnabledFor", "zero_grad", "to_dense", "to_sparse", "_values", "_indices",
})  # fmt: skip
_NO_NETWORK = re.compile(r"loss|criterion|metric|optim|sched|loader|load_fn|transform|^closure$", re.IGNORECASE)
_QUIET = _TENSOR_METHODS.union(MODULE_METHODS, dir(str), dir(dict), dir(list), dir(set), dir(int)) - FORWARD_METHODS


Place = ast.With | ast.AsyncWith | ast.expr


def regions_of_interest(program: Program) -> Iterator[tuple[Place, Gradient, FunctionNode | None]]:
    """The stretches without gradients of this file that may run a network from the outside. Errs to too many."""
    for node in program.tree.withs:
        if _in_optimizer(program, node):
            continue
        if any(switch(program, item.context_expr) is not None for item in node.items) and _may_run(program, node.body):
            yield node, Gradient.OFF, None
    for function in program.tree.functions:
        decorator = decorator_switch(program, function) if function.decorator_list else None
        if decorator is not None and not _in_optimizer(program, function) and _may_run(program, function.body):
            yield decorator, Gradient.OFF, function


def _in_optimizer(program: Program, node: ast.AST) -> bool:
    """Whether an optimizer's class stands around a node: it computes steps, and runs nothing but the closure it is given."""
    for ancestor in program.tree.ancestors(node):
        if isinstance(ancestor, ast.ClassDef):
            bases = classes.outside_bases(Definition(program, ancestor))
            return any(base is not None and base.startswith("torch.optim.") for base in bases)
    return False


def _may_run(program: Program, body: list[ast.stmt]) -> bool:
    """Looks at the calls of a block and of the functions in reach that it calls."""
    pending: list[tuple[Program, ast.AST]] = [(program, statement) for statement in body]
    seen: set[ast.AST] = set()
    while pending:
        where, top = pending.pop()
        if top in seen:
            continue
        seen.add(top)
        for node in walk(top):
            if isinstance(node, ast.Call):
                followed = _followed(where, node)
                if followed is None:
                    return True
                pending.extend(followed)
    return False


def _followed(program: Program, call: ast.Call) -> list[tuple[Program, ast.AST]] | None:
    """What runs when a call runs, as far as it is in reach; None when it may be a network."""
    func = call.func
    name = last_name(func)
    dotted = program.names.one(func) if name else None
    if dotted is not None and dotted != UNKNOWN and dotted.startswith(_OUTSIDE):
        return []
    target = program.definition(func) if name else None
    if target is not None:
        if isinstance(target.node, ast.ClassDef):
            target = classes.method(target, "__init__")
        return [(target.program, target.node)] if target is not None else []
    if _NO_NETWORK.search(name):
        return []
    if isinstance(func, ast.Attribute):
        here: list[tuple[Program, ast.AST]] = [(program, f) for f in program.tree.functions if f.name == name]
        if here and _on_itself(program, func):
            return here
        in_place = name.endswith("_") and not name.endswith("__")
        if not here and (in_place or name in _QUIET) and name not in _stored(program):
            return []
        return here if _harmless(program, call) else None
    if isinstance(func, ast.Name) and _made_elsewhere(program, func):
        return []
    return [] if _harmless(program, call) else None


def _made_elsewhere(program: Program, name: ast.Name) -> bool:
    """``f = scipy.interpolate.interp2d(…)``: what libraries without networks gave."""
    values = program.values.alternatives(name)
    made = [program.names.one(v.func) for v in values if isinstance(v, ast.Call)]
    return bool(made) and len(made) == len(values) and all(m is not None and m.startswith(_NUMERIC) for m in made)


def _harmless(program: Program, call: ast.Call) -> bool:
    """Whether running a network here is no one's business: a network runs its own parts, or the result is thrown away."""
    from torchlint.semantics.receivers import is_network_class

    statement = program.tree.statement(call)
    if isinstance(statement, ast.Expr) and statement.value is call:
        return True
    function: ast.AST | None = program.tree.function(call)
    while function is not None:
        owner = program.tree.class_of(function)
        if owner is not None:
            return isinstance(function, FUNCTIONS) and is_network_class(Definition(program, owner))
        function = program.tree.function(function)
    return False


def _on_itself(program: Program, func: ast.Attribute) -> bool:
    """Whether a class that is no network calls a method of its own: only the method's body runs."""
    from torchlint.semantics.receivers import is_network_class

    function = program.tree.function(func)
    owner = program.tree.class_of(function) if isinstance(function, FUNCTIONS) else None
    if owner is None or not isinstance(function, FUNCTIONS) or not isinstance(func.value, ast.Name):
        return False
    return func.value.id == classes.self_name(function) and not is_network_class(Definition(program, owner))


def _stored(program: Program) -> set[str]:
    """Attributes that the file gives a value: what they hold may be called."""
    memo: dict[ast.AST, set[str]] = program.memo("regions.stored")
    if program.module not in memo:
        memo[program.module] = {
            n.attr for n in program.tree.nodes if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store)
        }
    return memo[program.module]
