"""What is known where paths meet."""

from __future__ import annotations

from torchlint.semantics.bindings import Scope
from torchlint.semantics.modes import Linked, Obj, State, Status, Value, join_values
from torchlint.semantics.objects import Objects


class Joins(Objects):
    """Joins states; a mode that only one side knows is what it was on the other."""

    def join_all(self, states: list[State]) -> State | None:
        """One state for several paths that meet; None when there is none."""
        if not states:
            return None
        first, *rest = states
        for other in rest:
            first = self.join(first, other)
        return first

    def join(self, first: State, second: State, condition: str | None = None) -> State:
        """Two paths meet; with a condition, modes that differ are remembered with the branch they belong to."""
        if first.variables is not second.variables:
            first.variables = _join_variables(first.variables, second.variables)
        if first.attributes is not second.attributes:
            attributes = dict(first.attributes)
            for attr, value in second.attributes.items():
                known = attributes.get(attr)
                attributes[attr] = value if known is None else join_values(known, value)
            first.attributes = attributes
        if first.modes is not second.modes:
            self._join_modes(first, second, condition)
        elif first.linked is not second.linked:
            first.linked = {k: v for k, v in first.linked.items() if k in second.linked}
        return first

    def _join_modes(self, first: State, second: State, condition: str | None) -> None:
        links = {k: v for k, v in first.linked.items() if k in second.linked}
        modes = dict(first.modes)
        for obj in (*first.modes, *(o for o in second.modes if o not in first.modes)):
            one, two = self._one_sided(obj, first, second)
            if one == two:
                modes[obj] = one
                continue
            joined = one | two
            if condition is not None:
                links[condition, obj] = Linked(one, two, joined)
            modes[obj] = joined
        first.modes, first.linked = modes, links

    def _one_sided(self, obj: Obj, first: State, second: State) -> tuple[Status, Status]:
        one, two = first.modes.get(obj), second.modes.get(obj)
        if one is None:
            one = two if obj.kind in ("new", "copy") and two is not None else self.status(obj, first)
        if two is None:
            two = one if obj.kind in ("new", "copy") else self.status(obj, second)
        return one, two


def _join_variables(
    first: dict[Scope, dict[str, Value]], second: dict[Scope, dict[str, Value]]
) -> dict[Scope, dict[str, Value]]:
    joined = dict(first)
    for scope, theirs in second.items():
        mine = joined.get(scope)
        if mine is theirs:
            continue
        if mine is None:
            joined[scope] = theirs
            continue
        both = dict(mine)
        for name, value in theirs.items():
            known = both.get(name)
            both[name] = value if known is None else join_values(known, value)
        joined[scope] = both
    return joined
