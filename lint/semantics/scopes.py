"""Which binding of a name a use sees: reaching definitions, by walking backwards through the blocks."""

from __future__ import annotations

import ast
from collections import defaultdict

from torchlint.semantics.bindings import Binding, Bindings, Places, Scope, terminates
from torchlint.semantics.tree import LOOPS


class Scopes(Bindings):
    """All scopes of a module, and what reaches a use."""

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
        self, parent: ast.AST, holder: ast.stmt, block: list[ast.stmt], places: Places, found: list[Binding]
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

    def _places(self, name: str, owner: Scope) -> Places:
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
        owner.places[name] = places = Places(blocks, dict(below))
        return places
