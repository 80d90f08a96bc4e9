"""What an editor may set, and what it is told when it sets something else."""

from __future__ import annotations

from typing import Any

import pytest

from torchlint.selection import Selection, available_rules
from torchlint.server.settings import ClientSettings, SettingsError, read_settings

RULES = available_rules()


@pytest.mark.parametrize("data", [None, {}, [], {"torchlint": {}}, {"settings": {"torchlint": None}}])
def test_nothing_is_set(data: Any) -> None:
    assert read_settings(data, RULES) == ClientSettings()


@pytest.mark.parametrize("wrap", [lambda data: data, lambda data: {"torchlint": data}, lambda data: {"settings": data}])
def test_all_settings(wrap: Any) -> None:
    data = {
        "enable": False,
        "configuration": "ci/torchlint.toml",
        "select": ["TL5"],
        "extendSelect": ["no-workers"],
        "ignore": ["TL501"],
    }
    selection = Selection(("TL5",), ("no-workers",), ("TL501",))
    assert read_settings(wrap(data), RULES) == ClientSettings(False, "ci/torchlint.toml", selection)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (3, "must be an object"),
        ({"enabel": True}, "unknown setting 'enabel': did you mean 'enable'"),
        ({"enable": "yes"}, "enable must be true or false"),
        ({"configuration": 1}, "configuration must be a path"),
        ({"select": "TL5"}, "select must be a list of rule codes"),
        ({"ignore": ["TL5O1"]}, "ignore: unknown rule 'TL5O1': did you mean 'TL501'"),
    ],
)
def test_mistakes_are_named(data: Any, words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        read_settings(data, RULES)
