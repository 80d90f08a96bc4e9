"""Whether a network behaves differently in train and eval mode: which layers an expression or class is made of.

The table of layers follows PyTorch's own modules (measured: outputs and buffers compared between both modes).
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING

from torchlint.semantics import classes
from torchlint.semantics.module_classes import FRAMEWORK_BASES, LIBRARIES
from torchlint.semantics.project import Definition
from torchlint.semantics.torch_layers import (
    BATCH_NORM,
    DEPENDS,
    DROPOUT,
    INDEPENDENT,
    UNSEEN,
    Dependence,
    single_constant,
    torch_layer,
)
from torchlint.semantics.tree import FUNCTIONS, walk
from torchlint.semantics.values import ABSENT, Possible

if TYPE_CHECKING:
    from torchlint.semantics.program import Program


_WRAPPERS = frozenset({
    "torch.nn.DataParallel", "torch.nn.parallel.DistributedDataParallel", "torch.compile", "copy.deepcopy", "copy.copy",
    "torch.nn.SyncBatchNorm.convert_sync_batchnorm", "torch.jit.script", "torch.nn.utils.weight_norm",
    "torch.nn.utils.parametrizations.weight_norm", "torch.distributed.fsdp.FullyShardedDataParallel",
    "torch.optim.swa_utils.AveragedModel", "apex.parallel.DistributedDataParallel", "torch.quantization.QuantWrapper",
})  # fmt: skip
_SPECTRAL = frozenset({"torch.nn.utils.spectral_norm", "torch.nn.utils.parametrizations.spectral_norm"})
_CHAIN = frozenset({
    "to", "cuda", "cpu", "eval", "train", "float", "double", "half", "bfloat16", "type", "apply", "requires_grad_",
    "share_memory", "to_empty", "xpu", "compile",
})  # fmt: skip
# Packages whose classes are no layers.
_NO_LAYERS = frozenset({
    "builtins", "numpy", "math", "os", "copy", "collections", "functools", "itertools", "typing", "random", "time", "logging",
    "json", "pathlib", "torch", "torchvision", "einops", "gym", "gymnasium", "dataclasses", "enum", "threading", "PIL", "cv2",
    "scipy", "sklearn", "pandas", "matplotlib", "tqdm", "abc", "datetime", "re", "warnings", "argparse", "types", "torchmetrics",
})  # fmt: skip


def is_wrapper(program: Program, call: ast.Call) -> bool:
    """Whether a call hands back its first argument in another coat (DataParallel, compile, deepcopy)."""
    return program.names.matches(call.func, *_WRAPPERS)


def chained(expr: ast.expr) -> ast.expr:
    """The expression at the start of a chain of module methods: ``Net(3)`` in ``Net(3).to(d).eval()``."""
    while isinstance(expr, ast.Call) and isinstance(expr.func, ast.Attribute) and expr.func.attr in _CHAIN:
        expr = expr.func.value
    return expr


def of_expression(program: Program, expr: Possible, depth: int = 12) -> Dependence:
    """What is known of the network an expression makes."""
    if not isinstance(expr, ast.expr) or depth == 0:
        return UNSEEN
    expr = chained(expr)
    if isinstance(expr, ast.Call):
        return of_call(program, expr, depth)
    if isinstance(expr, ast.Name):
        values = program.values.alternatives(expr)
        if values == (expr,):
            return UNSEEN
        return _all(of_expression(program, v, depth - 1) for v in values)
    if isinstance(expr, ast.List | ast.Tuple):
        return _all(_element(program, e, depth) for e in expr.elts)
    if isinstance(expr, ast.ListComp | ast.GeneratorExp):
        return of_expression(program, expr.elt, depth - 1)
    if isinstance(expr, ast.IfExp):
        return max(of_expression(program, expr.body, depth - 1), of_expression(program, expr.orelse, depth - 1))
    if isinstance(expr, ast.Dict):
        return _all(of_expression(program, v, depth - 1) for v in expr.values)
    if isinstance(expr, ast.BinOp) and isinstance(expr.op, ast.Add | ast.Mult):
        parts = [e for e in (expr.left, expr.right) if not isinstance(e, ast.Constant)]
        return _all(of_expression(program, e, depth - 1) for e in parts)
    if isinstance(expr, ast.Constant):
        return INDEPENDENT
    if isinstance(expr, ast.Attribute):
        return _of_attribute(program, expr, depth)
    return UNSEEN


def _element(program: Program, element: ast.expr, depth: int) -> Dependence:
    if isinstance(element, ast.Starred):
        return of_expression(program, element.value, depth - 1)
    if (
        isinstance(element, ast.Tuple | ast.List)
        and len(element.elts) == 2
        and isinstance(element.elts[0], ast.Constant)
    ):
        return of_expression(program, element.elts[1], depth - 1)  # ("name", layer) of an OrderedDict
    return of_expression(program, element, depth - 1)


def _of_attribute(program: Program, expr: ast.Attribute, depth: int) -> Dependence:
    name = program.names.one(expr)
    if name is not None and name.startswith("torch."):
        return INDEPENDENT  # a function such as torch.relu
    function = program.tree.function(expr)
    owner = program.tree.class_of(function) if function is not None else None
    if owner is not None and isinstance(expr.value, ast.Name) and isinstance(function, FUNCTIONS):
        if classes.self_name(function) == expr.value.id:
            values = classes.attribute_values(Definition(program, owner), expr.attr)
            return _all(of_expression(p, v, depth - 1) for p, v in values) if values else UNSEEN
    return UNSEEN


def _all(parts: Iterable[Dependence]) -> Dependence:
    return max(parts, default=INDEPENDENT)


def of_call(program: Program, call: ast.Call, depth: int = 12) -> Dependence:
    """What is known of the network a constructor or factory call makes."""
    names = program.names.of(call.func)
    found = [_of_named(program, call, name, depth) for name in names]
    known = [d for d in found if d is not None]
    if found and len(known) == len(found):
        return max(known)
    target = program.definition(call.func)
    if target is not None:
        if isinstance(target.node, ast.ClassDef):
            return max(of_class(target, depth - 1), _arguments(program, call, target, depth))
        return max(of_function(target, depth - 1), _handed_back(program, call, target, depth))
    return UNSEEN


def _handed_back(program: Program, call: ast.Call, target: Definition, depth: int) -> Dependence:
    """What a function returns of its own arguments (``layer_init(nn.Linear(3, 4))``)."""
    assert isinstance(target.node, ast.FunctionDef | ast.AsyncFunctionDef)
    bound = classes.bind(call, target.node, bound=False)
    names = {value.id for value in _returned(target) if isinstance(value, ast.Name)}
    if bound is None:
        return UNSEEN if names & set(classes.parameters(target.node)) else INDEPENDENT
    return _all(of_expression(program, bound[name], depth - 1) for name in sorted(names) if name in bound)


def _returned(target: Definition) -> list[ast.expr]:
    return [n.value for n in walk(target.node) if isinstance(n, ast.Return) and n.value is not None]


def _arguments(program: Program, call: ast.Call, target: Definition, depth: int) -> Dependence:
    """Layers handed to a container class of the project (``Wrapper(Net())`` holds what it is given)."""
    if not _stores_parameters(target):
        return INDEPENDENT
    parts = [a.value if isinstance(a, ast.Starred) else a for a in (*call.args, *(k.value for k in call.keywords))]
    return _all(of_expression(program, p, depth - 1) for p in parts if isinstance(p, ast.Call))


def _stores_parameters(target: Definition) -> bool:
    constructor = classes.method(target, "__init__")
    return constructor is not None and bool(constructor.node.body)


def _of_named(program: Program, call: ast.Call, name: str, depth: int) -> Dependence | None:
    """The answer for a callee outside the project; None when its name says nothing."""
    if name.startswith(("torch.nn.functional.", "torch.nn.init.")):
        return INDEPENDENT
    if name in _WRAPPERS:
        return of_expression(program, call.args[0], depth - 1) if call.args else UNSEEN
    if name in _SPECTRAL:
        return DEPENDS
    if name.startswith("torch.nn."):
        return _of_layer(program, call, name.rpartition(".")[2], depth)
    if name.startswith("torchvision.models."):
        return INDEPENDENT if ".vit_" in name and not call.keywords else DEPENDS
    if name.startswith(("torchvision.transforms", "torchvision.datasets", "torchvision.utils", "torchvision.io")):
        return INDEPENDENT
    last = name.rpartition(".")[2]
    if DROPOUT.match(last) and "." in name and not name.startswith("."):
        return DEPENDS
    if any(name == p or name.startswith(p + ".") for p in LIBRARIES):
        return (
            DEPENDS
            if not name.startswith(("timm.data", "timm.utils", "timm.optim", "timm.scheduler", "timm.loss"))
            else INDEPENDENT
        )
    if name.startswith("torch."):
        return (
            INDEPENDENT if not name.startswith(("torch.hub.", "torch.load", "torch.jit.", "torch.package")) else UNSEEN
        )
    if name == "collections.OrderedDict" or name in (
        "builtins.list",
        "builtins.tuple",
        "builtins.dict",
        "builtins.reversed",
    ):
        return _all(of_expression(program, a, depth - 1) for a in call.args)
    if name.startswith("builtins.") and name.rpartition(".")[2] in _BUILTIN_CONSTRUCTORS:
        return INDEPENDENT
    return None


_BUILTIN_CONSTRUCTORS = frozenset(
    {"int", "float", "str", "bool", "len", "range", "max", "min", "sum", "set", "abs", "round", "super", "zip"}
)


def _of_layer(program: Program, call: ast.Call, layer: str, depth: int) -> Dependence:
    """The answer for a class of ``torch.nn``: of what containers hold, else of the layer itself."""
    if layer in ("Sequential", "ModuleList", "ModuleDict"):
        if any(k.arg is None for k in call.keywords):
            return UNSEEN
        parts = [*call.args, *(k.value for k in call.keywords)]
        return _all(_element(program, a, depth) for a in parts)
    if layer in ("TransformerEncoder", "TransformerDecoder"):
        return _all(of_expression(program, a, depth - 1) for a in call.args[:1])
    return torch_layer(program, call, layer)


def of_function(target: Definition, depth: int = 12) -> Dependence:
    """What is known of the network a factory function returns."""
    memo = target.program.memo("layers.function")
    if target.node in memo:
        found: Dependence = memo[target.node]
        return found
    memo[target.node] = UNSEEN
    given = set(classes.parameters(target.node)) if isinstance(target.node, FUNCTIONS) else set()
    values = _returned(target)
    own = [v for v in values if not (isinstance(v, ast.Name) and v.id in given)]
    result = _all(of_expression(target.program, value, depth - 1) for value in own) if values else UNSEEN
    memo[target.node] = result
    return result


def of_class(target: Definition, depth: int = 12) -> Dependence:
    """What is known of a network class: its bases, the layers it makes, and what its methods do with the mode."""
    memo = target.program.memo("layers.class")
    if target.node in memo:
        found: Dependence = memo[target.node]
        return found
    memo[target.node] = INDEPENDENT  # a class that holds itself adds nothing
    memo[target.node] = result = max(_of_bases(target, depth), _of_body(target, depth))
    return result


def _of_bases(target: Definition, depth: int) -> Dependence:
    parts = []
    for name, base in classes.bases(target):
        if base is not None:
            parts.append(of_class(base, depth - 1))
        elif name is None:
            parts.append(UNSEEN)
        elif name.startswith(("torch.nn.", "builtins.", "abc.", "typing.")) or name in ("object", "ABC"):
            parts.append(
                DEPENDS
                if DROPOUT.match(name.rpartition(".")[2]) or BATCH_NORM.match(name.rpartition(".")[2])
                else INDEPENDENT
            )
        elif name.startswith(LIBRARIES):
            parts.append(DEPENDS)
        elif name.startswith(FRAMEWORK_BASES) or name.startswith("torch."):
            parts.append(INDEPENDENT)
        else:
            parts.append(UNSEEN)
    return _all(parts)


def _of_body(target: Definition, depth: int) -> Dependence:
    program = target.program
    result = INDEPENDENT
    used = _called_attributes(target)
    for function in classes.methods(target):
        instance = classes.self_name(function)
        for node in walk(function):
            if isinstance(node, ast.Call):
                result = max(result, _inner_call(program, node, depth))
            elif isinstance(node, ast.Attribute) and node.attr == "training" and isinstance(node.value, ast.Name):
                if node.value.id == instance and isinstance(node.ctx, ast.Load):
                    result = max(result, DEPENDS)
            elif isinstance(node, ast.Assign):
                for target_expr in node.targets:
                    if (
                        isinstance(target_expr, ast.Attribute)
                        and isinstance(target_expr.value, ast.Name)
                        and target_expr.value.id == instance
                        and target_expr.attr in used
                    ):
                        result = max(result, _stored(program, node.value, depth))
            if result is DEPENDS:
                return result
    return result


def _inner_call(program: Program, call: ast.Call, depth: int) -> Dependence:
    """A call inside a network class counts when it makes layers; what other calls do is no layer."""
    names = program.names.of(call.func)
    found = INDEPENDENT
    for name in names:
        if name.startswith("torch.nn.functional."):
            if "dropout" in name or name.endswith(("batch_norm", "rrelu")):
                found = max(found, _functional(program, call))
        elif name.startswith("torch.nn.") or name.startswith(LIBRARIES) or name in _SPECTRAL:
            layer = _of_named(program, call, name, depth)
            if layer is DEPENDS:
                found = DEPENDS
    if found is DEPENDS:
        return found
    target = program.definition(call.func)
    if target is not None and isinstance(target.node, ast.ClassDef):
        return of_class(target, depth - 1) if depth > 0 else UNSEEN
    if target is not None and _makes_layers(target):
        return of_function(target, depth - 1) if depth > 0 else UNSEEN
    if target is None and any(_unknown_maker(name) for name in names):
        return UNSEEN
    return INDEPENDENT


def _unknown_maker(name: str) -> bool:
    """Whether a call of that name may make a layer: a class of a package nothing is known about."""
    root, _, _ = name.partition(".")
    return "." in name and name.rpartition(".")[2][:1].isupper() and root not in _NO_LAYERS and name != "?"


def _makes_layers(target: Definition) -> bool:
    return any(
        isinstance(n, ast.Call) and any(name.startswith("torch.nn.") for name in target.program.names.of(n.func))
        for n in walk(target.node)
    )


def _functional(program: Program, call: ast.Call) -> Dependence:
    training = program.values.argument(call, "training", None)
    if training == (ABSENT,) and len(call.args) < 3:
        return INDEPENDENT  # always on (or always off): the mode does not matter
    known = single_constant(program, training)
    return INDEPENDENT if known is not None else DEPENDS


def _stored(program: Program, value: ast.expr, depth: int) -> Dependence:
    """Whether something out of sight is stored in an attribute that the class calls later.

    Layers made in the class body are counted where they are made, so only parameters and unknown factories matter here.
    """
    if depth <= 0:
        return UNSEEN
    inner = chained(value)
    if isinstance(inner, ast.Name):
        parts = []
        for binding in program.scopes.reaching(inner):
            if binding.kind == "param":
                parts.append(UNSEEN)
            elif binding.kind in ("assign", "walrus") and binding.value is not None:
                parts.append(_stored(program, binding.value, depth - 2))
        return _all(parts)
    if isinstance(inner, ast.List | ast.Tuple | ast.Set):
        return _all(_stored(program, e, depth - 1) for e in inner.elts)
    if isinstance(inner, ast.Starred):
        return _stored(program, inner.value, depth - 1)
    if isinstance(inner, ast.IfExp):
        return max(_stored(program, inner.body, depth - 1), _stored(program, inner.orelse, depth - 1))
    if isinstance(inner, ast.ListComp | ast.GeneratorExp):
        return _stored(program, inner.elt, depth - 1)
    if isinstance(inner, ast.Call):
        names = program.names.of(inner.func)
        if names and all(n.startswith("torch.nn.") or n in _WRAPPERS or n == "collections.OrderedDict" for n in names):
            if _plain_layer(names):
                return of_call(program, inner, depth - 1)
            return _all(_stored(program, a, depth - 1) for a in inner.args)
        if isinstance(inner.func, ast.Name):  # a class picked before: ``block(…)``
            alternatives = [
                v for v in program.values.alternatives(inner.func) if isinstance(v, ast.Name | ast.Attribute)
            ]
            found = [program.definition(v) for v in alternatives]
            if len(alternatives) > 1 and all(f is not None and isinstance(f.node, ast.ClassDef) for f in found):
                return _all(of_class(f, depth - 1) for f in found if f is not None)
        return of_call(program, inner, depth - 1)
    return INDEPENDENT


def _plain_layer(names: frozenset[str]) -> bool:
    return not any(n.rpartition(".")[2] in ("Sequential", "ModuleList", "ModuleDict") or n in _WRAPPERS for n in names)


def _called_attributes(target: Definition) -> set[str]:
    """Attributes of the instance that its methods call or loop over, so that they may be networks."""
    found: set[str] = set()
    for cls in classes.lineage(target):
        for node in walk(cls.node):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                found.add(node.func.attr)
            elif isinstance(node, ast.For | ast.comprehension) and isinstance(node.iter, ast.Attribute):
                found.add(node.iter.attr)
    return found
