"""Rules that do not come with torchlint: from a file of the project, or from an installed package.

Loading runs code, so nothing is loaded but what a configuration names: a path that ends in ``.py``, or the name of an
entry point in the group ``torchlint.rules`` whose value is a module with rules or a rule itself.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import os
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import TYPE_CHECKING, TypeAlias

from torchlint.selection import unknown

if TYPE_CHECKING:
    from torchlint.rules.rule import Rule

GROUP = "torchlint.rules"
_PREFIX = "torchlint_own_rules_"
_REQUIRED = ("code", "name", "severity", "screen")

Reference: TypeAlias = "type[Rule] | tuple[str, str, str]"  # a class, or path, module and class name


class OwnRuleError(ValueError):
    """A rule that a configuration names cannot be loaded."""


def load(names: Sequence[str], root: str, others: Sequence[type[Rule]]) -> tuple[type[Rule], ...]:
    """The rules the names stand for, paths counting from ``root``. Raises OwnRuleError, also for a code taken twice."""
    from torchlint.rules.rule import DuplicateRule, check_unique

    found = [rule for name in names for rule in _load(name, root)]
    for rule in found:
        missing = [attribute for attribute in _REQUIRED if not hasattr(rule, attribute)]
        if missing:
            raise OwnRuleError(f"{rule.__qualname__} has no {', '.join(missing)}, so it cannot run as a rule")
    try:
        check_unique([*others, *found])
    except DuplicateRule as error:
        raise OwnRuleError(str(error)) from None
    return tuple(found)


def reference(rule: type[Rule]) -> Reference:
    """What names a rule in another process, where a file of rules is no module that can be imported."""
    module = sys.modules.get(rule.__module__)
    if rule.__module__.startswith(_PREFIX) and module is not None and module.__file__:
        return module.__file__, rule.__module__, rule.__qualname__
    return rule


def resolve(named: Reference) -> type[Rule]:
    """The rule behind a reference. Raises OwnRuleError when its file is gone or has changed."""
    if not isinstance(named, tuple):
        return named
    path, module, name = named
    loaded = _module(path, path)
    rule: type[Rule] | None = getattr(loaded, name, None)
    if rule is None or loaded.__name__ != module:
        raise OwnRuleError(f"{path} changed while it was in use")
    return rule


def _load(name: str, root: str) -> list[type[Rule]]:
    from torchlint.rules.rule import rules_in

    rules = rules_in(_module(name, os.path.join(root, name))) if name.endswith(".py") else _installed(name)
    if not rules:
        raise OwnRuleError(f"{name!r} holds no rule, that is no complete subclass of torchlint.rules.rule.Rule")
    return rules


def _module(name: str, path: str) -> ModuleType:
    """The module of a file, run once for each content."""
    path = os.path.realpath(path)
    try:
        with open(path, "rb") as file:
            content = file.read()
    except OSError as error:
        raise OwnRuleError(f"{name!r} cannot be read: {error.strerror}") from None
    key = _PREFIX + hashlib.sha256(os.fsencode(path) + b"\0" + content).hexdigest()[:16]
    if key in sys.modules:
        return sys.modules[key]
    spec = importlib.util.spec_from_file_location(key, path)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[key] = module
    try:
        exec(compile(content, path, "exec"), module.__dict__)
    except Exception as error:
        del sys.modules[key]
        raise OwnRuleError(f"{name!r} fails when it is loaded: {_told(error)}") from None
    return module


def _installed(name: str) -> list[type[Rule]]:
    from importlib.metadata import entry_points

    from torchlint.rules.rule import Rule, rules_in

    points = {point.name: point for point in entry_points(group=GROUP)}
    if name not in points:
        raise OwnRuleError(f"{unknown('package of rules', name, points)}; a file of rules ends in .py")
    try:
        value = points[name].load()
    except Exception as error:
        raise OwnRuleError(f"{name!r} fails when it is loaded: {_told(error)}") from None
    return [value] if isinstance(value, type) and issubclass(value, Rule) else rules_in(value)


def _told(error: Exception) -> str:
    row = error.lineno if isinstance(error, SyntaxError) else None
    trace = error.__traceback__
    while row is None and trace is not None:
        if trace.tb_next is None:
            row = trace.tb_lineno
        trace = trace.tb_next
    words = error.msg if isinstance(error, SyntaxError) else str(error)
    return f"{type(error).__name__} in row {row}: {words}"
