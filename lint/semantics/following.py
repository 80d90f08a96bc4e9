"""Functions, constructors and context managers in reach, followed with what is known of their arguments."""

from __future__ import annotations

import abc
import ast
from collections.abc import Callable

from torchlint.semantics import classes, module_classes
from torchlint.semantics.expressions import Expressions
from torchlint.semantics.frames import DEEPEST, Frame, Region
from torchlint.semantics.handed import handed
from torchlint.semantics.modes import NOTHING, Const, Func, Mode, Objs, State, Status, Value, join_values, make, objects
from torchlint.semantics.objects import class_of
from torchlint.semantics.project import Definition
from torchlint.semantics.reach import class_mode, evals, is_static, parameter_names, speaks_of_modes, worth_following
from torchlint.semantics.tree import FUNCTIONS, walk

_MANAGER = ("contextlib.contextmanager", "contextlib.asynccontextmanager")


class Following(Expressions):
    """Runs the bodies of functions. ``followed`` holds those that were."""

    followed: set[ast.AST]
    _left: int

    @abc.abstractmethod
    def block(self, body: list[ast.stmt], state: State, frame: Frame) -> State | None:
        """Run statements; None when control does not come out at the end."""

    @abc.abstractmethod
    def enter_regions(self, function: Func, frame: Frame) -> tuple[Region, ...]:
        """The regions a followed function runs in: the caller's, and its own decorator."""

    def follow(
        self,
        function: Func,
        node: ast.Call,
        state: State,
        frame: Frame,
        on_yield: Callable[[State], State | None] | None = None,
    ) -> Value:
        """Run a function in reach with the arguments of a call."""
        bound: dict[str, Value] = {}
        owner = function.owner
        names = parameter_names(function)
        if isinstance(function.node, FUNCTIONS) and is_static(function.node):
            owner = None
        if owner is not None and names:
            names = names[1:]
        hidden = False
        for index, argument in enumerate(node.args):
            value = self.evaluate(argument, state, frame)
            if isinstance(argument, ast.Starred):
                hidden = True
            elif not hidden and index < len(names):
                bound[names[index]] = value
        for keyword in node.keywords:
            value = self.evaluate(keyword.value, state, frame)
            if keyword.arg is None:
                hidden = True
            else:
                bound[keyword.arg] = value
        return self.enter(
            Func(function.program, function.node, owner),
            bound,
            state,
            frame,
            unknown=hidden,
            on_yield=on_yield,
            site=node,
        )

    def enter(
        self,
        function: Func,
        bound: dict[str, Value],
        state: State,
        frame: Frame,
        *,
        unknown: bool = False,
        on_yield: Callable[[State], State | None] | None = None,
        site: ast.Call | None = None,
    ) -> Value:
        """Run a function body; ``unknown`` when parameters that are not bound may have been given all the same."""
        node = function.node
        program = function.program
        if node in frame.stack or len(frame.stack) > DEEPEST or self._left <= 0:
            if node not in frame.stack:  # a recursive call does what its first call is seen to do
                self._not_followed(function, bound, state)
            return NOTHING
        self.followed.add(node)
        scope = program.scopes.by_node[node]
        arguments = node.args
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        every.extend(a for a in (arguments.vararg, arguments.kwarg) if a is not None)
        instance = every[0].arg if every and function.owner is not None else None
        values: dict[str, Value] = {}
        for argument in every:
            name = argument.arg
            if name == instance and function.owner is not None:
                values[name] = function.owner
            elif name in bound:
                values[name] = bound[name]
            else:
                values[name] = self._default(function, argument, unknown)
        state.bind_all(scope, values)
        inner = Frame(program, node, self.enter_regions(function, frame), (*frame.stack, node), on_yield=on_yield)
        inner.site = make("site", site, frame.program, base=frame.site) if site is not None else frame.site
        if isinstance(node, ast.Lambda):
            return self.evaluate(node.body, state, inner)
        out = self.block(node.body, state, inner)
        ends = [s for s, _ in inner.returns]
        if out is not None:
            ends.append(out)
        joined = self.join_all(ends)
        if joined is not None and joined is not state:
            state.variables, state.attributes = joined.variables, joined.attributes
            state.modes, state.linked = joined.modes, joined.linked
        if not any(isinstance(v, Func) for _, v in inner.returns):  # a closure that is handed out keeps its variables
            state.drop(scope)
        result: Value | None = None
        for _, value in inner.returns:
            result = value if result is None else join_values(result, value)
        return result if result is not None else NOTHING

    def _not_followed(self, function: Func, bound: dict[str, Value], state: State) -> None:
        """A call too deep to follow may switch what it was given."""
        for value in (*bound.values(), function.owner or NOTHING):
            for obj in objects(value):
                state.turn(obj, self.status(obj, state) | Status(Mode.OPAQUE))

    def _default(self, function: Func, argument: ast.arg, unknown: bool) -> Value:
        node = function.node
        if not unknown and isinstance(node, FUNCTIONS):
            default = classes.default_of(node, argument.arg)
            if isinstance(default, ast.Constant):
                return Const(default.value)
        return frozenset({make("param", argument, function.program, argument.arg)})

    def generator(self, node: ast.expr, state: State, frame: Frame) -> tuple[ast.Call, Func] | None:
        """The ``@contextmanager`` function of the project a context expression calls."""
        if not isinstance(node, ast.Call):
            return None
        target: Definition | None = None
        owner: Objs | None = None
        if isinstance(node.func, ast.Attribute):
            held = objects(self.evaluate(node.func.value, state, frame))
            owned = self._owned(held, node.func.attr) if held else None
            if owned is not None and not isinstance(owned.node, ast.Lambda):
                target, owner = Definition(owned.program, owned.node), owned.owner
        target = target or frame.program.definition(node.func)
        if target is None or not isinstance(target.node, FUNCTIONS):
            return None
        if any(target.program.names.matches(d, *_MANAGER) for d in target.node.decorator_list):
            return node, Func(target.program, target.node, owner)
        return None

    def _construct(self, target: Definition, node: ast.Call, state: State, frame: Frame) -> Value:
        made = make("new", node, frame.program, base=frame.site)
        state.turn(made, Status(class_mode(target)))
        if any(k[0] is made for k in state.attributes):
            state.attributes = {k: v for k, v in state.attributes.items() if k[0] is not made}
        constructor = classes.method(target, "__init__")
        if (
            constructor is not None
            and isinstance(constructor.node, FUNCTIONS)
            and self._follows_constructor(target, constructor, node, state, frame)
        ):
            self.follow(Func(constructor.program, constructor.node, frozenset({made})), node, state, frame)
        else:
            self._arguments(node, state, frame)
        if (
            constructor is not None
            and self.status(made, state).mode is Mode.FRESH
            and module_classes.is_module_class(target)
        ):
            if evals(constructor):
                state.turn(made, Status(Mode.OPAQUE))  # it evals something it holds, by ways that are not followed
        return frozenset({made})

    def _follows_constructor(
        self, target: Definition, constructor: Definition, node: ast.Call, state: State, frame: Frame
    ) -> bool:
        """Whether making an object may matter for modes: not when a network only makes its own layers."""
        if module_classes.is_module_class(target):
            return (
                speaks_of_modes(constructor)
                or bool(handed(frame.program, node))
                or self._given_network(node, state, frame)
            )
        return target.program is self.program or worth_following(constructor) or self._given_network(node, state, frame)

    def _given_network(self, node: ast.Call, state: State, frame: Frame) -> bool:
        """Whether a constructor is handed a network, so that it may be a wrapper."""
        for argument in (*node.args, *(k.value for k in node.keywords)):
            if isinstance(argument, ast.Name | ast.Attribute | ast.Call):
                for obj in objects(self.evaluate(argument, state, frame)):
                    if obj in state.modes or obj in self.evidence or self._is_network(obj):
                        return True
        return False

    def _too_far(self, owned: Func, node: ast.Call, state: State, frame: Frame) -> bool:
        """Whether a method of another file is not worth following: long, silent about modes, and given no network."""
        target = Definition(owned.program, owned.node)  # type: ignore[arg-type]
        return (
            owned.program is not self.program
            and not worth_following(target)
            and not self._given_network(node, state, frame)
        )

    def _owned(self, held: Objs, name: str) -> Func | None:
        """The method of the project's own class behind ``held.name``, if there is exactly one."""
        found: Func | None = None
        for obj in held:
            owner = class_of(obj)
            method = classes.method(owner, name) if owner is not None else None
            if method is None or not isinstance(method.node, FUNCTIONS):
                return None
            if found is not None and found.node is not method.node:
                return None
            found = Func(method.program, method.node, held)
        return found

    def _plain_switch(self, node: ast.Call, owned: Func) -> bool:
        """A network's own ``train``/``eval`` that still hands over to the inherited one switches the mode as usual."""
        assert not isinstance(owned.node, ast.Lambda)
        calls_super = any(
            isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id == "super" for n in walk(owned.node)
        )
        return calls_super
