"""Codes, prefixes, names."""

from __future__ import annotations

import re

import pytest

from torchlint.findings import Severity
from torchlint.rules.rule import Rule
from torchlint.selection import Selection, SelectionError, choose, codes_of, nearest


def rule(code: str, name: str, default: bool = True) -> type[Rule]:
    members = {"code": code, "name": name, "severity": Severity.ERROR, "screen": re.compile(b""), "default": default}
    return type(code, (Rule,), members)


RULES = (rule("TL101", "one-thing"), rule("TL102", "two-things"), rule("TL201", "other", default=False))


def chosen(*layers: Selection) -> list[str]:
    return [each.code for each in choose(RULES, layers)]


def test_defaults() -> None:
    assert chosen() == ["TL101", "TL102"]
    assert chosen(Selection()) == ["TL101", "TL102"]


def test_an_empty_select_switches_everything_off() -> None:
    assert chosen(Selection(select=())) == []


@pytest.mark.parametrize("word", ["ALL", "all", " TL ", "tl"])
def test_everything(word: str) -> None:
    assert chosen(Selection(select=(word,))) == ["TL101", "TL102", "TL201"]


def test_prefixes_and_names() -> None:
    assert codes_of("TL1", RULES) == {"TL101", "TL102"}
    assert codes_of("Two-Things", RULES) == {"TL102"}


def test_the_more_specific_selector_wins_whatever_the_order() -> None:
    assert chosen(Selection(select=("TL101",), ignore=("TL1", "ALL"))) == ["TL101"]
    assert chosen(Selection(select=("ALL",), ignore=("TL10", "TL102"))) == ["TL201"]
    assert chosen(Selection(select=("TL1",), ignore=("one-thing",))) == ["TL102"]


def test_layers_build_on_each_other() -> None:
    assert chosen(Selection(select=("TL101",)), Selection(extend_select=("other",))) == ["TL101", "TL201"]
    assert chosen(Selection(ignore=("TL101",)), Selection(select=("TL1",))) == ["TL101", "TL102"]


@pytest.mark.parametrize("word", ["", "X", "TL9", "TL1011", "one"])
def test_words_that_name_nothing(word: str) -> None:
    with pytest.raises(SelectionError, match="unknown rule"):
        codes_of(word, RULES)


def test_nearest() -> None:
    assert nearest("one-thnig", ["one-thing", "other"]) == "one-thing"
    assert nearest("zzz", ["one-thing", "other"]) is None
