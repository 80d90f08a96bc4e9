"""Names that tell series under one tag apart, taken from what the code itself calls them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchlint.semantics.phases import is_phase_word, phase, phase_words
from torchlint.semantics.quantities import core_words, is_qualifier, subjects, words
from torchlint.semantics.summaries import Summary

if TYPE_CHECKING:
    from torchlint.semantics.program import Program


@dataclass(frozen=True, slots=True)
class NewTag:
    """How one call's tag becomes its own: ``old`` in it is replaced by ``new``, or ``new`` and a slash go before it.

    ``text`` is the tag that results; ``old`` and ``new`` are empty when the tag already says the right thing.
    """

    summary: Summary
    text: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Namespaces:
    """New tags for all calls under one tag.

    ``told_by`` says where the words stand: value, or what lies around the calls.
    """

    tags: tuple[NewTag, ...]
    told_by: str


def namespaces(program: Program, group: Sequence[Summary], taken: frozenset[str]) -> Namespaces | None:
    """A name for each call of a group that logs under one tag, as ``train/loss`` and ``val/loss``.

    None when the words are missing for a call, do not tell the series apart, describe another measure than the tag, or
    lead to a tag that is ``taken`` by another call.
    """
    if not any(isinstance(part, str) for part in group[0].tag.parts):
        return None
    named = _by_phase(program, group) or _by_value(group)
    if named is None:
        return None
    names, told_by = named
    if len(set(names)) < 2:
        return None
    tags = tuple(_new_tag(summary, name) for summary, name in zip(group, names, strict=True))
    if any(tag.text in taken for tag in tags if tag.text != tag.summary.tag.text):
        return None
    return Namespaces(tags, told_by)


def _by_phase(program: Program, group: Sequence[Summary]) -> tuple[list[str], str] | None:
    """The phase of each call, unless one of them logs another measure than the tag says."""
    found = [phase(program, summary.call, summary.value) for summary in group]
    names = [each.name for each in found if each is not None]
    if len(names) < len(group) or any(_other_measure(summary, group) for summary in group):
        return None
    sources = {each.source for each in found if each is not None}
    return names, "value" if sources == {"value"} else "function" if "function" in sources else "block"


def _other_measure(summary: Summary, group: Sequence[Summary]) -> bool:
    """Whether a value is named after something the tag does not speak of, while another value of the group is not."""
    tag = {_singular(word) for word in words(summary.tag.text)}

    def speaks(other: Summary) -> bool:
        return bool({_singular(word) for word in core_words(other.value)} & tag)

    own = {
        word
        for word in core_words(summary.value)
        if not is_phase_word(word) and not is_qualifier(word) and len(word) > 1
    }
    return bool(own) and not speaks(summary) and any(speaks(other) for other in group)


def _singular(word: str) -> str:
    for tail in ("es", "s"):
        if word.endswith("ss"):
            return word
        if word.endswith(tail) and word[: -len(tail)] in ("loss", "accuracy", "score", "metric", "error"):
            return word[: -len(tail)]
    return word


def _by_value(group: Sequence[Summary]) -> tuple[list[str], str] | None:
    """The words before the tag's own in the value names.

    ``gen_loss`` and ``disc_loss`` under ``loss`` give gen and disc.
    """
    last = words(group[0].tag.text.rpartition("/")[2])
    names: list[str] = []
    for summary in group:
        texts = subjects(summary.value)
        own = words(texts[0].rpartition(".")[2]) if len(texts) == 1 else []
        if not last or own[-len(last) :] != last or len(own) == len(last):
            return None
        names.append("_".join(own[: -len(last)]))
    return names, "value"


def _new_tag(summary: Summary, name: str) -> NewTag:
    text = summary.tag.text
    for word in _written_words(text):
        if is_phase_word(word.lower()) and is_phase_word(name) and text.count(word) == 1:
            if phase_words(word) == name:
                return NewTag(summary, text, "", "")
            new = _in_case_of(word, name)
            return NewTag(summary, text.replace(word, new), word, new)
    return NewTag(summary, f"{name}/{text}", "", name)


def _written_words(text: str) -> list[str]:
    """The words of a tag as they are written."""
    found: list[str] = []
    at = 0
    for word in words(text):
        start = text.lower().find(word, at)
        found.append(text[start : start + len(word)])
        at = start + len(word)
    return found


def _in_case_of(word: str, name: str) -> str:
    if word == "training":
        return {"val": "validation", "test": "testing", "eval": "evaluation"}.get(name, name)
    if word == "Training":
        return {"val": "Validation", "test": "Testing", "eval": "Evaluation"}.get(name, name.capitalize())
    if word.lower() == "validation" and name == "train":
        return "Training" if word[0] == "V" else "training"
    return name.upper() if word.isupper() else name.capitalize() if word[:1].isupper() else name


def suggested_tag(summary: Summary) -> str:
    """A tag of its own for a series, named after its value: ``window`` under ``train/loss`` gives ``train/window``."""
    texts = subjects(summary.value)
    own = "_".join(words(texts[0].rpartition(".")[2])) if texts else ""
    head, slash, last = summary.tag.text.rpartition("/")
    if own and own != last.lower():
        return f"{head}{slash}{own}"
    return f"{summary.tag.text}/2"
