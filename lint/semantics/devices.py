"""What a device expression is: the argument of ``.to(...)``, a name bound to one, the place a value is moved to."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchlint.semantics.bindings import Binding
from torchlint.semantics.tree import FUNCTIONS, last_name
from torchlint.semantics.values import Known

if TYPE_CHECKING:
    from torchlint.semantics.program import Program

_KINDS = re.compile(r"(cuda|mps|xpu|hpu|npu|xla|mlu|musa|ipu|tpu|gpu|privateuseone|meta|vulkan|hip)\b(?!/)")
_CPU = re.compile(r"cpu\b")
_NAME = re.compile(r"\w*device(?:_?(?:type|name|str))?\d*$|_?dev\d*$", re.I)
_RANK = re.compile(
    r"(?:local_?|global_?|my_?)?rank$|gpu(?:_?(?:id|idx|index|num|rank))?\d?$|(?:device|cuda)_?(?:id|idx|index|num)$",
    re.I,
)
_NOT_A_DEVICE = re.compile(
    r"_*(?:num|n|count|max|use|has|no|is|on|for|per|by|multi|same|each|get|set|select|choose|pick|find|make|to|move|check|test|"
    r"instantiate|default_process)_",
    re.I,
)
_NO_MAKER = re.compile(r"_*(?:set|to|move|check|is|has|num|n|count|test|use)_", re.I)
_HOST = re.compile(r"(?:.*_)?(?:cpu|host)(?:_.*)?$", re.I)
_HOLDERS = re.compile(
    r"(?:.*_)?(?:args?|opts?|options?|cfg|conf|configs?|params|hparams?|flags?|settings?|hps?|self|cls|trainer|accelerator|"
    r"fabric|env|globals?|constants?|ctx|context|namespace)$",
    re.I,
)
_NETWORK = re.compile(
    r"(?:.*_)?(?:model|net|network|module|encoder|decoder|generator|discriminator|policy|agent|[a-z]*net)$", re.I
)
_MAKERS = ("torch.device", "torch.accelerator.current_accelerator", "torch.get_default_device")
_NUMBERS = ("torch.cuda.current_device", "torch.accelerator.current_device_index", "torch.distributed.get_rank",
            "torch.distributed.get_node_local_rank", "torch.cuda.device_count", "builtins.int")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Place:
    """What is known of a value used as a device.

    ``device`` is set when it certainly or by every sign is one, ``cpu`` when it certainly is the CPU, ``number``
    when it may be a bare index (``torch.load`` takes none), ``index`` is the dump of the index expression it names
    (``"none"`` for the current device of its kind, None when that is not known), ``follows`` when it is where
    another tensor lives.
    """

    device: bool = False
    cpu: bool = False
    number: bool = False
    index: str | None = None
    follows: bool = False


NO = Place()
CPU = Place(device=True, cpu=True, index="cpu")
SOME = Place(device=True)
CURRENT = Place(device=True, index="none")


def place(program: Program, expr: ast.expr, depth: int = 8) -> Place:
    """What an expression says about a device."""
    if depth == 0:
        return NO
    if isinstance(expr, ast.Constant):
        return _constant(expr)
    if isinstance(expr, ast.JoinedStr | ast.BinOp):
        return _built_string(program, expr)
    if isinstance(expr, ast.IfExp):
        return join([place(program, expr.body, depth - 1), place(program, expr.orelse, depth - 1)])
    if isinstance(expr, ast.BoolOp):
        return join([place(program, value, depth - 1) for value in expr.values])
    if isinstance(expr, ast.NamedExpr):
        return place(program, expr.value, depth - 1)
    if isinstance(expr, ast.Call):
        return _call(program, expr, depth)
    if isinstance(expr, ast.Name):
        return place_of_name(program, expr.id, program.scopes.reaching(expr), depth)
    if isinstance(expr, ast.Attribute):
        return _attribute(program, expr)
    if isinstance(expr, ast.Subscript):
        return _subscript(program, expr)
    return NO


def place_of_name(program: Program, name: str, bindings: Iterable[Binding], depth: int = 8) -> Place:
    """What the bindings of a name say; where they say nothing, the name itself decides."""
    found: list[Place] = []
    for binding in bindings:
        if binding.kind in ("assign", "walrus") and binding.value is not None:
            if isinstance(binding.value, ast.Constant) and binding.value.value is None:
                continue
            found.append(_bound_value(program, name, binding.value, depth))
        elif binding.kind == "param" and isinstance(binding.node, ast.arg):
            found.append(_parameter(program, name, binding.node))
        elif binding.kind in ("def", "class", "del") or (binding.kind == "import" and _is_no_value(binding)):
            found.append(NO)
        else:
            found.append(named(name))
    return join(found) if found else named(name)


def named(name: str) -> Place:
    """What a name alone suggests."""
    if name[:1].isupper() and not name.isupper():
        return NO  # a class
    if _NOT_A_DEVICE.match(name) or not (_NAME.match(name) or _RANK.match(name)):
        return CPU if _HOST.match(name) and _NAME.match(name) else NO
    if _HOST.match(name):
        return CPU
    return Place(device=True, number=_RANK.match(name) is not None)


def join(places: list[Place]) -> Place:
    """What is known when any of several values may be meant."""
    if not places:
        return NO
    index = places[0].index
    return Place(
        device=any(p.device for p in places),
        cpu=all(p.cpu for p in places),
        number=any(p.number for p in places),
        index=index if all(p.index == index for p in places) else _but_cpu(places),
        follows=all(p.follows for p in places),
    )


def _but_cpu(places: list[Place]) -> str | None:
    """The index of a device that is the CPU when there is no accelerator."""
    rest = {p.index for p in places if not p.cpu}
    return rest.pop() if len(rest) == 1 else None


def _constant(expr: ast.Constant) -> Place:
    value = expr.value
    if isinstance(value, bool) or value is None:
        return NO
    if isinstance(value, int):
        return Place(device=True, number=True, index=ast.dump(expr))
    return _text(value) if isinstance(value, str) else NO


def _text(text: str) -> Place:
    if _CPU.match(text):
        return CPU
    if _KINDS.match(text) is None:
        return NO
    _, _, number = text.partition(":")
    return Place(device=True, index=ast.dump(ast.Constant(int(number))) if number.isdigit() else "none")


def _built_string(program: Program, expr: ast.JoinedStr | ast.BinOp) -> Place:
    """``f"cuda:{rank}"``, ``"cuda:" + str(rank)``, ``"cuda:%d" % rank``."""
    if isinstance(expr, ast.JoinedStr):
        head = expr.values[0] if expr.values else None
        rest = expr.values[1] if len(expr.values) == 2 else None
        index = rest.value if isinstance(rest, ast.FormattedValue) else None
    else:
        head, index = expr.left, expr.right
        if isinstance(index, ast.Call) and isinstance(index.func, ast.Name) and index.func.id == "str" and index.args:
            index = index.args[0]
    if not isinstance(head, ast.Constant) or not isinstance(head.value, str) or not _KINDS.match(head.value):
        return NO
    return Place(device=True, index=None if index is None else ast.dump(index))


def _call(program: Program, call: ast.Call, depth: int) -> Place:
    names = program.names
    if names.matches(call.func, "torch.device"):
        return _device_call(program, call, depth)
    if names.matches(call.func, *_MAKERS):
        return CURRENT
    if names.matches(call.func, *_NUMBERS):
        return Place(device=names.matches(call.func, "torch.cuda.current_device"), number=True)
    if (
        isinstance(call.func, ast.Attribute)
        and call.func.attr == "format"
        and isinstance(call.func.value, ast.Constant)
    ):
        text = call.func.value.value
        if isinstance(text, str) and _KINDS.match(text):
            return Place(device=True, index=ast.dump(call.args[0]) if len(call.args) == 1 else None)
        return NO
    callee = last_name(call.func)
    if re.search(r"(?:^|_)(?:device|gpu)$", callee, re.I) and not _NO_MAKER.match(callee):
        return SOME
    return NO


def _device_call(program: Program, call: ast.Call, depth: int) -> Place:
    if not call.args and not call.keywords:
        return SOME
    first = call.args[0] if call.args else call.keywords[0].value
    inner = place(program, first, depth - 1)
    if len(call.args) > 1:
        return Place(device=True, index=ast.dump(call.args[1]))
    if inner.device:
        return Place(True, inner.cpu, False, inner.index)
    return SOME


def _bound_value(program: Program, name: str, value: ast.expr, depth: int) -> Place:
    found = place(program, value, depth - 1)
    if isinstance(value, ast.Constant) and isinstance(value.value, int):
        return found if named(name).device else NO  # any small number could be a device
    if found.device or isinstance(value, ast.Constant):
        return found
    if _follows(value):
        return Place(device=True, follows=True)
    opaque = isinstance(value, ast.Call | ast.Attribute | ast.Subscript | ast.Await)
    by_name = named(name) if opaque and not _is_foreign(program, value) else NO
    return Place(by_name.device, by_name.cpu, by_name.number or found.number, by_name.index)


def _follows(value: ast.expr) -> bool:
    """``x.device`` of a tensor; the device of a network is the device of the program."""
    if not isinstance(value, ast.Attribute) or value.attr != "device":
        return False
    base = value.value
    name = last_name(base)
    return not isinstance(base, ast.Call) and _NETWORK.match(name) is None


def _is_foreign(program: Program, value: ast.expr) -> bool:
    """Whether the value comes from a torch call that makes something else than a device."""
    return isinstance(value, ast.Call) and program.names.under(value.func, "torch.nn", "torch.Tensor")


def _parameter(program: Program, name: str, arg: ast.arg) -> Place:
    annotation = arg.annotation
    if annotation is not None:
        text = ast.unparse(annotation)
        if re.search(r"\b(?:torch\.)?device\b", text):
            return Place(device=True, number=re.search(r"\bint\b", text) is not None)
        if re.search(r"dtype|Tensor|Module|bool", text):
            return NO
        if re.fullmatch(r"int", text):
            return Place(device=named(name).device, number=True)
    return named(name)


def _attribute(program: Program, expr: ast.Attribute) -> Place:
    dotted = program.names.one(expr)
    if dotted is not None and dotted.startswith(("torch.", "numpy.")):
        return NO  # torch.float16, torch.channels_last
    found = named(expr.attr)
    if not found.device:
        return NO
    if is_holder(program, expr.value):
        own = _instance_attribute(program, expr)
        return own if own is not None and own.device else found
    return NO  # the device of a tensor or module: x.to(other.device)


def is_holder(program: Program, base: ast.expr) -> bool:
    """Whether an attribute's base is a bag of settings, ``self`` or a module, as opposed to a tensor or a network."""
    if isinstance(base, ast.Name):
        if _HOLDERS.match(base.id):
            return True
        bindings = program.scopes.reaching(base)
        return bool(bindings) and all(b.kind in ("import", "class") for b in bindings)
    if isinstance(base, ast.Attribute):
        return _HOLDERS.match(base.attr) is not None
    return isinstance(base, ast.Call) and isinstance(base.func, ast.Name) and base.func.id == "super"


