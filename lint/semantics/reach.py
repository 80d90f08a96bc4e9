"""Questions about functions and constructors that decide how far the mode analysis follows them, and what they give back."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from torchlint.semantics import classes, layers, module_classes
from torchlint.semantics.modes import Func, Mode
from torchlint.semantics.project import Definition
from torchlint.semantics.torch_layers import DEPENDS
from torchlint.semantics.tree import FUNCTIONS, FunctionNode, last_name, walk

if TYPE_CHECKING:
    from torchlint.semantics.program import Program

_STORED = ("torch.load", "torch.jit.load", "torch.hub.load")
_RETURNS_EVAL = re.compile(r"(^|\.)(from_pretrained|pipeline)$")
_ENGINES = re.compile(r"TRT|ONNX|Onnx|Engine|Session|Interpreter")  # they run what was exported, and have no mode
_SMALL = 25
LONG = 400  # lines of a function of another file beyond which it is never followed
_TOKENS = (".eval(", ".train(", "no_grad", "inference_mode", "set_grad_enabled")


def speaks_of_modes(target: Definition) -> bool:
    """Whether the text of a function or class holds a word that switches modes or gradients."""
    memo = target.program.memo("calls.tokens")
    if target.node not in memo:
        source = target.program.source
        rows = range(target.node.lineno, (target.node.end_lineno or target.node.lineno) + 1)
        memo[target.node] = any(token in source.line(row) for row in rows for token in _TOKENS)
    return bool(memo[target.node])


def evals(target: Definition, depth: int = 2) -> bool:
    """Whether a function calls ``eval()`` on something, itself or through a loading function it calls."""
    memo = target.program.memo(f"calls.evals{depth}")
    if target.node not in memo:
        memo[target.node] = False
        memo[target.node] = any(_evals_here(target, n, depth) for n in walk(target.node) if isinstance(n, ast.Call))
    return bool(memo[target.node])


def _evals_here(target: Definition, call: ast.Call, depth: int) -> bool:
    if isinstance(call.func, ast.Attribute) and call.func.attr == "eval":
        return True
    if depth == 0 or not (isinstance(call.func, ast.Name) and call.func.id.islower()):
        return False
    function = target.program.definition(call.func)
    return function is not None and isinstance(function.node, FUNCTIONS) and evals(function, depth - 1)


def worth_following(target: Definition) -> bool:
    """Whether a function of another file may switch modes, or is short enough to see what it hands back."""
    rows = length(target)
    return rows <= _SMALL or (rows <= LONG and speaks_of_modes(target))


def length(target: Definition) -> int:
    """Rows of a definition."""
    return (target.node.end_lineno or target.node.lineno) - target.node.lineno


def made_mode(program: Program, call: ast.Call) -> Mode:
    """The mode of what a call out of reach gives back."""
    names = program.names.of(call.func)
    callee = last_name(call.func)
    if _RETURNS_EVAL.search(callee) or any(
        n.startswith(module_classes.FRAMEWORK_BASES) and not n.startswith("pl") for n in names
    ):
        return Mode.EVAL
    if any(n in _STORED or n.startswith("torch.jit.") for n in names):
        return Mode.OPAQUE
    if any(
        n.startswith(
            ("torch.nn.", "torchvision.models.", "timm.create_model", "timm.models", "segmentation_models_pytorch.")
        )
        for n in names
    ):
        return Mode.FRESH
    if _ENGINES.search(callee) and program.definition(call.func) is None:
        return Mode.OPAQUE
    if callee[:1].isupper() or callee == "create_model" or picked(program, call.func):
        return Mode.FRESH
    target = program.definition(call.func)
    if target is not None and isinstance(target.node, FUNCTIONS) and not evals(target):
        if layers.of_function(target) is DEPENDS:
            return Mode.FRESH  # a factory of the project that was not followed
    return Mode.OPAQUE


def picked(program: Program, func: ast.expr) -> bool:
    """Whether a constructor is picked by name: ``models.__dict__[arch]()``, ``getattr(models, arch)()``, ``eval(name)``."""
    if isinstance(func, ast.Subscript) and isinstance(func.value, ast.Attribute):
        return func.value.attr == "__dict__"
    if isinstance(func, ast.Call) and isinstance(func.func, ast.Name) and func.func.id in ("getattr", "eval"):
        return True
    return isinstance(func, ast.Name) and func.id == "eval" and not program.scopes.reaching(func)


def class_mode(target: Definition) -> Mode:
    return (
        Mode.EVAL
        if module_classes.is_framework_class(target)
        and not any(
            n is not None and n.startswith(("pytorch_lightning", "lightning")) for n in classes.outside_bases(target)
        )
        else Mode.FRESH
    )


def runs(function: Func) -> bool:
    """Whether a method of a network runs the network: it calls the instance or something the instance holds."""
    if isinstance(function.node, ast.Lambda):
        return False
    memo = function.program.memo("calls.runs")
    if function.node not in memo:
        memo[function.node] = _runs_here(function.node)
    return bool(memo[function.node])


def _runs_here(node: FunctionNode) -> bool:
    instance = classes.self_name(node)
    if node.name == "forward":
        return True
    quiet = {
        "parameters",
        "state_dict",
        "load_state_dict",
        "named_parameters",
        "modules",
        "apply",
        "register_buffer",
        "append",
    }
    for call in walk(node):
        if isinstance(call, ast.Call):
            root, hops = call.func, 0
            while isinstance(root, ast.Attribute | ast.Subscript):
                root, hops = root.value, hops + 1
            last = call.func.attr if isinstance(call.func, ast.Attribute) else ""
            if isinstance(root, ast.Name) and root.id == instance and last not in quiet and hops <= 2:
                return True
    return False


def switches(function: Func) -> bool:
    """Whether a method sets the mode itself."""
    return any(
        isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute) and n.func.attr in ("eval", "train")
        for n in walk(function.node)
    )


def parameter_names(function: Func) -> list[str]:
    arguments = function.node.args
    return [a.arg for a in (*arguments.posonlyargs, *arguments.args)]


def first_parameter(function: Func) -> str:
    names = parameter_names(function)
    return names[0] if names else ""


def is_static(node: FunctionNode) -> bool:
    return any(isinstance(d, ast.Name) and d.id == "staticmethod" for d in node.decorator_list)
