"""Every place that gives a name a value, scope by scope."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from torchlint.semantics.tree import COMPREHENSIONS, FUNCTIONS, Tree

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
    places: dict[str, Places] = field(default_factory=dict)

    @property
    def is_class(self) -> bool:
        """Whether nested functions cannot see the names."""
        return isinstance(self.node, ast.ClassDef)

    @property
    def is_inline(self) -> bool:
        """Whether the body runs where it stands (comprehensions; generator expressions nearly so)."""
        return isinstance(self.node, COMPREHENSIONS)


@dataclass(eq=False, slots=True)
class Places:
    """For one name of one scope: block → (index, statement, bindings below it), and statement → bindings below it."""

    blocks: dict[int, list[tuple[int, ast.stmt, list[Binding]]]]
    below: dict[ast.stmt, list[Binding]]


class Bindings:
    """The scopes of a module and the bindings in each."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.module = Scope(tree.module, None)
        self.by_node: dict[ast.AST, Scope] = {tree.module: self.module}
        self.star_imports: list[str] = []
        self._build()

    def release(self) -> None:
        """Unlink scopes and bindings, which refer to each other."""
        for scope in self.by_node.values():
            scope.bindings.clear()
            scope.places.clear()

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
    if isinstance(statement, ast.Assert):
        return isinstance(statement.test, ast.Constant) and not statement.test.value  # ``assert False``
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
