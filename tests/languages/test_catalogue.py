"""Chinese is complete: each text of the code has its translation, with the same placeholders."""

from __future__ import annotations

import ast
import json
import string
from collections.abc import Iterator
from pathlib import Path

import pytest

from torchlint.catalogue import LanguageError, language, renderer
from torchlint.findings import text

ROOT = Path(__file__).parent.parent.parent
CATALOGUE = json.loads((ROOT / "lint" / "catalogues" / "zh.json").read_text("utf-8"))
MODULES = sorted(path for folder in ("lint", "rules", "fixers") for path in (ROOT / folder).rglob("*.py"))


def calls(path: Path) -> Iterator[ast.Call]:
    """The calls of ``text`` where that is the function of :mod:`torchlint.findings`."""
    tree = ast.parse(path.read_text("utf-8"))
    imported = any(
        isinstance(node, ast.ImportFrom)
        and node.module == "torchlint.findings"
        and any(alias.name == "text" for alias in node.names)
        for node in ast.walk(tree)
    )
    for node in ast.walk(tree):
        if imported and isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "text":
            yield node


TEMPLATES = {
    call.args[0].value: f"{path.relative_to(ROOT)}:{call.lineno}"
    for path in MODULES
    for call in calls(path)
    if isinstance(call.args[0], ast.Constant)
}


def fields(template: str) -> list[str]:
    return sorted(name for _, name, _, _ in string.Formatter().parse(template) if name is not None)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_templates_are_literal(path: Path) -> None:
    built = [call.lineno for call in calls(path) if not isinstance(call.args[0], ast.Constant)]
    assert not built, f"{path.name}, rows {built}: a text that is put together cannot be looked up in a catalogue"


def test_every_text_is_translated() -> None:
    missing = [f"{place}: {template!r}" for template, place in TEMPLATES.items() if template not in CATALOGUE["texts"]]
    assert not missing, "no Chinese in lint/catalogues/zh.json for\n" + "\n".join(missing)


def test_nothing_is_left_over() -> None:
    idle = [template for template in CATALOGUE["texts"] if template not in TEMPLATES]
    assert not idle, "no longer said by the code:\n" + "\n".join(idle)


@pytest.mark.parametrize("template", CATALOGUE["texts"])
def test_a_translation_has_the_same_placeholders_and_code(template: str) -> None:
    translated = CATALOGUE["texts"][template]
    assert fields(translated) == fields(template)
    quoted = set(template.split("`")[1::2])
    assert quoted <= set(translated.split("`")[1::2]), "what stands in backticks is code and stays"


def test_own_texts_without_a_translation_stay_english() -> None:
    assert renderer("zh")(text("no `{what}` here", what="seed")) == "no `seed` here"


def test_english_words_among_the_values_are_translated_where_the_catalogue_says_so() -> None:
    template = "`{writer}` logs a {family} under the tag `{tag}`, which is a {other} on line {line}: TensorBoard's default view shows neither"
    words = {"writer": "scalar", "family": "scalar", "tag": "{x}", "other": "histogram", "line": 3}
    shown = renderer("zh")(text(template, **words))
    assert "`scalar`" in shown, "a name in the code stays what it is"
    assert "标量" in shown
    assert "直方图" in shown
    assert "`{x}`" in shown


@pytest.mark.parametrize(
    ("asked", "environment", "chosen"),
    [
        (None, {}, "en"),
        (None, {"LANG": "zh_CN.UTF-8"}, "zh"),
        (None, {"LC_MESSAGES": "zh_TW", "LANG": "en_US.UTF-8"}, "zh"),
        (None, {"LC_ALL": "C.UTF-8", "LANG": "zh_CN.UTF-8"}, "en"),
        (None, {"LC_ALL": "", "LANG": "zh_CN"}, "zh"),
        (None, {"LANG": "de_DE.UTF-8"}, "en"),
        (None, {"TORCHLINT_LANG": "zh", "LANG": "en_US.UTF-8"}, "zh"),
        (None, {"TORCHLINT_LANG": "en", "LC_ALL": "zh_CN.UTF-8"}, "en"),
        ("zh", {"TORCHLINT_LANG": "en"}, "zh"),
        ("zh-Hans", {}, "zh"),
        ("EN", {"LC_ALL": "zh_CN.UTF-8"}, "en"),
    ],
)
def test_option_variable_and_locale_choose(asked: str | None, environment: dict[str, str], chosen: str) -> None:
    assert language(asked, environment) == chosen


@pytest.mark.parametrize(("asked", "environment"), [("fr", {}), (None, {"TORCHLINT_LANG": "zhh"})])
def test_an_unknown_language_is_an_error_that_names_the_known_ones(
    asked: str | None, environment: dict[str, str]
) -> None:
    with pytest.raises(LanguageError, match="known are en, zh"):
        language(asked, environment)
