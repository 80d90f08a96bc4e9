"""Which rules run: codes, prefixes, names and ALL, with the more specific selector winning."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torchlint.rules.rule import Rule

EVERYTHING = "ALL"


class SelectionError(Exception):
    """A selector names no rule."""


@dataclass(frozen=True, slots=True)
class Selection:
    """One layer of choices, a configuration file or the command line; ``select`` None keeps the layer below."""

    select: tuple[str, ...] | None = None
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()


def available_rules() -> tuple[type[Rule], ...]:
    """All rules there are, in the order of their codes."""
    from torchlint.rules.rule import builtin_rules, check_unique
    from torchlint.unused_suppression import UnusedSuppression

    return check_unique([UnusedSuppression, *builtin_rules()])


def choose(rules: Sequence[type[Rule]], layers: Iterable[Selection]) -> tuple[type[Rule], ...]:
    """The rules that the layers, the later over the earlier, leave switched on. Raises SelectionError."""
    enabled = {rule.code for rule in rules if rule.default}
    for layer in layers:
        if layer.select is not None:
            enabled = set()
        steps = [
            *((selector, True) for selector in (*(layer.select or ()), *layer.extend_select)),
            *((selector, False) for selector in layer.ignore),
        ]
        # Broad selectors first; at the same breadth ``ignore`` comes last and wins.
        for selector, wanted in sorted(steps, key=lambda step: (_breadth(step[0], rules), not step[1])):
            codes = codes_of(selector, rules)
            enabled = enabled | codes if wanted else enabled - codes
    return tuple(rule for rule in rules if rule.code in enabled)


def codes_of(selector: str, rules: Sequence[type[Rule]]) -> frozenset[str]:
    """The codes a selector stands for. Raises SelectionError with the nearest known one."""
    word = selector.strip()
    upper = word.upper()
    if upper == EVERYTHING:
        return frozenset(rule.code for rule in rules)
    found = frozenset(rule.code for rule in rules if word and rule.code.startswith(upper))
    if not found:
        found = frozenset(rule.code for rule in rules if rule.name == word.lower())
    if not found:
        known = [name for rule in rules for name in (rule.code, rule.name)]
        raise SelectionError(unknown("rule", word, known, listed="`torchlint rule` lists them all"))
    return found


def unknown(what: str, word: str, known: Iterable[str], listed: str | None = None) -> str:
    """The sentence for a word that is not among the known ones, with the nearest of them; ``listed`` says where many stand."""
    candidates = sorted(known)
    near = nearest(word, candidates)
    every = listed or f"known are {', '.join(candidates) or 'none'}"
    hint = f"did you mean {near!r}?" if near else every
    return f"unknown {what} {word!r}: {hint}"


def nearest(word: str, known: Sequence[str]) -> str | None:
    """The known word most like this one, upper and lower case alike; None when nothing is near."""
    folded = {candidate.lower(): candidate for candidate in known}
    matches = difflib.get_close_matches(word.lower(), folded, n=1, cutoff=0.6)
    return folded[matches[0]] if matches else None


def _breadth(selector: str, rules: Sequence[type[Rule]]) -> int:
    """Sort key from broad to narrow: ALL, then prefixes by length, then whole codes and names."""
    word = selector.strip().upper()
    if word == EVERYTHING:
        return 0
    whole = any(word in (rule.code, rule.name.upper()) for rule in rules)
    return 1000 if whole else len(word)
