"""Which classes are networks, and which are run by a framework."""

from __future__ import annotations

from torchlint.semantics import classes
from torchlint.semantics.project import Definition

MODULE = "torch.nn.Module"
MODULE_BASES = frozenset({
    MODULE, "torch.nn.Sequential", "torch.nn.ModuleList", "torch.nn.ModuleDict", "torch.jit.ScriptModule",
})  # fmt: skip
FRAMEWORK_BASES = (
    "pytorch_lightning", "lightning", "lightning_fabric", "pl", "transformers", "diffusers", "fastai", "sentence_transformers",
)  # fmt: skip
LIBRARIES = (
    "torchvision.models",
    "timm",
    "segmentation_models_pytorch",
    "pretrainedmodels",
    "efficientnet_pytorch",
)


def is_module_class(target: Definition) -> bool | None:
    """Whether a class is a network: True or False when its bases say so, None when a base is unknown."""
    names = classes.outside_bases(target)
    if any(name in MODULE_BASES or (name is not None and name.startswith(("torch.nn.", *LIBRARIES))) for name in names):
        return True
    if any(name is not None and name.startswith(FRAMEWORK_BASES) for name in names):
        return True
    return classes.is_subclass(target, MODULE)


def is_framework_class(target: Definition) -> bool:
    """Whether a framework (Lightning, transformers…) runs the class and switches its modes."""
    return any(n is not None and n.startswith(FRAMEWORK_BASES) for n in classes.outside_bases(target))
