"""What a value is, when the file says so: constants through names, and the arguments a call really gets.

*Unknown* is a value. Where several paths give several values, all are listed, so that a rule can insist on every one.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Final

from torchlint.semantics.bindings import Scope
from torchlint.semantics.scopes import Scopes
from torchlint.semantics.tree import LOOPS, SCOPES, Tree, walk_scope


class _Unknown:
    """The value nothing is known about."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "UNKNOWN"


class _Absent:
    """An argument or key that is not given."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "ABSENT"


UNKNOWN: Final = _Unknown()
ABSENT: Final = _Absent()
Possible = ast.expr | _Unknown | _Absent


@dataclass(frozen=True, slots=True)
class Known:
    """A constant, and the expressions in which it is written (more than one when several paths agree)."""

    value: object
    written: tuple[ast.expr, ...] = ()


@dataclass(slots=True)
class DictFacts:
    """What is known of a dict at one point: for each key the values it may have, and whether it may hold other keys."""

    items: dict[str, tuple[Possible, ...]] = field(default_factory=dict)
    open: bool = False

    def get(self, key: str) -> tuple[Possible, ...]:
        """The possible values of a key; ABSENT among them when it may be missing, UNKNOWN when anything may be there."""
        if key in self.items:
            return self.items[key]
        return (UNKNOWN,) if self.open else (ABSENT,)

    def set(self, key: str, values: tuple[Possible, ...], certain: bool = True) -> None:
        """Assign a key, on every path or only on some."""
        self.items[key] = values if certain else _merge(self.get(key), values)

    def update(self, other: DictFacts, certain: bool = True) -> None:
        """``self.update(other)``."""
        for key in {*self.items, *other.items}:
            new = other.get(key)
            if key not in other.items:  # whatever else the other dict may hold, or not
                self.items[key] = _merge(self.get(key), new) if other.open else self.get(key)
            elif ABSENT in new:
                self.items[key] = _merge(tuple(v for v in new if v is not ABSENT), self.get(key))
            else:
                self.set(key, new, certain)
        self.open = self.open or other.open

    def join(self, other: DictFacts) -> DictFacts:
        """What is known when either of two dicts may be meant."""
        keys = {*self.items, *other.items}
        return DictFacts({k: _merge(self.get(k), other.get(k)) for k in keys}, self.open or other.open)


def _merge(first: tuple[Possible, ...], second: tuple[Possible, ...]) -> tuple[Possible, ...]:
    merged = list(first)
    merged.extend(value for value in second if value not in merged)
    return tuple(merged)


class Values:
    """Evaluates expressions of one file as far as the file itself decides them."""

    def __init__(self, tree: Tree, scopes: Scopes) -> None:
        self.tree = tree
        self.scopes = scopes

    # -- constants ------------------------------------------------------------------------------------------------------

    def constant(self, expr: Possible, depth: int = 8) -> Known | _Unknown:
        """The one constant an expression stands for on every path, else UNKNOWN."""
        if isinstance(expr, ast.Constant):
            return Known(expr.value, (expr,))
        if depth == 0 or isinstance(expr, _Unknown | _Absent):
            return UNKNOWN
        if isinstance(expr, ast.UnaryOp) and isinstance(expr.op, ast.USub):
            inner = self.constant(expr.operand, depth - 1)
            if isinstance(inner, Known) and isinstance(inner.value, int | float):
                return Known(-inner.value, inner.written)
            return UNKNOWN
        if isinstance(expr, ast.IfExp):
            return _agree([self.constant(expr.body, depth - 1), self.constant(expr.orelse, depth - 1)])
        if isinstance(expr, ast.NamedExpr):
            return self.constant(expr.value, depth - 1)
        if isinstance(expr, ast.Name):
            return self._constant_name(expr, depth)
        if isinstance(expr, ast.Call) and isinstance(expr.func, ast.Name) and expr.func.id in ("int", "float", "bool"):
            if len(expr.args) == 1 and not expr.keywords and not self.scopes.reaching(expr.func):
                return self.constant(expr.args[0], depth - 1)
        return UNKNOWN

    def _constant_name(self, name: ast.Name, depth: int) -> Known | _Unknown:
        bindings = self.scopes.reaching(name)
        if not bindings or any(b.kind not in ("assign", "walrus") or b.value is None for b in bindings):
            return UNKNOWN
        scope = self.scopes.scope_of(name)
        owner = self.scopes.owner(name.id, scope)
        if owner is not None and owner is not scope and len(owner.bindings[name.id]) > 1:
            return UNKNOWN  # seen from a function, any of several module-level values may be current
        return _agree([self.constant(b.value, depth - 1) for b in bindings if b.value is not None])

    def alternatives(self, expr: ast.expr, depth: int = 8) -> tuple[Possible, ...]:
        """The expressions a value may come from: names are followed to their definitions, conditionals to both arms."""
        if depth == 0:
            return (UNKNOWN,)
        if isinstance(expr, ast.IfExp):
            return _merge(self.alternatives(expr.body, depth - 1), self.alternatives(expr.orelse, depth - 1))
        if isinstance(expr, ast.NamedExpr):
            return self.alternatives(expr.value, depth - 1)
        if isinstance(expr, ast.BoolOp) and isinstance(expr.op, ast.Or):
            found: tuple[Possible, ...] = ()
            for value in expr.values:
                found = _merge(found, self.alternatives(value, depth - 1))
            return found
        if isinstance(expr, ast.Name):
            bindings = self.scopes.reaching(expr)
            if not bindings:
                return (expr,)
            result: tuple[Possible, ...] = ()
            for binding in bindings:
                if binding.kind in ("assign", "walrus") and binding.value is not None:
                    result = _merge(result, self.alternatives(binding.value, depth - 1))
                else:
                    result = _merge(result, (UNKNOWN,))
            return result
        return (expr,)

    # -- call arguments -------------------------------------------------------------------------------------------------

    def argument(self, call: ast.Call, name: str, position: int | None = None) -> tuple[Possible, ...]:
        """What a call passes for a parameter: the expressions possible, ABSENT when it may be left out, UNKNOWN when unseen."""
        if position is not None:
            for index, arg in enumerate(call.args[: position + 1]):
                if isinstance(arg, ast.Starred):
                    return (UNKNOWN,)
                if index == position:
                    return (arg,)
        unpacked: list[ast.keyword] = []
        for keyword in call.keywords:
            if keyword.arg == name:
                return (keyword.value,)
            if keyword.arg is None:
                unpacked.append(keyword)
        result: tuple[Possible, ...] = (ABSENT,)
        for keyword in unpacked:
            values = self.dict_facts(keyword.value).get(name)
            if values == (ABSENT,):
                continue
            result = _merge(tuple(v for v in result if v is not ABSENT or ABSENT in values), values)
        return result

    def keyword(self, call: ast.Call, name: str) -> ast.keyword | None:
        """The keyword argument written in the call itself."""
        return next((k for k in call.keywords if k.arg == name), None)

    def has_unpacking(self, call: ast.Call) -> bool:
        """Whether ``*args`` or ``**kwargs`` is passed."""
        return any(isinstance(a, ast.Starred) for a in call.args) or any(k.arg is None for k in call.keywords)

    # -- dicts ----------------------------------------------------------------------------------------------------------

    def dict_facts(self, expr: ast.expr, depth: int = 6) -> DictFacts:
        """What is known of the keys of a dict expression where it stands."""
        if depth == 0:
            return DictFacts(open=True)
        if isinstance(expr, ast.Dict):
            return self._literal(expr, depth)
        if isinstance(expr, ast.IfExp):
            return self.dict_facts(expr.body, depth - 1).join(self.dict_facts(expr.orelse, depth - 1))
        if isinstance(expr, ast.BinOp) and isinstance(expr.op, ast.BitOr):
            facts = self.dict_facts(expr.left, depth - 1)
            facts.update(self.dict_facts(expr.right, depth - 1))
            return facts
        if isinstance(expr, ast.Call) and isinstance(expr.func, ast.Name) and expr.func.id == "dict":
            return self._dict_call(expr, depth)
        if (
            isinstance(expr, ast.Call)
            and isinstance(expr.func, ast.Attribute)
            and expr.func.attr == "copy"
            and not expr.args
        ):
            return self.dict_facts(expr.func.value, depth - 1)
        if isinstance(expr, ast.Name):
            return self._dict_name(expr, depth)
        return DictFacts(open=True)

    def _literal(self, node: ast.Dict, depth: int) -> DictFacts:
        facts = DictFacts()
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                facts.update(self.dict_facts(value, depth - 1))
                continue
            name = self.constant(key)
            if isinstance(name, Known) and isinstance(name.value, str):
                facts.set(name.value, (value,))
            else:
                facts.open = True
        return facts

    def _dict_call(self, call: ast.Call, depth: int) -> DictFacts:
        facts = DictFacts()
        for arg in call.args:
            facts.update(DictFacts(open=True) if isinstance(arg, ast.Starred) else self.dict_facts(arg, depth - 1))
        for keyword in call.keywords:
            if keyword.arg is None:
                facts.update(self.dict_facts(keyword.value, depth - 1))
            else:
                facts.set(keyword.arg, (keyword.value,))
        return facts

    def _dict_name(self, name: ast.Name, depth: int) -> DictFacts:
        bindings = self.scopes.reaching(name)
        if not bindings:
            return DictFacts(open=True)
        facts: DictFacts | None = None
        for binding in bindings:
            if binding.kind == "augment" and isinstance(binding.node, ast.AugAssign):
                continue  # seen again among the changes below
            if binding.kind not in ("assign", "walrus") or binding.value is None:
                one = DictFacts(open=True)
            else:
                one = self.dict_facts(binding.value, depth - 1)
            facts = one if facts is None else facts.join(one)
        facts = facts or DictFacts(open=True)
        owner = self.scopes.owner(name.id, self.scopes.scope_of(name))
        if owner is not None:
            for change, certain in self._changes(name, owner):
                self._apply(change, facts, certain, depth)
        return facts

    def _changes(self, name: ast.Name, owner: Scope) -> list[tuple[ast.AST, bool]]:
        """Statements that change the dict bound to ``name`` before the use, each with whether it runs on every path to it."""
        found: list[tuple[ast.AST, bool]] = []
        use = self.tree.statement(name)
        same_scope = self.scopes.scope_of(name) is owner
        for node in walk_scope(owner.node):
            if not _changes_name(node, name.id) or self.tree.statement(node) is use:
                continue
            statement = self.tree.statement(node)
            if same_scope and statement.lineno > use.lineno and not _share_loop(self.tree, statement, use):
                continue
            block = self.tree.blocks[statement][0]
            certain = same_scope and (block is self.tree.blocks[use][0] or _encloses(self.tree, block, use))
            found.append((node, certain and statement.lineno < use.lineno))
        return found

    def _apply(self, change: ast.AST, facts: DictFacts, certain: bool, depth: int) -> None:
        if isinstance(change, ast.Call) and isinstance(change.func, ast.Attribute):
            method = change.func.attr
            if method == "update":
                facts.update(self._dict_call(change, depth), certain) if certain else _maybe(
                    facts, self._dict_call(change, depth)
                )
            elif method in ("pop", "__delitem__") and change.args:
                key = self.constant(change.args[0])
                if isinstance(key, Known) and isinstance(key.value, str):
                    facts.set(key.value, (ABSENT,), certain)
                else:
                    facts.open = True
            elif method == "setdefault" and len(change.args) == 2:
                key = self.constant(change.args[0])
                if isinstance(key, Known) and isinstance(key.value, str):
                    facts.set(key.value, (change.args[1],), certain=ABSENT in facts.get(key.value) and certain)
            elif method == "clear":
                facts.open = True
        elif isinstance(change, ast.Assign) and isinstance(change.targets[0], ast.Subscript):
            key = self.constant(change.targets[0].slice)
            if isinstance(key, Known) and isinstance(key.value, str):
                facts.set(key.value, (change.value,), certain)
            elif not isinstance(key, Known):
                facts.open = True
        elif isinstance(change, ast.AugAssign):
            other = self.dict_facts(change.value, depth - 1)
            facts.update(other) if certain else _maybe(facts, other)
        elif isinstance(change, ast.Delete):
            facts.open = True


def _maybe(facts: DictFacts, other: DictFacts) -> None:
    for key in other.items:
        facts.set(key, other.get(key), certain=False)
    facts.open = facts.open or other.open


def _agree(values: list[Known | _Unknown]) -> Known | _Unknown:
    first: Known | None = None
    written: list[ast.expr] = []
    for value in values:
        if not isinstance(value, Known):
            return UNKNOWN
        if first is not None and (value.value != first.value or type(value.value) is not type(first.value)):
            return UNKNOWN
        first = value
        written.extend(value.written)
    return UNKNOWN if first is None else Known(first.value, tuple(written))


def _changes_name(node: ast.AST, name: str) -> bool:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        value = node.func.value
        return isinstance(value, ast.Name) and value.id == name and node.func.attr in (
            "update", "pop", "setdefault", "clear", "__delitem__",
        )  # fmt: skip
    if isinstance(node, ast.Assign):
        target = node.targets[0]
        return isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name) and target.value.id == name
    if isinstance(node, ast.AugAssign):
        return isinstance(node.target, ast.Name) and node.target.id == name
    if isinstance(node, ast.Delete):
        return any(
            isinstance(t, ast.Subscript) and isinstance(t.value, ast.Name) and t.value.id == name for t in node.targets
        )
    return False


def _share_loop(tree: Tree, first: ast.AST, second: ast.AST) -> bool:
    loops = {a for a in tree.ancestors(first) if isinstance(a, LOOPS)}
    return any(a in loops for a in tree.ancestors(second))


def _encloses(tree: Tree, block: list[ast.stmt], node: ast.AST) -> bool:
    for ancestor in tree.ancestors(node):
        if isinstance(ancestor, ast.stmt) and tree.blocks[ancestor][0] is block:
            return True
        if isinstance(ancestor, SCOPES):
            return False
    return False
