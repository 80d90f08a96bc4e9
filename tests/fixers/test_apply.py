from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from torchlint.findings import Edit, Fix, Safety, text
from torchlint.fixers.apply import Composer, apply_round, is_well_formed
from torchlint.source import apply_edits


def fix(*edits: tuple[int, int, str]) -> Fix:
    return Fix(text("x"), Safety.SAFE, tuple(Edit(*edit) for edit in edits))


def chosen(*fixes: Fix) -> tuple[int, ...]:
    return apply_round(fixes)[0]


def test_fixes_apart_go_together():
    indices, edits = apply_round([fix((8, 9, "b")), fix((0, 1, "a"), (4, 5, "c"))])
    assert indices == (0, 1)
    assert edits == (Edit(0, 1, "a"), Edit(4, 5, "c"), Edit(8, 9, "b"))


def test_of_two_that_overlap_the_later_waits():
    assert chosen(fix((3, 6, "b")), fix((0, 4, "a"))) == (1,)
    assert chosen(fix((0, 9, "a")), fix((3, 4, "b"))) == (0,)


def test_a_fix_is_applied_whole_or_not_at_all():
    indices, edits = apply_round([fix((0, 2, "a")), fix((1, 3, "b"), (7, 8, "b"))])
    assert indices == (0,)
    assert edits == (Edit(0, 2, "a"),)


def test_replacements_may_stand_side_by_side_but_insertions_may_not_touch():
    assert chosen(fix((0, 2, "a")), fix((2, 4, "b"))) == (0, 1)
    assert chosen(fix((0, 2, "a")), fix((2, 2, "b"))) == (0,)
    assert chosen(fix((2, 2, "a")), fix((2, 4, "b"))) == (0,)
    assert chosen(fix((2, 2, "a")), fix((2, 2, "b"))) == (0,)


def test_the_same_import_of_several_fixes_is_made_once():
    indices, edits = apply_round([fix((0, 0, "import os\n"), (5, 6, "a")), fix((0, 0, "import os\n"), (8, 9, "b"))])
    assert indices == (0, 1)
    assert edits == (Edit(0, 0, "import os\n"), Edit(5, 6, "a"), Edit(8, 9, "b"))


def test_a_fix_without_edits_is_never_chosen():
    assert chosen(fix()) == ()


def test_well_formed():
    assert is_well_formed(fix((0, 2, ""), (2, 2, "x"), (3, 9, "")), 9)
    assert not is_well_formed(fix((0, 3, ""), (2, 4, "")), 9)
    assert not is_well_formed(fix((0, 10, "")), 9)
    assert not is_well_formed(fix((4, 3, "")), 9)


@st.composite
def rounds(draw: st.DrawFn) -> tuple[str, list[tuple[Edit, ...]], str]:
    """A text, rounds of edits of what it has become, and the final text."""
    first = current = draw(st.text("abc", max_size=12))
    found = []
    for _ in range(draw(st.integers(0, 4))):
        cuts = sorted(draw(st.lists(st.integers(0, len(current)), max_size=6)))
        pairs = zip(cuts[::2], cuts[1::2], strict=False)
        edits = tuple({start: Edit(start, end, draw(st.text("XY", max_size=3))) for start, end in pairs}.values())
        edits = tuple(edit for i, edit in enumerate(edits) if not i or edits[i - 1].end <= edit.start)
        found.append(edits)
        current = apply_edits(current, edits)
    return first, found, current


@given(rounds())
def test_several_rounds_are_one_list_of_edits_of_the_first_text(case):
    first, found, final = case
    composer = Composer(len(first))
    for edits in found:
        composer.apply(edits)
    edits = composer.edits(len(first))
    assert apply_edits(first, edits) == final
    assert is_well_formed(Fix(text("x"), Safety.SAFE, edits), len(first))
