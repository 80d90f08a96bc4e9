"""The harness notices what it is there for: each check fails on a rule with the matching defect."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from torchlint import testing
from torchlint.expectations import BadExpectation, expectations
from torchlint.findings import Edit, Finding, Fix, Safety, Severity, Span, Text, text
from torchlint.rule_docs import example_is_flagged, replacement_is_clean, sections_complete
from torchlint.rules.rule import Rule
from torchlint.semantics.program import Program
from torchlint.source import read_source

SOURCE = "first()\nbad()  # expect: ZZ100@1[safe]\nlast()\n"
GOLDEN = "first()\ngood()  # expect: ZZ100@1[safe]\nlast()\n"


class Renamed(Rule):
    """A call of `bad`.

    ## What it does
    Reports `bad()`.

    ## Why it matters
    `good()` is better.

    ## Example
    ```python
    bad()
    ```

    ## Use instead
    ```python
    good()
    ```

    ## Fix safety
    Safe: both do the same.

    ## Stays quiet when
    - it is not called.

    ## References
    - none
    """

    code = "ZZ100"
    name = "renamed"
    severity = Severity.WARNING
    screen = re.compile(rb"bad")
    message = text("`bad` is called")
    replacement = "good"
    safety = Safety.SAFE
    reason: Text | None = None

    def check(self, program: Program) -> Iterator[Finding]:
        for call in program.tree.calls:
            if program.code(call.func) == "bad":
                yield self.finding(
                    program, call, self.message, text("call `good`"), self.fix(program, program.start(call))
                )

    def fix(self, program: Program, start: int) -> Fix | None:
        edits = (Edit(start, start + 3, self.replacement),)
        return Fix(text("Call `good`"), self.safety, edits, self.reason)


def case(folder: Path, rule: type[Rule], source: str = SOURCE, golden: str | None = GOLDEN) -> testing.Case:
    (folder / "flagged.py").write_text(source)
    if golden is not None:
        (folder / "flagged.fixed.py").write_text(golden)
    [found] = testing.fixture_cases(folder, rule, alongside=[rule])
    return found


@pytest.mark.parametrize("check", testing.CHECKS, ids=lambda check: check.__name__)
def test_a_sound_rule_passes(check: testing.Check, tmp_path: Path) -> None:
    check(case(tmp_path, Renamed))


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("bad()\n", "not expected: row 1 column 1: ZZ100"),
        ("good()  # expect: ZZ100\n", "expected, not found: row 1: ZZ100"),
        ("bad()  # expect: ZZ100@2\n", "expected, not found: row 1 column 2"),
        ("bad()  # expect: ZZ100[unsafe]\n", r"expected, not found: row 1: ZZ100 \[unsafe\]"),
        ("bad()  # expect: ZZ100, ZZ100\n", "expected, not found: row 1: ZZ100"),
        ("# expect-next: ZZ100\n\nbad()\n", "expected, not found: row 2"),
        ("text = '''\n# expect: ZZ100\n'''\nbad()\n", "not expected: row 4"),
    ],
)
def test_expectations_are_exact(source: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=message):
        testing.expectations_met(case(tmp_path, Renamed, source, golden=None))


def test_expectations_that_cannot_be_read_are_errors() -> None:
    with pytest.raises(BadExpectation, match=r"a\.py:1: cannot read expectation 'TL5x1'"):
        expectations(read_source("a.py", b"x = 1  # expect: TL5x1\n"))


class Narrow(Renamed):
    screen = re.compile(rb"never")

    def check(self, program: Program) -> Iterator[Finding]:
        return super().check(program)


class Breaking(Renamed):
    replacement = "("


class Idle(Renamed):
    replacement = "bad"


class Doubling(Renamed):
    replacement = "bad(), bad"


class Padded(Renamed):
    message = text("`bad` is called ")


class Leaking(Renamed):
    message = text("called by {who}", who=object())


class Unexplained(Renamed):
    safety = Safety.UNSAFE


class Moody(Renamed):
    runs = itertools.count()

    def check(self, program: Program) -> Iterator[Finding]:
        if next(self.runs) % 2:
            yield from super().check(program)


class Elsewhere(Renamed):
    def finding(self, *args: object, **kwargs: object) -> Finding:
        return super().finding(*args, span=Span(1, 90, 1, 99), **kwargs)  # type: ignore[arg-type]


class Greedy(Renamed):
    """Says nothing at all as soon as there is a comment."""

    def check(self, program: Program) -> Iterator[Finding]:
        if "noqa" not in program.source.text:
            yield from super().check(program)


class Rewriting(Renamed):
    """Reports `last()` as well once `bad()` is gone."""

    screen = re.compile(rb"bad|good")

    def check(self, program: Program) -> Iterator[Finding]:
        yield from super().check(program)
        if "good" in program.source.text:
            yield from (
                self.finding(program, call, self.message, text("see"))
                for call in program.tree.calls
                if call.lineno != 2
            )


@pytest.mark.parametrize(
    ("check", "rule", "message"),
    [
        (testing.screen_is_sound, Narrow, "the screen of ZZ100 hides row 2"),
        (testing.each_fix_alone, Breaking, "does not parse"),
        (testing.each_fix_alone, Idle, "does not cure it"),
        (testing.each_fix_alone, Doubling, r"adds \{'ZZ100': 1\}"),
        (testing.each_fix_alone, Rewriting, r"adds \{'ZZ100': 1\}"),
        (testing.fixes_converge, Idle, "does not cure its finding"),
        (testing.fixes_converge, Breaking, "would break the file"),
        (testing.well_formed, Padded, "padded text"),
        (testing.well_formed, Leaking, "leaks a value"),
        (testing.well_formed, Unexplained, "a fix that is not safe says why"),
        (testing.well_formed, Elsewhere, "column is outside its row"),
        (testing.repeatable, Moody, "two runs differ"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_each_check_notices_its_defect(check: testing.Check, rule: type[Rule], message: str, tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=message):
        check(case(tmp_path, rule, golden=None))


def test_a_comment_that_changes_other_findings_is_noticed(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=r"noqa: .* in rows \[1\]: \[\], not"):
        testing.suppressible(case(tmp_path, Greedy, "bad()\nbad()\n", golden=None))


def test_a_golden_copy_is_compared_byte_for_byte(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=r"not as in flagged\.fixed\.py"):
        testing.golden_fix(case(tmp_path, Renamed, golden=GOLDEN.replace("last()", "last() ")))


def test_declared_fixability_is_compared_with_what_is_seen(tmp_path: Path) -> None:
    testing.fixability_is_declared([case(tmp_path, Renamed)])

    class Silent(Renamed):
        __doc__ = (Renamed.__doc__ or "").replace("Safe: both", "Unsafe, and by hand in places: both")

    with pytest.raises(AssertionError, match="does not speak of 'safe'"):
        testing.fixability_is_declared([case(tmp_path, Silent)])


def change(old: str, new: str) -> type[Rule]:
    doc = Renamed.__doc__ or ""
    assert old in doc
    return type("Changed", (Renamed,), {"__doc__": doc.replace(old, new)})


@pytest.mark.parametrize(
    ("holds", "rule", "message"),
    [
        (sections_complete, change("## References", "## Sources"), "sections are"),
        (sections_complete, change("Reports `bad()`.", ""), "nothing under What it does"),
        (sections_complete, change("Safe: both do the same.", "It just works."), "neither safe, unsafe nor manual"),
        (example_is_flagged, change("    bad()\n", "    good()\n"), "not flagged"),
        (replacement_is_clean, change("    good()\n", "    bad()\n"), "ZZ100"),
    ],
)
def test_documentation_that_is_not_true_is_noticed(
    holds: Callable[[type[Rule]], None], rule: type[Rule], message: str
) -> None:
    with pytest.raises(AssertionError, match=message):
        holds(rule)


def test_a_missing_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="ZZ100 renamed has no fixtures"):
        testing.fixture_cases(tmp_path / "nowhere", Renamed)
