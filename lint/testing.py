"""Harness for people who write rules: fixtures say what must be found, the harness proves that and a good deal more.

A rule's fixtures lie in one folder. Files directly in it stand alone; a folder inside is a project of several files.
Comments in the files name the findings (see :mod:`torchlint.expectations`), and ``x.fixed.py`` beside ``x.py`` is what
all fixes of the rule, unsafe ones too, must make of it; a file with such a golden copy may do without expectations.
Use it from pytest so::

    from torchlint.testing import CHECKS, fixture_cases

    @pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
    @pytest.mark.parametrize("case", fixture_cases(Path("fixtures/AB101"), MyRule), ids=str)
    def test_fixture(case, check):
        check(case)

The docstring of a rule is tested as well: ``for check in DOCUMENTATION_CHECKS: check(MyRule)``. Every check raises
AssertionError with the file, the row and what differs.
"""

from __future__ import annotations

import ast
import difflib
import re
from collections import Counter
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from torchlint.expectations import expectations, unmet
from torchlint.findings import Finding, Safety, Text
from torchlint.fixing import Fixed, edited, fix_source, offset_of
from torchlint.fixtures import Case, fixture_cases, read
from torchlint.rule_docs import DOCUMENTATION_CHECKS, declared_safeties
from torchlint.semantics.program import Program, parse
from torchlint.semantics.project import Project
from torchlint.source import Source, SourceError, apply_edits

if TYPE_CHECKING:
    from torchlint.rules.rule import Rule

__all__ = [
    "CHECKS",
    "DOCUMENTATION_CHECKS",
    "Case",
    "Check",
    "expectations",
    "fixability_is_declared",
    "fixture_cases",
    "screen_holds",
]


# -- findings --------------------------------------------------------------------------------------


def expectations_met(case: Case) -> None:
    """The findings of the rule, and of every code the file names, are exactly those its comments announce."""
    source = case.source
    expected = expectations(source)
    if not expected and case.golden.exists():
        return
    codes = {case.rule.code, *(each.code for each in expected)}
    missing, extra = unmet(expected, [finding for finding in case.findings(source) if finding.code in codes])
    problems = [f"expected, not found: {each}" for each in missing] + [f"not expected: {_say(each)}" for each in extra]
    assert not problems, f"{case}:\n" + "\n".join(problems)


def well_formed(case: Case) -> None:
    """Every finding stands inside the file and on its statement, its texts have no gaps, its fix gives its reasons."""
    source = case.source
    for finding in case.findings(source):
        where = f"{case}: {_say(finding)}"
        row, _ = source.position(offset_of(source, finding))
        assert (finding.span.row, finding.span.column) <= (finding.span.end_row, finding.span.end_column), where
        assert 1 <= finding.span.column <= len(source.line(row)) + 1, f"{where}: column is outside its row"
        assert finding.first_row <= row <= finding.last_row, f"{where}: not on its statement"
        fix = finding.fix
        for part in (finding.message, finding.help, *((fix.title, fix.reason) if fix else ())):
            _check_text(part, where)
        if fix is not None:
            assert fix.edits or fix.safety is Safety.MANUAL, f"{where}: a fix without edits must be manual"
            assert fix.reason is not None or fix.safety is Safety.SAFE, f"{where}: a fix that is not safe says why"
            assert source.accepts(fix.edits), f"{where}: the edits cannot be written back"


def repeatable(case: Case) -> None:
    """Two runs give the same findings, in report order."""
    first, second = (case.findings(case.source) for _ in range(2))
    assert first == second, f"{case}: two runs differ"
    assert list(first) == sorted(first, key=lambda finding: finding.sort_key), f"{case}: findings are not sorted"


def screen_is_sound(case: Case) -> None:
    """A file that a rule's screen turns away has no finding of that rule; so for all rules that run on it."""
    for rule in case.rules:
        screen_holds(case.source, rule, Project(str(case.root)))


