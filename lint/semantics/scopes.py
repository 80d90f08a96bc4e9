"""Which binding of a name a use sees: scopes, and reaching definitions by walking backwards through the blocks."""

from __future__ import annotations

import ast
from collections import defaultdict
from dataclasses import dataclass, field

from torchlint.semantics.tree import COMPREHENSIONS, FUNCTIONS, LOOPS, Tree

_OPENERS = (*FUNCTIONS, ast.Lambda, ast.ClassDef, *COMPREHENSIONS)
_EXITS = frozenset({"sys.exit", "exit", "quit", "os._exit", "os.abort"})


@dataclass(eq=False, slots=True)
class Binding:
    """One place that gives a name a value.

    ``kind`` is one of assign, unpack, augment, annotate, for, with, import, def, class, param, except, del, walrus, pattern.
    ``value`` is the expression the value comes from (for a loop the iterable, for ``with`` the context expression, for an
    unpacking the whole right side); ``target`` the dotted name of an import; ``index`` the position in an unpacking.
    """

    name: str
    kind: str
    node: ast.AST
    statement: ast.stmt | None
    scope: Scope
    value: ast.expr | None = None
    target: str | None = None
    index: int | None = None


@dataclass(eq=False, slots=True)
class Scope:
    """A module, class, function, lambda or comprehension with the names bound in it."""

    node: ast.AST
    parent: Scope | None
    bindings: dict[str, list[Binding]] = field(default_factory=dict)
    outside: dict[str, str] = field(default_factory=dict)  # name → "global" or "nonlocal"
    places: dict[str, _Places] = field(default_factory=dict)

    @property
    def is_class(self) -> bool:
        """Whether nested functions cannot see the names."""
        return isinstance(self.node, ast.ClassDef)

    @property
    def is_inline(self) -> bool:
        """Whether the body runs where it stands (comprehensions; generator expressions nearly so)."""
        return isinstance(self.node, COMPREHENSIONS)


@dataclass(eq=False, slots=True)
class _Places:
    """For one name of one scope: block → (index, statement, bindings below it), and statement → bindings below it."""

    blocks: dict[int, list[tuple[int, ast.stmt, list[Binding]]]]
    below: dict[ast.stmt, list[Binding]]


