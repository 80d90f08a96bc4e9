"""How each document is checked: the editor's settings over the configuration nearest to the file."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from torchlint.config import Configs
from torchlint.files import EXCLUDED
from torchlint.patterns import Patterns
from torchlint.semantics.project import Project, project_root
from torchlint.server.analysis import Job
from torchlint.server.settings import ClientSettings

if TYPE_CHECKING:
    from torchlint.rules.rule import Rule

_LIBRARIES = frozenset({"site-packages", "dist-packages", "node_modules", ".venv", "venv"})


class Choices:
    """What is known about configurations and projects until something on the disk changes; used by one thread."""

    def __init__(
        self, rules: Sequence[type[Rule]], everywhere: ClientSettings, folders: Mapping[str, ClientSettings]
    ) -> None:
        self._rules = rules
        self._everywhere = everywhere
        self._folders = {os.path.abspath(path): settings for path, settings in folders.items()}
        self._configs: dict[str | None, Configs] = {}
        self._projects: dict[str, Project] = {}

    def job(self, path: str) -> Job | None:
        """How a file is checked; None when it is left out. Raises ConfigError and SelectionError."""
        path = os.path.abspath(path)
        folder = self._folder_of(path)
        settings = self._folders[folder] if folder else self._everywhere
        if not settings.enable or _is_foreign(path, folder):
            return None
        config = self._configs_for(settings, folder).of_file(path)
        if Patterns(config.exclude, config.root).matches(path):
            return None
        return Job(config.rules_for(path, self._rules, (settings.selection,)), config.settings, self._project(path))

    def _configs_for(self, settings: ClientSettings, folder: str | None) -> Configs:
        forced = settings.configuration
        if forced is not None:
            forced = os.path.join(folder or os.getcwd(), os.path.expanduser(forced))
        if forced not in self._configs:
            self._configs[forced] = Configs(self._rules, forced)
        return self._configs[forced]

    def _project(self, path: str) -> Project:
        root = project_root(path)
        if root not in self._projects:
            self._projects[root] = Project(root)
        return self._projects[root]

    def _folder_of(self, path: str) -> str | None:
        """The innermost workspace folder that holds a path."""
        holding = [folder for folder in self._folders if path.startswith(folder.rstrip(os.sep) + os.sep)]
        return max(holding, key=len, default=None)


def _is_foreign(path: str, folder: str | None) -> bool:
    """Whether a file is other people's code: opened to look something up, not to be changed."""
    if folder is None:
        return not _LIBRARIES.isdisjoint(path.split(os.sep))
    return not EXCLUDED.isdisjoint(os.path.relpath(path, folder).split(os.sep)[:-1])
