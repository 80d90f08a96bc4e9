"""``[tool.torchlint]`` of ``pyproject.toml``, or ``torchlint.toml``: found, read and checked key by key."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from torchlint.patterns import Patterns
from torchlint.selection import Selection, SelectionError, choose, codes_of, unknown
from torchlint.settings import DEFAULTS, Settings

if TYPE_CHECKING:
    from torchlint.rules.rule import Rule

OUTPUT_FORMATS = ("full", "concise", "json", "jsonl", "sarif", "github", "gitlab", "junit", "rdjson")
_NO_FILE = (FileNotFoundError, NotADirectoryError, IsADirectoryError, PermissionError)
FILE_NAMES = ("torchlint.toml", "pyproject.toml")


class ConfigError(Exception):
    """A configuration file cannot be read, or says something that has no meaning; the text names file and key."""


@dataclass(frozen=True)
class Config:
    """What one configuration file says. Patterns count from ``root``, the folder of the file."""

    root: str
    file: str | None = None
    selection: Selection = field(default_factory=Selection)
    exclude: tuple[str, ...] = ()
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()
    settings: Settings = DEFAULTS
    output_format: str | None = None
    unsafe_fixes: bool = False
    statistics: bool = False
    jobs: int | None = None
    baseline: str | None = None
    respect_gitignore: bool = True
    own_rules: tuple[type[Rule], ...] = ()

    @cached_property
    def _ignores(self) -> tuple[tuple[Patterns, tuple[str, ...]], ...]:
        return tuple((Patterns([pattern], self.root), codes) for pattern, codes in self.per_file_ignores)

    def ignored_in(self, path: str) -> tuple[str, ...]:
        """The selectors that per-file-ignores switches off for a file."""
        found: list[str] = []
        for patterns, codes in self._ignores:
            if patterns.matches(path):
                found.extend(codes)
        return tuple(found)

    def known_rules(self, rules: Sequence[type[Rule]]) -> Sequence[type[Rule]]:
        """``rules`` and the project's own, in the order of their codes."""
        return sorted((*rules, *self.own_rules), key=lambda rule: rule.code) if self.own_rules else rules

    def rules_for(
        self, path: str, rules: Sequence[type[Rule]], layers: Sequence[Selection] = ()
    ) -> tuple[type[Rule], ...]:
        """The rules that check a file: this file's choice, then the layers above it, then per-file-ignores."""
        rules = self.known_rules(rules)
        chosen = choose(rules, (self.selection, *layers))
        silent = {code for selector in self.ignored_in(path) for code in codes_of(selector, rules)}
        return tuple(rule for rule in chosen if rule.code not in silent) if silent else chosen


class Configs:
    """The configuration that counts for a folder: the nearest file above it, the one given, or none when isolated."""

    def __init__(self, rules: Sequence[type[Rule]], forced: str | None = None, isolated: bool = False) -> None:
        self._rules = rules
        self._cache: dict[str, Config] = {}
        self._only: Config | None = None
        if forced is not None:
            self._only = _forced(forced, rules)
        elif isolated:
            self._only = Config(os.getcwd())

    def of_folder(self, folder: str) -> Config:
        """The configuration of a folder. Raises ConfigError."""
        if self._only is not None:
            return self._only
        folder = os.path.abspath(folder)
        known = self._cache.get(folder)
        if known is None:
            parent = os.path.dirname(folder)
            own = read_folder(folder, self._rules)
            known = own or (Config(os.getcwd()) if parent == folder else self.of_folder(parent))
            self._cache[folder] = known
        return known

    def of_file(self, path: str) -> Config:
        """The configuration of a file. Raises ConfigError."""
        return self.of_folder(os.path.dirname(os.path.abspath(path)))


def read_folder(folder: str, rules: Sequence[type[Rule]]) -> Config | None:
    """The configuration a folder holds; None if it holds none. Raises ConfigError."""
    for name in FILE_NAMES:
        path = os.path.join(folder, name)
        table = _table(path, whole=name != "pyproject.toml", required=False)
        if table is not None:
            return parse(table, path, rules, prefix="" if name != "pyproject.toml" else "tool.torchlint.")
    return None


def _forced(path: str, rules: Sequence[type[Rule]]) -> Config:
    in_pyproject = os.path.basename(path) == "pyproject.toml"
    table = _table(path, whole=not in_pyproject, required=True)
    return parse(table or {}, path, rules, prefix="tool.torchlint." if in_pyproject else "")


def _table(path: str, *, whole: bool, required: bool) -> Mapping[str, Any] | None:
    """The keys of a file: all of it, or its ``[tool.torchlint]``. Raises ConfigError."""
    try:
        with open(path, "rb") as file:
            raw = file.read()
    except OSError as error:
        if required or not isinstance(error, _NO_FILE):
            raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None
        return None
    if not whole and not required and b"torchlint" not in raw:
        return None
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        data = tomllib.loads(raw.decode("utf-8"))
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: is not valid UTF-8, so it is not TOML") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: is not valid TOML: {error}") from None
    if whole:
        return dict(data)
    tool = data.get("tool", {})
    found = tool.get("torchlint") if isinstance(tool, dict) else None
    if found is None:
        if required:
            raise ConfigError(f"{path}: has no [tool.torchlint] table")
        return None
    if not isinstance(found, dict):
        raise ConfigError(f"{path}: tool.torchlint must be a table, not {_kind(found)}")
    return found


