"""The objects of the mode analysis: what class they are of, in which mode they are, and how a switch spreads."""

from __future__ import annotations

import abc
import ast
from typing import TYPE_CHECKING

from torchlint.semantics import layers, module_classes
from torchlint.semantics.handed import handed
from torchlint.semantics.modes import Mode, Obj, Objs, State, Status, objects
from torchlint.semantics.project import Definition
from torchlint.semantics.reach import made_mode
from torchlint.semantics.torch_layers import INDEPENDENT

if TYPE_CHECKING:
    from torchlint.semantics.program import Program


def class_of(obj: Obj) -> Definition | None:
    """The class of the project an object is an instance of."""
    if obj.kind == "self" and isinstance(obj.node, ast.ClassDef):
        return Definition(obj.program, obj.node)
    if obj.kind == "new" and isinstance(obj.node, ast.Call):
        found = obj.program.definition(obj.node.func)
        return found if found is not None and isinstance(found.node, ast.ClassDef) else None
    if obj.kind == "copy" and obj.base is not None:
        return class_of(obj.base)
    if obj.kind == "param" and isinstance(obj.node, ast.arg) and obj.node.annotation is not None:
        annotation = obj.node.annotation
        found = obj.program.definition(annotation) if isinstance(annotation, ast.Name | ast.Attribute) else None
        return found if found is not None and isinstance(found.node, ast.ClassDef) else None
    return None


class Objects(abc.ABC):
    """The lowest layer of the interpreter. ``evidence`` holds the module methods that were called on an object."""

    program: Program
    evidence: dict[Obj, set[str]]

    def _is_network(self, obj: Obj) -> bool:
        owner = class_of(obj)
        return owner is not None and module_classes.is_module_class(owner) is True

    def status(self, obj: Obj, state: State) -> Status:
        """The mode of a model at this point."""
        known = state.modes.get(obj)
        return known if known is not None else self._initial(obj, state)

    def _initial(self, obj: Obj, state: State) -> Status:
        if obj.kind in ("attr", "part") and obj.base is not None:
            if obj.kind == "part" or obj.base in state.modes or self._is_network(obj.base):
                return self.status(obj.base, state)
            below = self.status(obj.base, state).mode if obj.base.kind in ("attr", "new") else Mode.ENTRY
            return Status(Mode.ENTRY if below is Mode.ENTRY else Mode.OPAQUE)
        if obj.kind == "new":
            assert isinstance(obj.node, ast.Call)
            return Status(made_mode(obj.program, obj.node))
        return Status(Mode.ENTRY)

    def effective(self, obj: Obj, state: State) -> Status:
        """The mode that matters when a model runs: a wrapper that makes no layers of its own runs in the mode of what it holds."""
        own = self.status(obj, state)
        if own.mode is not Mode.FRESH or obj.kind != "new":
            return own
        owner = class_of(obj)
        held: Status | None = None
        for (holder, _), value in state.attributes.items():
            if holder == obj:
                for inner in objects(value):
                    if _is_handed(inner, owner):
                        one = self.status(inner, state)
                        held = one if held is None else held | one
        if held is not None:
            return held
        assert isinstance(obj.node, ast.Call)
        return Status(Mode.OPAQUE) if handed(obj.program, obj.node) else own

    def switch(self, held: Objs, status: Status, state: State) -> None:
        """Set the mode of models and of everything below them."""
        for obj in held:
            if obj.kind == "part":
                base = obj.base
                if base is not None:
                    state.turn(base, self.status(base, state) | Status(Mode.PARTIAL))
                continue
            several = len(held) > 1 and status.mode & (Mode.TRAIN | Mode.FRESH)
            state.turn(obj, (self.status(obj, state) | status) if several else status)
            self._switch_below(obj, status, state, 4)

    def _switch_below(self, obj: Obj, status: Status, state: State, depth: int) -> None:
        if depth == 0:
            return
        for inner in [o for o in state.modes if o.kind == "attr" and o.base == obj]:
            state.turn(inner, status)
        for (holder, _), value in list(state.attributes.items()):
            if holder == obj:
                for inner in objects(value):
                    if inner != obj:
                        state.turn(inner, status)
                        self._switch_below(inner, status, state, depth - 1)

    def _note(self, held: Objs, method: str) -> None:
        for obj in held:
            self.evidence.setdefault(obj, set()).add(method)
            if obj.base is not None and obj.kind == "copy":
                self.evidence.setdefault(obj.base, set()).add(method)


def _is_handed(inner: Obj, owner: Definition | None) -> bool:
    """Whether what an object holds came from outside its class and may have layers that depend on the mode."""
    if inner.kind != "new":
        return inner.kind in ("param", "copy", "free")
    if owner is not None:
        own = class_of(inner)
        is_network = own is None or module_classes.is_module_class(own) is not False
        return is_network and not _made_in(inner, owner)
    assert isinstance(inner.node, ast.Call)
    return layers.of_call(inner.program, inner.node) is not INDEPENDENT


def _made_in(obj: Obj, owner: Definition) -> bool:
    return (
        owner.node.lineno <= getattr(obj.node, "lineno", 0) <= (owner.node.end_lineno or 0)
        and obj.program is owner.program
    )