def _instance_attribute(program: Program, expr: ast.Attribute) -> Place | None:
    """What ``self.device`` was set to in the methods of the class."""
    from torchlint.semantics.classes import attribute_values, self_name
    from torchlint.semantics.project import Definition

    function = program.tree.function(expr)
    while isinstance(function, ast.Lambda) or (function is not None and program.tree.class_of(function) is None):
        function = program.tree.function(function)
    if (
        not isinstance(function, FUNCTIONS)
        or not isinstance(expr.value, ast.Name)
        or self_name(function) != expr.value.id
    ):
        return None
    cls = program.tree.class_of(function)
    if cls is None:
        return None
    memo = program.memo("devices.instance")
    if expr in memo:
        seen: Place | None = memo[expr]
        return seen
    memo[expr] = None  # self.device = other or self.device
    values = attribute_values(Definition(program, cls), expr.attr)
    places = [place(where, value, 4) for where, value in values if not _none(value)]
    known = [p for p in places if p.device]
    memo[expr] = result = join(known) if known and len(known) == len(places) else (known[0] and SOME if known else None)
    return result


def _none(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is None


def _subscript(program: Program, expr: ast.Subscript) -> Place:
    """``config["device"]``, ``devices[rank]``."""
    key = program.values.constant(expr.slice) if not isinstance(expr.slice, ast.Slice) else None
    if isinstance(key, Known) and isinstance(key.value, str):
        return named(key.value)
    base = expr.value
    name = last_name(base)
    if re.fullmatch(r"(?:.*_)?(?:devices|gpus|device_ids|gpu_ids)", name, re.I):
        return Place(device=True, number=True)
    return NO


def _is_no_value(binding: Binding) -> bool:
    """Whether an import binds a module (``import a.b``) or something of torch, where all devices are made, not kept."""
    return isinstance(binding.statement, ast.Import) or (binding.target or "").startswith("torch.")
