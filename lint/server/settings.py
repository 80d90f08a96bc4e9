"""What an editor may set; it goes over the project's own configuration, as command line options do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from torchlint.selection import Selection, SelectionError, codes_of, unknown

if TYPE_CHECKING:
    from torchlint.rules.rule import Rule

SECTION = "torchlint"


class SettingsError(Exception):
    """A setting has no meaning; the text names it."""


@dataclass(frozen=True, slots=True)
class ClientSettings:
    """``configuration`` is the path of a file to use instead of the one found."""

    enable: bool = True
    configuration: str | None = None
    selection: Selection = field(default_factory=Selection)


def read_settings(data: Any, rules: Sequence[type[Rule]]) -> ClientSettings:
    """The settings an editor sent: an object, bare or under ``torchlint`` or ``settings``. Raises SettingsError."""
    while isinstance(data, dict) and set(data) & {SECTION, "settings"}:
        data = data[SECTION if SECTION in data else "settings"]
    if data is None or data == []:  # Lua cannot tell an empty table from an empty list
        return ClientSettings()
    if not isinstance(data, dict):
        raise SettingsError(f"the settings must be an object, not {data!r}")
    known = ("enable", "configuration", "select", "extendSelect", "ignore")
    for key in data:
        if key not in known:
            raise SettingsError(unknown("setting", str(key), known))
    enable = data.get("enable")
    configuration = data.get("configuration")
    if not isinstance(enable, bool | None):
        raise SettingsError(f"enable must be true or false, not {enable!r}")
    if not isinstance(configuration, str | None):
        raise SettingsError(f"configuration must be a path, not {configuration!r}")
    selection = Selection(
        select=_selectors(data, "select", rules),
        extend_select=_selectors(data, "extendSelect", rules) or (),
        ignore=_selectors(data, "ignore", rules) or (),
    )
    return ClientSettings(enable is not False, configuration or None, selection)


def _selectors(data: dict[str, Any], key: str, rules: Sequence[type[Rule]]) -> tuple[str, ...] | None:
    value = data.get(key)
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
        raise SettingsError(f"{key} must be a list of rule codes, not {value!r}")
    for word in value:
        try:
            codes_of(word, rules)
        except SelectionError as error:
            raise SettingsError(f"{key}: {error}") from None
    return tuple(value)
