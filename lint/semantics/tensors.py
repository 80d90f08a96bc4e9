"""Which expressions certainly are tensors: by where they come from, by annotation, or by what is done with them."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from torchlint.semantics.bindings import Binding
from torchlint.semantics.classes import attribute_values, self_name
from torchlint.semantics.project import Definition
from torchlint.semantics.tree import FUNCTIONS, walk

if TYPE_CHECKING:
    from torchlint.semantics.program import Program

# Functions of ``torch`` that give one tensor.
MAKERS = frozenset({
    "zeros", "ones", "full", "empty", "arange", "linspace", "logspace", "eye", "tensor", "as_tensor", "from_numpy",
    "rand", "randn", "randint", "randperm", "normal", "bernoulli", "multinomial", "tril", "triu", "Tensor",
    "FloatTensor", "LongTensor", "BoolTensor", "IntTensor", "DoubleTensor", "ByteTensor", "HalfTensor",
})  # fmt: skip
_COMBINERS = frozenset({
    "cat", "stack", "concat", "matmul", "mm", "bmm", "mul", "add", "sub", "div", "exp", "log", "sqrt", "abs", "pow",
    "sigmoid", "tanh", "relu", "softmax", "log_softmax", "sum", "mean", "clamp", "where", "einsum", "outer", "dot",
    "sin", "cos", "square", "zeros_like", "ones_like", "full_like", "rand_like", "randn_like", "empty_like",
    "flatten", "squeeze", "unsqueeze", "reshape", "transpose", "permute", "argmax", "cumsum", "norm", "clone",
    "gather", "masked_select", "index_select", "vstack", "hstack", "concatenate", "one_hot", "cross_entropy",
    "mse_loss", "interpolate", "pad", "normalize", "gelu", "dropout", "conv2d", "l1_loss", "smooth_l1_loss",
    "nll_loss", "binary_cross_entropy", "binary_cross_entropy_with_logits", "leaky_relu", "linear",
})  # fmt: skip
# What tensors have and neither modules, NumPy arrays nor batches of other libraries do.
_TELLTALE = frozenset({
    "unsqueeze", "unsqueeze_", "permute", "view", "masked_fill", "masked_fill_", "expand", "expand_as", "argsort_",
    "topk", "backward", "scatter_", "gather", "repeat_interleave", "softmax", "log_softmax", "view_as",
    "index_select", "flatten", "contiguous", "is_cuda", "grad_fn", "new_zeros", "new_ones", "new_tensor", "zero_",
    "fill_", "copy_", "clamp", "sigmoid",
})  # fmt: skip
_RESULTS = _TELLTALE | {
    "to", "cuda", "cpu", "float", "double", "half", "long", "int", "bool", "detach", "clone", "reshape", "squeeze",
    "transpose", "sum", "mean", "argmax", "exp", "log", "abs", "sqrt", "pow", "t", "type", "requires_grad_",
    "cumsum", "matmul", "mul", "add",
}  # fmt: skip
_ANNOTATION = re.compile(r"^(Optional\[)?(torch\.)?(Float|Long|Bool|Int)?Tensor\]?( \| None)?$")


def is_tensor(program: Program, expr: ast.expr, depth: int = 6) -> bool:
    """Whether an expression certainly is a tensor of torch."""
    if depth == 0:
        return False
    if isinstance(expr, ast.Name):
        bindings = program.scopes.reaching(expr)
        return bool(bindings) and (
            all(_bound(program, b, depth) for b in bindings) or _behaves(program, expr, bindings)
        )
    if isinstance(expr, ast.Call):
        return _made(program, expr, depth)
    if isinstance(expr, ast.BinOp):
        return any(is_tensor(program, side, depth - 1) for side in (expr.left, expr.right))
    if isinstance(expr, ast.IfExp):
        return is_tensor(program, expr.body, depth - 1) and is_tensor(program, expr.orelse, depth - 1)
    if isinstance(expr, ast.UnaryOp):
        return is_tensor(program, expr.operand, depth - 1)
    if isinstance(expr, ast.Subscript):
        return is_tensor(program, expr.value, depth - 1)
    if isinstance(expr, ast.Attribute):
        return _held(program, expr, depth)
    return False


def _made(program: Program, call: ast.Call, depth: int) -> bool:
    dotted = program.names.one(call.func)
    if dotted is not None and dotted.startswith("torch."):
        head, _, last = dotted.rpartition(".")
        if head == "torch":
            return last in MAKERS or last in _COMBINERS
        return (head == "torch.nn.functional" and last in _COMBINERS) or dotted == "torch.nn.Parameter"
    if isinstance(call.func, ast.Attribute) and call.func.attr in _RESULTS:
        return is_tensor(program, call.func.value, depth - 1)
    return False


def _bound(program: Program, binding: Binding, depth: int) -> bool:
    if binding.kind == "param" and isinstance(binding.node, ast.arg):
        annotation = binding.node.annotation
        return annotation is not None and _ANNOTATION.match(ast.unparse(annotation)) is not None
    if binding.kind in ("assign", "walrus", "augment") and binding.value is not None:
        return is_tensor(program, binding.value, depth - 1)
    return False


def _behaves(program: Program, name: ast.Name, bindings: list[Binding]) -> bool:
    """Whether the same value is used as only a tensor can be, elsewhere in its function."""
    if any(b.kind in ("import", "def", "class") for b in bindings):
        return False
    wanted = {id(b) for b in bindings}
    around: ast.AST = program.tree.function(name) or program.module
    for node in walk(around):
        if not isinstance(node, ast.Attribute) or node.attr not in _TELLTALE or not isinstance(node.value, ast.Name):
            continue
        same = node.value.id == name.id and node.value is not name
        if same and {id(b) for b in program.scopes.reaching(node.value)} == wanted:
            return True
    return False


def _held(program: Program, expr: ast.Attribute, depth: int) -> bool:
    """An attribute of ``self`` that every method in reach fills with tensors."""
    if expr.attr == "data" and is_tensor(program, expr.value, depth - 1):
        return True
    function = program.tree.function(expr)
    while function is not None and program.tree.class_of(function) is None:
        function = program.tree.function(function)
    if not isinstance(function, FUNCTIONS) or not isinstance(expr.value, ast.Name):
        return False
    cls = program.tree.class_of(function)
    if cls is None or self_name(function) != expr.value.id:
        return False
    values = attribute_values(Definition(program, cls), expr.attr)
    return bool(values) and all(is_tensor(where, value, depth - 1) for where, value in values)