class Scopes:
    """All scopes of a module."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.module = Scope(tree.module, None)
        self.by_node: dict[ast.AST, Scope] = {tree.module: self.module}
        self.star_imports: list[str] = []
        self._build()

    # -- lookup ---------------------------------------------------------------------------------------------------------

    def scope_of(self, node: ast.AST) -> Scope:
        """The scope in which an expression or statement is evaluated."""
        child = node
        for parent in self.tree.ancestors(node):
            scope = self.by_node.get(parent)
            if scope is not None and not _belongs_outside(parent, child):
                return scope
            child = parent
        return self.module

    def owner(self, name: str, scope: Scope) -> Scope | None:
        """The scope whose binding ``name`` means when used in ``scope``; None when nothing in the file binds it."""
        current: Scope | None = scope
        first = True
        while current is not None:
            how = current.outside.get(name)
            if how == "global":
                return self.module if name in self.module.bindings else None
            if name in current.bindings and how is None and (first or not current.is_class):
                return current
            first = first and current.is_inline
            current = current.parent
        return None

    def reaching(self, use: ast.Name) -> list[Binding]:
        """The bindings a use may see; empty when the file does not bind the name at all."""
        return self.reaching_at(use.id, use)

    def reaching_at(self, name: str, at: ast.AST) -> list[Binding]:
        """The bindings of ``name`` that may reach the point just before ``at`` runs."""
        scope = self.scope_of(at)
        owner = self.owner(name, scope)
        if owner is None:
            return []
        inner = scope
        while inner is not owner and inner.is_inline and inner.parent is not None:
            inner = inner.parent
        if inner is not owner or owner.is_inline or isinstance(owner.node, ast.Lambda):
            return list(owner.bindings[name])
        found, _ = self._before(name, at, owner)
        return found or list(owner.bindings[name])

    def bound_on_every_path(self, name: str, at: ast.AST) -> bool:
        """Whether ``name`` certainly has a value when ``at`` runs."""
        scope = self.scope_of(at)
        owner = self.owner(name, scope)
        if owner is None:
            return False
        inner = scope
        while inner is not owner and inner.is_inline and inner.parent is not None:
            inner = inner.parent
        if owner.is_inline or isinstance(owner.node, ast.Lambda):
            return True
        if inner is owner:
            return self._before(name, at, owner)[1]
        if isinstance(owner.node, ast.Module):
            return any(b.statement is not None and self._straight(b, owner) for b in owner.bindings[name])
        return any(b.kind == "param" or self._straight(b, owner) for b in owner.bindings[name])

    def _straight(self, binding: Binding, owner: Scope) -> bool:
        """Whether the binding is a statement of the scope's own block, so that it runs whenever the block runs."""
        body = getattr(owner.node, "body", None)
        statement = binding.statement
        if statement is None or not isinstance(body, list):
            return binding.kind == "param"
        block = self.tree.blocks.get(statement)
        return (block is not None and block[0] is body) or self._definite(
            binding.name, self._top(statement, body), owner
        )

    def _top(self, statement: ast.stmt, body: list[ast.stmt]) -> ast.stmt:
        current = statement
        while self.tree.blocks[current][0] is not body:
            current = self.tree.statement(self.tree.parents[current])
        return current

    # -- backwards through the blocks ------------------------------------------------------------------------------------

    def _before(self, name: str, at: ast.AST, owner: Scope) -> tuple[list[Binding], bool]:
        """Bindings that may reach ``at``, and whether one of them surely does. ``at`` lies in ``owner`` or inline in it."""
        tree = self.tree
        places = self._places(name, owner)
        found: list[Binding] = []
        current = self._statement_in(at, owner)
        if isinstance(current, ast.While) and at is not current:
            found.extend(places.below.get(current, []))
        while current is not None:
            block, index = tree.blocks[current]
            for position, statement, bindings in reversed(places.blocks.get(id(block), ())):
                if position >= index:
                    continue
                live, sure = self._after(statement, bindings, name, owner)
                found.extend(b for b in live if b not in found)
                if sure:
                    return found, True
            parent = tree.parents[current]
            if parent is owner.node:
                break
            holder = parent if isinstance(parent, ast.stmt) else tree.statement(parent)
            sure = self._enter(parent, holder, block, places, found)
            if sure:
                return found, True
            current = holder
        parameters = [b for b in owner.bindings[name] if b.kind == "param"]
        found.extend(parameters)
        return found, bool(parameters)

    def _statement_in(self, at: ast.AST, owner: Scope) -> ast.stmt | None:
        """The statement of ``owner`` around ``at``: a use in a lambda or nested header counts where that stands."""
        current = self.tree.statement(at)
        while self.scope_of(current) is not owner:
            parent = self.tree.parents.get(current)
            if parent is None or isinstance(parent, ast.Module):
                return current
            current = self.tree.statement(parent)
        return current

    def _after(
        self, statement: ast.stmt, bindings: list[Binding], name: str, owner: Scope
    ) -> tuple[list[Binding], bool]:
        """Which of the bindings below an earlier statement of a block are live behind it, and whether one is certain."""
        live = [b for b in bindings if not self._lost(b, statement)]
        return live, self._definite(name, statement, owner)

    def _lost(self, binding: Binding, upto: ast.stmt) -> bool:
        """Whether control never comes from the binding to the end of ``upto`` (its branch returns, raises, continues)."""
        current: ast.AST | None = binding.statement
        while current is not None and current is not upto:
            block, index = self.tree.blocks[current] if isinstance(current, ast.stmt) else ([], 0)
            if isinstance(current, ast.stmt):
                if any(terminates(later) for later in block[index:]):
                    holder = self.tree.parents[current]
                    in_loop = any(isinstance(a, LOOPS) for a in self._between(current, upto)) or isinstance(upto, LOOPS)
                    if not in_loop and not isinstance(holder, ast.Try):
                        return True
            current = self.tree.parents.get(current)
        return False

    def _between(self, node: ast.AST, top: ast.AST) -> list[ast.AST]:
        found = []
        for ancestor in self.tree.ancestors(node):
            found.append(ancestor)
            if ancestor is top:
                break
        return found

    def _definite(self, name: str, statement: ast.stmt, owner: Scope) -> bool:
        """Whether running ``statement`` to its end surely binds ``name``."""
        bindings = self._places(name, owner).below.get(statement, [])
        if not bindings:
            return False
        if any(b.statement is statement and b.kind not in ("for", "del", "pattern") for b in bindings):
            return True
        if isinstance(statement, ast.If):
            return bool(statement.orelse) and all(
                self._block_definite(name, block, owner) for block in (statement.body, statement.orelse)
            )
        if isinstance(statement, ast.With | ast.AsyncWith):
            return self._block_definite(name, statement.body, owner)
        if isinstance(statement, ast.Try):
            if self._block_definite(name, statement.finalbody, owner) and statement.finalbody:
                return True
            normal = self._block_definite(name, statement.body, owner) or (
                bool(statement.orelse) and self._block_definite(name, statement.orelse, owner)
            )
            return normal and all(self._block_definite(name, h.body, owner) for h in statement.handlers)
        if isinstance(statement, ast.While):
            return (
                isinstance(statement.test, ast.Constant)
                and bool(statement.test.value)
                and self._block_definite(name, statement.body, owner)
            )
        return False

    def _block_definite(self, name: str, block: list[ast.stmt], owner: Scope) -> bool:
        return any(self._definite(name, s, owner) or terminates(s) for s in block)

    def _enter(
        self, parent: ast.AST, holder: ast.stmt, block: list[ast.stmt], places: _Places, found: list[Binding]
    ) -> bool:
        """What the header of the enclosing compound statement adds; True when it surely binds the name."""
        below = places.below.get(holder, [])
        own = [b for b in below if b.statement is holder]
        if isinstance(parent, LOOPS):
            inside = block is parent.body
            headers = [b for b in own if b.kind in ("for", "walrus")]
            if inside and headers:
                found.extend(b for b in headers if b not in found)
                return True
            carried = [b for b in below if b.statement is not holder]
            found.extend(b for b in carried if b not in found)
            return False
        if isinstance(parent, ast.ExceptHandler):
            named = [b for b in below if b.node is parent]
            if named:
                found.extend(named)
                return True
        if isinstance(holder, ast.Try) and block is not holder.body:
            earlier = [
                b for b in below if b not in found and b.statement is not None and self._in_try_before(b, holder, block)
            ]
            found.extend(earlier)
            return False
        if own and not isinstance(holder, ast.Try):
            found.extend(b for b in own if b not in found)
            return not isinstance(parent, ast.match_case)
        return False

    def _in_try_before(self, binding: Binding, holder: ast.Try, block: list[ast.stmt]) -> bool:
        top = binding.statement
        assert top is not None
        here: ast.AST = top
        while self.tree.parents.get(here) is not holder and not (
            isinstance(self.tree.parents.get(here), ast.ExceptHandler)
            and self.tree.parents.get(self.tree.parents[here]) is holder
        ):
            here = self.tree.parents[here]
        if not isinstance(here, ast.stmt):
            return False
        own_block = self.tree.blocks[here][0]
        if own_block is block:
            return False
        return own_block is holder.body or block is holder.finalbody

    def _places(self, name: str, owner: Scope) -> _Places:
        places = owner.places.get(name)
        if places is not None:
            return places
        grouped: dict[int, dict[int, tuple[ast.stmt, list[Binding]]]] = defaultdict(dict)
        below: dict[ast.stmt, list[Binding]] = defaultdict(list)
        for binding in owner.bindings.get(name, ()):
            current: ast.AST | None = binding.statement
            while current is not None and current is not owner.node:
                if isinstance(current, ast.stmt):
                    block, index = self.tree.blocks[current]
                    grouped[id(block)].setdefault(index, (current, []))[1].append(binding)
                    below[current].append(binding)
                current = self.tree.parents.get(current)
        blocks = {
            key: [(index, statement, bindings) for index, (statement, bindings) in sorted(by_index.items())]
            for key, by_index in grouped.items()
        }
        owner.places[name] = places = _Places(blocks, dict(below))
        return places

    # -- building -------------------------------------------------------------------------------------------------------

    def _build(self) -> None:
        for node in self.tree.binders:  # scopes before what they hold
            scope = self.scope_of(node)
            self._bind(node, scope, self.tree.statement(node))
            if isinstance(node, _OPENERS):
                self.by_node[node] = inner = Scope(node, scope)
                if not isinstance(node, (ast.ClassDef, *COMPREHENSIONS)):
                    for arg in _parameters(node.args):
                        self._add(inner, Binding(arg.arg, "param", arg, None, inner))

    def _add(self, scope: Scope, binding: Binding) -> None:
        name = binding.name
        how = scope.outside.get(name)
        if how == "global":
            scope = self.module
        elif how == "nonlocal":
            outer = scope.parent
            while outer is not None and (outer.is_class or name not in outer.bindings):
                outer = outer.parent
            scope = outer or scope
        scope.bindings.setdefault(name, []).append(binding)

    def _bind(self, node: ast.AST, scope: Scope, statement: ast.stmt | None) -> None:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                self._assign(target, node.value, scope, statement, "assign")
        elif isinstance(node, ast.AnnAssign):
            if node.value is not None:
                self._assign(node.target, node.value, scope, statement, "assign")
        elif isinstance(node, ast.AugAssign):
            if isinstance(node.target, ast.Name):
                self._add(scope, Binding(node.target.id, "augment", node, statement, scope, node.value))
        elif isinstance(node, (ast.For | ast.AsyncFor, ast.comprehension)):
            self._assign(node.target, node.iter, scope, statement, "for")
        elif isinstance(node, ast.With | ast.AsyncWith):
            for item in node.items:
                if item.optional_vars is not None:
                    self._assign(item.optional_vars, item.context_expr, scope, statement, "with")
        elif isinstance(node, ast.NamedExpr):
            outer = scope
            while outer.is_inline and outer.parent is not None:
                outer = outer.parent
            self._add(outer, Binding(node.target.id, "walrus", node, statement, outer, node.value))
        elif isinstance(node, ast.Import):
            for alias in node.names:
                bound = alias.asname or alias.name.split(".")[0]
                origin = alias.name if alias.asname else bound
                self._add(scope, Binding(bound, "import", alias, statement, scope, target=origin))
        elif isinstance(node, ast.ImportFrom):
            base = "." * node.level + (node.module or "")
            for alias in node.names:
                if alias.name == "*":
                    self.star_imports.append(base)
                    continue
                origin = base + alias.name if base.endswith(".") else f"{base}.{alias.name}"
                self._add(scope, Binding(alias.asname or alias.name, "import", alias, statement, scope, target=origin))
        elif isinstance(node, FUNCTIONS):
            self._add(scope, Binding(node.name, "def", node, statement, scope))
        elif isinstance(node, ast.ClassDef):
            self._add(scope, Binding(node.name, "class", node, statement, scope))
        elif isinstance(node, ast.ExceptHandler):
            if node.name:
                self._add(scope, Binding(node.name, "except", node, statement, scope))
        elif isinstance(node, ast.Delete):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    self._add(scope, Binding(target.id, "del", node, statement, scope))
        elif isinstance(node, ast.Global):
            scope.outside.update(dict.fromkeys(node.names, "global"))
        elif isinstance(node, ast.Nonlocal):
            scope.outside.update(dict.fromkeys(node.names, "nonlocal"))
        elif isinstance(node, ast.MatchAs | ast.MatchStar):
            if node.name:
                self._add(scope, Binding(node.name, "pattern", node, statement, scope))
        elif isinstance(node, ast.MatchMapping) and node.rest:
            self._add(scope, Binding(node.rest, "pattern", node, statement, scope))

    def _assign(self, target: ast.expr, value: ast.expr, scope: Scope, statement: ast.stmt | None, kind: str) -> None:
        pending: list[tuple[ast.expr, ast.expr, str, int | None]] = [(target, value, kind, None)]
        while pending:
            current, source, how, index = pending.pop()
            if isinstance(current, ast.Name):
                self._add(scope, Binding(current.id, how, current, statement, scope, source, index=index))
            elif isinstance(current, ast.Starred):
                pending.append((current.value, source, "unpack" if how == "assign" else how, index))
            elif isinstance(current, ast.Tuple | ast.List):
                parts = _parallel(current, source) if how == "assign" else None
                for position, element in enumerate(current.elts):
                    if parts is not None:
                        pending.append((element, parts[position], "assign", None))
                    else:
                        pending.append((element, source, "unpack" if how == "assign" else how, position))