def screen_holds(source: Source, rule: type[Rule], project: Project | None = None) -> None:
    """The same for one rule and any source. Raises AssertionError, or SourceError when the source does not parse."""
    if not rule.screen.search(source.text.encode("utf-8", "surrogatepass")):
        missed = list(rule().check(Program(source, parse(source), project)))
        assert not missed, f"{source.path}: the screen of {rule.code} hides {_say(missed[0])}"


def suppressible(case: Case) -> None:
    """A comment on a statement, by code or by name, silences the rule's findings there and nothing else.

    Every second finding gets a comment and the others must stay; then the other way round. Not tried on notebooks,
    where the comment would have to go into a JSON string.
    """
    source = case.source
    before = case.findings(source)
    if source.cells:
        return
    for start, form in enumerate(("  # noqa: {0.code}", "  # torchlint: ignore[{0.name}]")):
        text, silenced = source.text, set[tuple[str, int]]()
        for finding in before[start::2]:
            row = _commentable(source, finding)
            if row and (finding.code, row) not in silenced:
                silenced.add((finding.code, row))
                text = _with_comment(text, row, form.format(finding))
        after = case.findings(read(source.path, source.encode(text)))
        kept = [
            f for f in before if not any(f.code == code and f.first_row <= row <= f.last_row for code, row in silenced)
        ]
        told = f"{case}: with {form.strip()} in rows {sorted({row for _, row in silenced})}"
        assert _places(after) == _places(kept), f"{told}: {_places(after)}, not {_places(kept)}"


# -- fixes -----------------------------------------------------------------------------------------


def golden_fix(case: Case) -> None:
    """This rule's fixes and no other turn the file into its golden copy, if there is one, byte for byte."""
    if case.golden.exists():
        raw = _fixed(case, case.source, lambda finding: finding.code == case.rule.code).source.raw
        wanted = case.golden.read_bytes()
        assert raw == wanted, f"{case}: not as in {case.golden.name}\n{_difference(wanted, raw)}"


def each_fix_alone(case: Case) -> None:
    """Every single fix leaves a file that parses, without that finding and without a new one of any rule."""
    source = case.source
    before = case.findings(source)
    for finding in before:
        if finding.fix is not None and finding.fix.applicable:
            what = f"{case}: the fix of {_say(finding)}"
            after = edited(source, finding.fix.edits)
            _check_parses(after, what)
            codes = _codes(case.findings(after))
            gained = codes - _codes(before)
            assert not gained, f"{what} adds {dict(gained)}"
            assert codes[finding.code] < _codes(before)[finding.code], f"{what} does not cure it"


def fixes_converge(case: Case) -> None:
    """All fixes of all rules together: what can be fixed is gone, nothing is added, a second run changes nothing."""
    source = case.source
    before = case.findings(source)
    fixed = _fixed(case, source).source
    _check_parses(fixed, f"{case} fixed")
    after = case.findings(fixed)
    gained = _codes(after) - _codes(before)
    assert not gained, f"{case}: fixing adds {dict(gained)}"
    left = [finding for finding in after if finding.fix is not None and finding.fix.applicable]
    assert not left, f"{case}: still fixable after fixing: {', '.join(map(_say, left))}"
    assert not _fixed(case, fixed).changed, f"{case}: a second run changes the file again"


def bytes_outside_edits_stay(case: Case) -> None:
    """The result is the file with the edits and nothing else: encoding, byte order mark and line ends are as before."""
    source = case.source
    result = _fixed(case, source)
    fixed = result.source
    if not source.cells:  # a notebook's bytes are JSON: its text has to do
        wanted = source.encode(apply_edits(source.text, result.edits))
        assert fixed.raw == wanted, f"{case}: other bytes changed than the edits say\n{_difference(wanted, fixed.raw)}"
    assert fixed.text == apply_edits(source.text, result.edits), f"{case}: the edits are not what was done"
    assert (fixed.encoding, fixed.bom) == (source.encoding, source.bom), f"{case}: fixing changes the encoding"
    assert _line_ends(fixed) <= (_line_ends(source) or {"\n"}), f"{case}: fixing brings other line ends into the file"


