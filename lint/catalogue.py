"""In which language users are spoken to, and the translations.

English stands in the code; a catalogue maps each English template to another language. What it does not hold (the texts
of somebody's own rules) stays English.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

from torchlint.findings import Text

LANGUAGES = ("en", "zh")
VARIABLE = "TORCHLINT_LANG"
_FOLDER = Path(__file__).parent / "catalogues"


class LanguageError(Exception):
    """There is no such language."""


def language(asked: str | None = None, environment: Mapping[str, str] = os.environ) -> str:
    """The one asked for, else the one ``TORCHLINT_LANG`` names, else that of the locale. Raises LanguageError."""
    for word, origin in ((asked, "--lang"), (environment.get(VARIABLE), VARIABLE)):
        if word:
            known = _known(word)
            if known is None:
                raise LanguageError(f"{origin}: unknown language {word!r}: known are {', '.join(LANGUAGES)}")
            return known
    locale = next(filter(None, map(environment.get, ("LC_ALL", "LC_MESSAGES", "LANG"))), "")
    return _known(locale) or "en"


def renderer(language: str) -> Callable[[Text], str]:
    """The function that shows a text in a language."""
    if language == "en":
        return str
    texts, words = _catalogue(language)

    def render(message: Text) -> str:
        template = texts.get(message.template)
        if template is None:
            return str(message)
        return template.format(**{key: _Argument(value, words) for key, value in message.args})

    return render


def rule_page(code: str, language: str) -> str | None:
    """The page of a rule in a language: a summary and the seven sections, headings translated; None without one."""
    path = _FOLDER / f"{language}_rules" / f"{code}.md"
    return path.read_text("utf-8").strip() if path.is_file() else None


def spoken_language() -> str:
    """The language for places without options, such as an editor; a misspelt variable counts as English there."""
    try:
        return language()
    except LanguageError:
        return "en"


class _Argument(str):
    """A value in a text. Under the format ``{phase:word}`` it is an English word of ours and gets translated."""

    _words: Mapping[str, str]

    def __new__(cls, value: str, words: Mapping[str, str]) -> _Argument:
        made = super().__new__(cls, value)
        made._words = words
        return made

    def __format__(self, spec: str) -> str:
        return self._words.get(str(self), str(self)) if spec == "word" else str(self)


def _known(word: str) -> str | None:
    """``zh`` for ``zh_CN.UTF-8``, ``zh-Hans`` and the like."""
    start = word.lower().replace("-", "_").partition(".")[0].partition("_")[0]
    return start if start in LANGUAGES else None


@cache
def _catalogue(language: str) -> tuple[dict[str, str], dict[str, str]]:
    data = json.loads((_FOLDER / f"{language}.json").read_text("utf-8"))
    return data["texts"], data["words"]
