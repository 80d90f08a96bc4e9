"""Dotted names behind expressions: ``tud.DataLoader`` is ``torch.utils.data.DataLoader`` however it was imported."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchlint.semantics.bindings import Binding
from torchlint.semantics.scopes import Scopes
from torchlint.semantics.tree import Tree

if TYPE_CHECKING:
    from torchlint.semantics.project import Project

UNKNOWN = "?"
_NOTHING: frozenset[str] = frozenset()
_UNKNOWN: frozenset[str] = frozenset({UNKNOWN})

# Public names by the private or older paths under which they can also be reached.
_ALIASES = {
    "torch.utils.data.dataloader": "torch.utils.data",
    "torch.utils.data.dataset": "torch.utils.data",
    "torch.utils.data.sampler": "torch.utils.data",
    "torch.utils.data.distributed": "torch.utils.data",
    "torch.utils.tensorboard.writer": "torch.utils.tensorboard",
    "tensorboardX.writer": "tensorboardX",
    "torch.serialization": "torch",
    "torch.autograd.grad_mode": "torch",
    "torch.autograd.no_grad": "torch.no_grad",
    "torch.autograd.inference_mode": "torch.inference_mode",
    "torch.autograd.set_grad_enabled": "torch.set_grad_enabled",
    "torch.nn.modules.module": "torch.nn",
    "torch.nn.modules": "torch.nn",
    "torch.nn.parallel.DataParallel": "torch.nn.DataParallel",
    "torch.nn.parallel.data_parallel": "torch.nn",
    "torch.nn.parallel.distributed": "torch.nn.parallel",
    "torch.utils.model_zoo.load_url": "torch.hub.load_state_dict_from_url",
    "torch.utils.model_zoo": "torch.utils.model_zoo",
    "torch.optim.lr_scheduler": "torch.optim.lr_scheduler",
    "torch.jit._serialization": "torch.jit",
}
# What ``from module import *`` is known to bring that matters here.
_STAR = {
    "torch.utils.data": {
        "DataLoader", "Dataset", "IterableDataset", "TensorDataset", "ConcatDataset", "Subset", "random_split",
        "DistributedSampler", "Sampler", "BatchSampler", "RandomSampler", "SequentialSampler", "get_worker_info",
    },
    "torch.utils.tensorboard": {"SummaryWriter"},
    "tensorboardX": {"SummaryWriter"},
    "torch": {"load", "save", "no_grad", "inference_mode", "set_grad_enabled", "zeros", "ones", "rand", "randn", "device"},
}  # fmt: skip
_ROOTS = frozenset({"torch"})


def canonical(dotted: str) -> str:
    """The usual public path of a dotted name."""
    head = dotted
    while head:
        replacement = _ALIASES.get(head)
        if replacement is not None and replacement != head:
            return canonical(replacement + dotted[len(head) :])
        head = head.rpartition(".")[0]
    return dotted


class Names:
    """Resolves expressions of one file to dotted names."""

    def __init__(self, tree: Tree, scopes: Scopes, project: Project | None, path: str) -> None:
        self.tree = tree
        self.scopes = scopes
        self.project = project
        self.path = path
        self._memo: dict[ast.expr, frozenset[str]] = {}

    def of(self, expr: ast.expr) -> frozenset[str]:
        """Every dotted name the expression may stand for; contains :data:`UNKNOWN` when it may also be something else."""
        known = self._memo.get(expr)
        if known is None:
            self._memo[expr] = _UNKNOWN  # a name defined through itself is unknown
            known = self._memo[expr] = frozenset(canonical(name) for name in self._resolve(expr))
        return known

    def one(self, expr: ast.expr) -> str | None:
        """The dotted name, if there is exactly one possibility."""
        names = self.of(expr)
        if len(names) != 1:
            return None
        (name,) = names
        return None if name == UNKNOWN else name

    def matches(self, expr: ast.expr, *wanted: str) -> bool:
        """Whether the expression certainly stands for one of the wanted names."""
        names = self.of(expr)
        return bool(names) and names.issubset(wanted)

    def may_match(self, expr: ast.expr, *wanted: str) -> bool:
        """Whether the expression may stand for one of the wanted names."""
        return not self.of(expr).isdisjoint(wanted)

    def under(self, expr: ast.expr, *prefixes: str) -> bool:
        """Whether the expression certainly stands for a name in one of the packages."""
        names = self.of(expr)
        return bool(names) and all(any(n == p or n.startswith(p + ".") for p in prefixes) for n in names)

    def _resolve(self, expr: ast.expr) -> frozenset[str]:
        if isinstance(expr, ast.Attribute):
            bases = self.of(expr.value)
            return frozenset(UNKNOWN if base == UNKNOWN else f"{base}.{expr.attr}" for base in bases) or _UNKNOWN
        if isinstance(expr, ast.IfExp):
            return self.of(expr.body) | self.of(expr.orelse)
        if isinstance(expr, ast.NamedExpr):
            return self.of(expr.value)
        if not isinstance(expr, ast.Name):
            return _UNKNOWN
        bindings = self.scopes.reaching(expr)
        if not bindings:
            return self._unbound(expr.id)
        found: frozenset[str] = _NOTHING
        for binding in bindings:
            found |= self._through(binding)
        return found or _UNKNOWN

    def _through(self, binding: Binding) -> frozenset[str]:
        if binding.kind == "import" and binding.target is not None:
            return self._import(binding.target)
        value = binding.value
        if binding.kind in ("assign", "walrus") and value is not None:
            if isinstance(value, ast.Constant) and value.value is None:
                return _NOTHING
            return self.of(value)
        return _UNKNOWN

    def _import(self, target: str) -> frozenset[str]:
        if self.project is not None and not target.startswith("torch"):
            through = self.project.reexport(target, self.path)
            if through is not None:
                return through
        return frozenset({target})

    def _unbound(self, name: str) -> frozenset[str]:
        for module in reversed(self.scopes.star_imports):
            if name in _STAR.get(canonical(module), ()):
                return frozenset({f"{module}.{name}"})
            if module == "torch.nn" and name[:1].isupper():
                return frozenset({f"torch.nn.{name}"})
            if self.project is not None:
                through = self.project.reexport(f"{module}.{name}" if module.strip(".") else module + name, self.path)
                if through is not None:
                    return through
        if name in _ROOTS:
            return frozenset({name})
        return _UNKNOWN if self.scopes.star_imports else frozenset({f"builtins.{name}"})