def fixability_is_declared(cases: Iterable[Case]) -> None:
    """The fixtures of one rule show every kind of fix its *Fix safety* section speaks of, and no other."""
    cases = list(cases)
    rule = cases[0].rule
    declared = declared_safeties(rule)
    shown = {finding.fix.safety if finding.fix else Safety.MANUAL: finding for case in cases for finding in _own(case)}
    for safety, finding in shown.items():
        said = f"{_say(finding)} is {safety.value}"
        assert safety in declared, f"{rule.code}: *Fix safety* does not speak of {safety.value!r}, but {said}"
    unseen = ", ".join(sorted(safety.value for safety in declared - shown.keys()))
    assert not unseen, f"{rule.code}: *Fix safety* speaks of {unseen}, but no fixture shows it"


Check = Callable[[Case], None]

CHECKS: tuple[Check, ...] = (
    expectations_met,
    well_formed,
    repeatable,
    screen_is_sound,
    suppressible,
    golden_fix,
    each_fix_alone,
    fixes_converge,
    bytes_outside_edits_stay,
)


# -- parts of the checks ---------------------------------------------------------------------------


def _fixed(case: Case, source: Source, select: Callable[[Finding], bool] = lambda finding: True) -> Fixed:
    rules = [rule() for rule in case.rules]
    result = fix_source(source, rules, Project(str(case.root)), unsafe=True, select=select)
    assert not result.problems, "\n".join(map(str, result.problems))
    return result


def _own(case: Case) -> list[Finding]:
    return [finding for finding in case.findings(case.source) if finding.code == case.rule.code]


def _commentable(source: Source, finding: Finding) -> int:
    """The first row of the statement that takes a comment, the reported one first; 0 where none does (in strings)."""
    tree = ast.dump(parse(source))
    for row in sorted(range(finding.first_row, finding.last_row + 1), key=lambda row: row != finding.span.row):
        if row < len(source.line_starts) or source.line(row):
            try:
                if ast.dump(ast.parse(_with_comment(source.text, row, "  # x"))) == tree:
                    return row
            except SyntaxError:
                continue
    return 0


def _with_comment(text: str, row: int, comment: str) -> str:
    source = Source("", b"", text)
    end = source.line_starts[row - 1] + len(source.line(row))
    return text[:end] + comment + text[end:]


def _check_text(part: Text | None, where: str) -> None:
    if part is not None:
        words = str(part)
        assert words, f"{where}: empty text"
        assert words.strip() == words, f"{where}: padded text {words!r}"
        assert not re.search(r"<ast\.|<\w+ object|\bKnown\(", words), f"{where}: leaks a value: {words!r}"


def _check_parses(source: Source, what: str) -> None:
    try:
        parse(source)
    except SourceError as error:
        raise AssertionError(f"{what} does not parse: row {error.row}: {error.message}") from None
    assert not source.notes, f"{what}: {source.notes}"


def _codes(findings: Iterable[Finding]) -> Counter[str]:
    return Counter(finding.code for finding in findings)


def _places(findings: Iterable[Finding]) -> list[str]:
    return [f"{finding.span.row}:{finding.span.column} {finding.code}" for finding in findings]


def _line_ends(source: Source) -> set[str]:
    return set(re.findall(r"\r\n|\r|\n", source.text))


def _difference(wanted: bytes, got: bytes) -> str:
    before, after = (data.decode("utf-8", "replace").splitlines(keepends=True) for data in (wanted, got))
    return "".join(f"{line!r}\n" for line in difflib.unified_diff(before, after, "golden", "fixed", n=1))


def _say(finding: Finding) -> str:
    place = f"row {finding.span.row}" if finding.cell is None else f"cell {finding.cell} row {finding.span.row}"
    return f"{place} column {finding.span.column}: {finding.code} {finding.message}"
