"""The fix loop: apply a round of fixes, check again, until nothing is left to fix; what does not hold is not
applied.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchlint.findings import Edit, Finding, Fix, Problem, Safety
from torchlint.fixers.apply import Composer, apply_round, is_well_formed
from torchlint.inspection import Inspected, inspect
from torchlint.second_opinion import still_accepted
from torchlint.semantics.program import parse
from torchlint.settings import DEFAULTS, Settings
from torchlint.source import Source, SourceError, apply_edits, read_source

if TYPE_CHECKING:
    from torchlint.rules.rule import Rule
    from torchlint.semantics.project import Project

MAX_ROUNDS = 10


@dataclass(frozen=True, slots=True)
class Fixed:
    """What became of one source.

    ``source`` is the result (the same object when nothing changed), ``edits`` the way from the first text to it.
    ``applied`` are the cured findings as they stood when they were fixed, ``remaining`` those reported for the
    result, by all rules.
    """

    source: Source
    edits: tuple[Edit, ...] = ()
    applied: tuple[Finding, ...] = ()
    remaining: tuple[Finding, ...] = ()
    problems: tuple[Problem, ...] = ()
    silenced: int = 0
    rounds: int = 0

    @property
    def changed(self) -> bool:
        """Whether there is anything to write."""
        return bool(self.edits)


def is_wanted(fix: Fix | None, unsafe: bool) -> bool:
    """Whether a fix may be applied at this level of trust."""
    return fix is not None and fix.applicable and (unsafe or fix.safety is Safety.SAFE)


def fix_source(
    source: Source,
    rules: Iterable[Rule],
    project: Project | None = None,
    settings: Settings = DEFAULTS,
    *,
    unsafe: bool = False,
    select: Callable[[Finding], bool] = lambda finding: True,
) -> Fixed:
    """Fix what can be fixed in one source, in at most ten rounds. Never raises for what the source contains.

    ``select`` narrows the fixes, not the rules: all ``rules`` run after each round. A fix that makes the source
    unparsable, does not cure its finding, or adds a finding of any rule is a defect of ours: it is left out and told
    as a problem, all others still apply. Findings that a comment silences are not fixed.
    """
    run = _Run(tuple(rules), project, settings)
    start = run.look(source)
    problems = list(start.inspected.problems)
    fixable = any(is_wanted(finding.fix, unsafe) and select(finding) for finding in start.inspected.findings)
    if fixable and not source.cells and not source.round_trips:
        message = f"is not fixed: written in {source.encoding} again, its bytes would differ; convert it to UTF-8"
        return _result(start, Composer(0), [], [*problems, Problem(source.path, message)], 0, source)
    state, rounds = start, 0
    composer = Composer(len(source.text))
    applied: list[Finding] = []
    dropped: set[tuple[str, int]] = set()
    while rounds < MAX_ROUNDS:
        wanted = [
            finding
            for finding in state.inspected.findings
            if is_wanted(finding.fix, unsafe)
            and select(finding)
            and (finding.code, offset_of(state.source, finding)) not in dropped
        ]
        step = run.step(state, wanted)
        for finding, reason in step.failed:
            problems.append(_failure(state.source, finding, reason))
            dropped.add((finding.code, offset_of(state.source, finding)))
        if not step.cured:
            if step.failed:
                continue
            break
        composer.apply(step.edits)
        dropped = {(code, moved(offset, step.edits)) for code, offset in dropped}
        applied.extend(step.cured)
        state = step.state
        rounds += 1
    return _result(state, composer, applied, problems, rounds, source)


def _result(
    state: _State, composer: Composer, applied: list[Finding], problems: list[Problem], rounds: int, first: Source
) -> Fixed:
    seen = state.inspected
    edits = composer.edits(len(first.text)) if applied else ()
    return Fixed(state.source, edits, tuple(applied), seen.findings, tuple(problems), seen.silenced, rounds)


@dataclass(frozen=True, slots=True)
class _State:
    """A source between two rounds."""

    source: Source
    inspected: Inspected

    @property
    def codes(self) -> Counter[str]:
        return Counter(finding.code for finding in self.inspected.findings)


@dataclass(frozen=True, slots=True)
class _Step:
    """One round: where it led, by which edits, and the fixes that failed with the reason."""

    state: _State
    edits: tuple[Edit, ...] = ()
    cured: tuple[Finding, ...] = ()
    failed: tuple[tuple[Finding, str], ...] = ()


class _Run:
    """What stays the same over all rounds."""

    def __init__(self, rules: Sequence[Rule], project: Project | None, settings: Settings) -> None:
        self._rules = rules
        self._project = project
        self._settings = settings

    def look(self, source: Source) -> _State:
        return _State(source, inspect(source, self._rules, self._project, self._settings))

    def step(self, state: _State, wanted: Sequence[Finding]) -> _Step:
        """Apply as many of the wanted fixes as go together and hold; groups that fail are halved until the culprit is
        alone.
        """
        sound = [finding for finding in wanted if finding.fix and is_well_formed(finding.fix, len(state.source.text))]
        failed = [(finding, "has edits that overlap") for finding in wanted if finding not in sound]
        chosen, _ = apply_round([finding.fix for finding in sound if finding.fix])
        groups = [[sound[index] for index in chosen]] if chosen else []
        good: list[Finding] = []
        best = _Step(state)
        while groups:
            group = groups.pop()
            trial = self._try(state, [*good, *group])
            if isinstance(trial, _Step):
                good.extend(group)
                best = trial
            elif len(group) > 1:
                middle = len(group) // 2
                groups += [group[middle:], group[:middle]]
            elif not good:  # beside others it may only have come at the wrong time; then the next round shows
                failed.append((group[0], trial))
        return _Step(best.state, best.edits, best.cured, tuple(failed))

    def _try(self, state: _State, findings: Sequence[Finding]) -> _Step | str:
        """The source with these fixes, or what is wrong with it."""
        _, edits = apply_round([finding.fix for finding in findings if finding.fix])
        try:
            source = edited(state.source, edits)
            module = parse(source)
        except SourceError as error:
            return f"would break the file ({error.message})"
        except UnicodeError:
            return f"writes a character that does not exist in {state.source.encoding}"
        except ValueError:
            return "touches what is not Python code"
        if source.text != apply_edits(state.source.text, edits):
            return "does not come out as written"
        after = self.look(source)
        if len(after.inspected.problems) > len(state.inspected.problems):
            return f"makes a rule fail ({after.inspected.problems[-1].message})"
        gained = after.codes - state.codes
        if gained:
            return f"would add a finding of {', '.join(sorted(gained))}"
        cured = Counter(finding.code for finding in findings)
        if any(after.codes[code] > state.codes[code] - count for code, count in cured.items()):
            return "does not cure its finding"
        if not still_accepted(state.source, source, module, edits):
            return "would leave a file that LibCST cannot read"
        return _Step(after, edits, tuple(findings))


def edited(source: Source, edits: Sequence[Edit]) -> Source:
    """The source after edits, read anew from the bytes it would be written as.

    Raises SourceError or UnicodeError when it cannot be, ValueError for edits a notebook does not take.
    """
    if not source.accepts(edits):
        raise ValueError("the edits cannot be written back")
    if not source.cells:
        return read_source(source.path, source.encode(apply_edits(source.text, tuple(edits))))
    from torchlint.notebook import read_notebook, write_back

    return read_notebook(source.path, write_back(source, edits))


def offset_of(source: Source, finding: Finding) -> int:
    """Where a finding starts in the text; in a notebook its row counts in its cell."""
    first = next((cell.first_row for cell in source.cells if cell.number == finding.cell), 1)
    return source.line_starts[finding.span.row + first - 2] + finding.span.column - 1


def moved(offset: int, edits: Iterable[Edit]) -> int:
    """Where an offset lies after edits."""
    shift = 0
    for edit in edits:
        if edit.end <= offset:
            shift += len(edit.text) - (edit.end - edit.start)
    return offset + shift


def _failure(source: Source, finding: Finding, reason: str) -> Problem:
    row, _ = source.position(offset_of(source, finding))
    message = (
        f"internal error: the fix of {finding.code} {finding.name} {reason}; "
        "it is not applied and the rest of the file is as without it, please report it"
    )
    return Problem(finding.path, message, row)