def parse(table: Mapping[str, Any], path: str, rules: Sequence[type[Rule]], prefix: str = "") -> Config:
    """Check every key and value. Raises ConfigError."""
    config = Config(root=os.path.dirname(os.path.abspath(path)), file=path)
    own_first = sorted(table.items(), key=lambda item: item[0] != "rules")  # selectors may name them
    for key, value in own_first:
        reader = _KEYS.get(key)
        if reader is None:
            raise ConfigError(f"{path}: {unknown('key', prefix + key, [prefix + known for known in _KEYS])}")
        try:
            config = reader(config, value, config.known_rules(rules))
        except (TypeError, ValueError, SelectionError) as error:
            raise ConfigError(f"{path}: {prefix}{key}: {error}") from None
    return config


Reader = Callable[[Config, Any, Sequence["type[Rule]"]], Config]


def _select(config: Config, value: Any, rules: Sequence[type[Rule]]) -> Config:
    return replace(config, selection=replace(config.selection, select=_selectors(value, rules)))


def _extend_select(config: Config, value: Any, rules: Sequence[type[Rule]]) -> Config:
    return replace(config, selection=replace(config.selection, extend_select=_selectors(value, rules)))


def _ignore(config: Config, value: Any, rules: Sequence[type[Rule]]) -> Config:
    return replace(config, selection=replace(config.selection, ignore=_selectors(value, rules)))


def _exclude(config: Config, value: Any, rules: Sequence[type[Rule]]) -> Config:
    patterns = _strings(value)
    Patterns(patterns, config.root)
    return replace(config, exclude=patterns)


def _per_file_ignores(config: Config, value: Any, rules: Sequence[type[Rule]]) -> Config:
    if not isinstance(value, dict):
        raise TypeError(f'must be a table such as {{ "tests/**" = ["TL101"] }}, not {_kind(value)}')
    pairs = tuple((pattern, _selectors(codes, rules, f"{pattern!r}: ")) for pattern, codes in value.items())
    Patterns([pattern for pattern, _ in pairs], config.root)
    return replace(config, per_file_ignores=pairs)


def _num_workers(config: Config, value: Any, rules: Sequence[type[Rule]]) -> Config:
    return replace(config, settings=replace(config.settings, num_workers=_whole_number(value, 1)))


def _time_limit(config: Config, value: Any, rules: Sequence[type[Rule]]) -> Config:
    return replace(config, settings=replace(config.settings, time_limit=_whole_number(value, 1)))


def _output_format(config: Config, value: Any, rules: Sequence[type[Rule]]) -> Config:
    if not isinstance(value, str):
        raise TypeError(f"must be a string, not {_kind(value)}")
    if value not in OUTPUT_FORMATS:
        raise ValueError(unknown("format", value, OUTPUT_FORMATS))
    return replace(config, output_format=value)


def _unsafe_fixes(config: Config, value: Any, rules: Sequence[type[Rule]]) -> Config:
    return replace(config, unsafe_fixes=_truth(value))


def _statistics(config: Config, value: Any, rules: Sequence[type[Rule]]) -> Config:
    return replace(config, statistics=_truth(value))


def _jobs(config: Config, value: Any, rules: Sequence[type[Rule]]) -> Config:
    return replace(config, jobs=_whole_number(value, 1))


def _baseline(config: Config, value: Any, rules: Sequence[type[Rule]]) -> Config:
    if not isinstance(value, str):
        raise TypeError(f"must be a path, not {_kind(value)}")
    return replace(config, baseline=os.path.join(config.root, value))


def _respect_gitignore(config: Config, value: Any, rules: Sequence[type[Rule]]) -> Config:
    return replace(config, respect_gitignore=_truth(value))


def _rules(config: Config, value: Any, rules: Sequence[type[Rule]]) -> Config:
    from torchlint.own_rules import load

    return replace(config, own_rules=load(_strings(value), config.root, rules))


_KEYS: dict[str, Reader] = {
    "select": _select,
    "extend-select": _extend_select,
    "ignore": _ignore,
    "exclude": _exclude,
    "per-file-ignores": _per_file_ignores,
    "num-workers": _num_workers,
    "time-limit": _time_limit,
    "output-format": _output_format,
    "unsafe-fixes": _unsafe_fixes,
    "statistics": _statistics,
    "jobs": _jobs,
    "baseline": _baseline,
    "respect-gitignore": _respect_gitignore,
    "rules": _rules,
}


def _strings(value: Any, where: str = "") -> tuple[str, ...]:
    if not isinstance(value, list):
        raise TypeError(f"{where}must be a list of strings, not {_kind(value)}")
    for item in value:
        if not isinstance(item, str):
            raise TypeError(f"{where}must hold strings only, not {_kind(item)}")
    return tuple(value)


def _selectors(value: Any, rules: Sequence[type[Rule]], where: str = "") -> tuple[str, ...]:
    words = _strings(value, where)
    for word in words:
        codes_of(word, rules)
    return words


def _truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"must be true or false, not {_kind(value)}")
    return value


def _whole_number(value: Any, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"must be a whole number, not {_kind(value)}")
    if value < least:
        raise ValueError(f"must be at least {least}, not {value}")
    return value


def _kind(value: Any) -> str:
    names = {str: "a string", bool: "a boolean", int: "a number", float: "a number", list: "a list", dict: "a table"}
    return names.get(type(value), f"a {type(value).__name__}")