def _parallel(target: ast.Tuple | ast.List, value: ast.expr) -> list[ast.expr] | None:
    """The right-hand elements when ``a, b = x, y`` pairs up one to one."""
    if not isinstance(value, ast.Tuple | ast.List) or len(value.elts) != len(target.elts):
        return None
    if any(isinstance(e, ast.Starred) for e in (*value.elts, *target.elts)):
        return None
    return value.elts


def _parameters(arguments: ast.arguments) -> list[ast.arg]:
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return named + [a for a in (arguments.vararg, arguments.kwarg) if a is not None]


def _belongs_outside(owner: ast.AST, child: ast.AST) -> bool:
    """Whether a child of a scope node is evaluated in the scope around it (decorators, defaults, bases, annotations)."""
    if isinstance(owner, FUNCTIONS):
        return not isinstance(child, ast.stmt)
    if isinstance(owner, ast.Lambda):
        return child is not owner.body
    if isinstance(owner, ast.ClassDef):
        return not isinstance(child, ast.stmt)
    return False


def terminates(statement: ast.stmt) -> bool:
    """Whether control never runs on behind ``statement`` in its block."""
    if isinstance(statement, ast.Return | ast.Raise | ast.Continue | ast.Break):
        return True
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        return ast.unparse(statement.value.func) in _EXITS if _short(statement.value.func) else False
    if isinstance(statement, ast.If):
        return bool(statement.orelse) and _ends(statement.body) and _ends(statement.orelse)
    if isinstance(statement, ast.With | ast.AsyncWith):
        return _ends(statement.body)
    if isinstance(statement, ast.Try):
        if _ends(statement.finalbody):
            return True
        return (_ends(statement.body) or _ends(statement.orelse)) and all(_ends(h.body) for h in statement.handlers)
    return False


def _short(func: ast.expr) -> bool:
    return isinstance(func, ast.Name) or (isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name))


def _ends(block: list[ast.stmt]) -> bool:
    return any(terminates(statement) for statement in block)
