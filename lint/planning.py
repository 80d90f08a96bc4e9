"""From files to tasks: which rules check which file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from torchlint.config import Config
from torchlint.files import Target
from torchlint.selection import Selection
from torchlint.tasks import Plan, Task

if TYPE_CHECKING:
    from torchlint.rules.rule import Rule


class Planner:
    """Gives files their plan, shared under one configuration. ``layers`` go over what the configuration says."""

    def __init__(self, rules: Sequence[type[Rule]], layers: Sequence[Selection] = ()) -> None:
        self._rules = rules
        self._layers = layers
        self._plans: dict[tuple[Config, tuple[str, ...]], Plan] = {}

    def plan(self, path: str, config: Config) -> Plan:
        """How one file is checked. Raises SelectionError."""
        key = (config, config.ignored_in(path))
        found = self._plans.get(key)
        if found is None:
            found = Plan(config.rules_for(path, self._rules, self._layers), config.settings)
            # Equal plans become one object, so that a message to a worker names it once.
            found = next((other for other in self._plans.values() if other == found), found)
            self._plans[key] = found
        return found

    def tasks(self, targets: Iterable[Target]) -> list[Task]:
        """One task for each file. Raises SelectionError."""
        return [Task(target.path, self.plan(target.path, target.config)) for target in targets]

    def task(self, target: Target, raw: bytes) -> Task:
        """The task for bytes that do not come from the disk."""
        return replace(self.tasks([target])[0], raw=raw)
