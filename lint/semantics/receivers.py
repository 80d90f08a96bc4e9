"""What an object of the mode analysis is: a network or not, and whether its layers depend on the mode."""

from __future__ import annotations

import ast
import re

from torchlint.semantics import classes, layers, module_classes
from torchlint.semantics.frames import Event
from torchlint.semantics.modes import Obj
from torchlint.semantics.objects import class_of
from torchlint.semantics.project import Definition
from torchlint.semantics.torch_layers import Dependence
from torchlint.semantics.tree import last_name

_MODEL_NAME = re.compile(
    r"(^|_)(model|net|network|cnn|rnn|lstm|gru|mlp|classifier|generator|discriminator|encoder|decoder|backbone|teacher|student"
    r"|unet|resnet\d*|vgg\d*|vit|bert|gpt|vae|autoencoder|gan|transformer|detector|segmentor|module)(_|\d*$)|model$|net$",
    re.IGNORECASE,
)
_NO_MODEL = re.compile(r"loss|criterion|metric|optim|sched|loader|transform|^fn$|func", re.IGNORECASE)


def is_measure(obj: Obj) -> bool:
    """Whether an object is a loss, a metric or the like by its name or that of its class."""
    name = last_name(obj.node.func) if obj.kind == "new" and isinstance(obj.node, ast.Call) else obj.name
    return bool(_NO_MODEL.search(name))


def is_module(event: Event, obj: Obj) -> bool:
    """Whether an object certainly is a network: by its class, its constructor, its annotation, or what is done with it."""
    owner = class_of(obj)
    if owner is not None:
        known = module_classes.is_module_class(owner)
        if known is not None:
            return known
    if obj.kind == "copy" and obj.base is not None and is_module(event, obj.base):
        return True
    if obj.kind == "new" and isinstance(obj.node, ast.Call):
        names = obj.program.names.of(obj.node.func)
        if any(
            n.startswith(("torch.nn.", "torchvision.models.", "timm.", "segmentation_models_pytorch.")) for n in names
        ):
            return True
        if any(
            n != "builtins.eval"
            and n.startswith(("torch.", "builtins.", "numpy.", "torchmetrics.", "torchvision.transforms"))
            for n in names
        ):
            return False
    if obj.kind == "param" and isinstance(obj.node, ast.arg) and obj.node.annotation is not None:
        names = obj.program.names.of(obj.node.annotation)
        if any(n.startswith("torch.nn.") for n in names):
            return True
        if any(n in ("typing.Callable", "collections.abc.Callable", "torch.Tensor") for n in names):
            return False
    evidence = _evidence(event, obj)
    if evidence:
        return True
    name = obj.name or last_name(event.node.func)  # what is made elsewhere is known by the name it is called under
    return obj.kind in ("param", "attr", "free", "new", "copy") and bool(_MODEL_NAME.search(name))


def _evidence(event: Event, obj: Obj) -> set[str]:
    return event.evidence.get(obj, set()) | event.program.flow.evidence.get(obj, set())


def dependence(obj: Obj) -> Dependence:
    """What is known of the layers of an object."""
    if obj.kind == "copy" and obj.base is not None:
        return dependence(obj.base)
    owner = class_of(obj)
    if owner is not None:
        if obj.kind == "new" and isinstance(obj.node, ast.Call):
            return layers.of_call(obj.program, obj.node)
        return layers.of_class(owner)
    if obj.kind == "new" and isinstance(obj.node, ast.Call):
        return layers.of_call(obj.program, obj.node)
    if obj.kind == "attr" and obj.base is not None:
        holder = class_of(obj.base)
        if holder is not None:
            if layers.of_class(holder) is Dependence.INDEPENDENT:
                return Dependence.INDEPENDENT
            values = classes.attribute_values(holder, obj.name)
            if values:
                return max(layers.of_expression(p, v) for p, v in values)
    if obj.kind == "free":
        scope = obj.program.scopes.by_node.get(obj.node)
        bindings = scope.bindings.get(obj.name, []) if scope is not None else []
        values = [(obj.program, b.value) for b in bindings if b.kind == "assign" and b.value is not None]
        if values and len(values) == len(bindings):
            return max(layers.of_expression(p, v) for p, v in values)
    return Dependence.UNKNOWN


def is_network_class(owner: Definition) -> bool:
    """Whether a class is a network that runs: a module without ``forward`` only holds networks, like any other class."""
    known = module_classes.is_module_class(owner)
    runs = any(m.name == "forward" for cls in classes.lineage(owner) for m in classes.methods(cls))
    outside = classes.outside_bases(owner) - {module_classes.MODULE}
    return known is not False and (runs or (known is True and bool(outside - {"builtins.object", "abc.ABC"})))
