"""Whether summary calls write one series or several under one tag.

Two calls are in conflict when they reach the same run folder under equal tags in one run of the program and log
different things. Everything that could make them one series, or keep them apart, is asked first; what is not known
counts as that.
"""

from __future__ import annotations

import ast
import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchlint.semantics.branches import earlier_exits, exclusive, guards, runs_once, same_names
from torchlint.semantics.callers import call_sites, calls_of
from torchlint.semantics.loops import Loop, SeriesLoop, Varies, series_loop, varies
from torchlint.semantics.phases import Phase, phase, phase_words
from torchlint.semantics.quantities import core_words, same_quantity, same_value, source_call, subjects
from torchlint.semantics.summaries import Summary
from torchlint.semantics.tree import FUNCTIONS, FunctionNode
from torchlint.semantics.values import Known

if TYPE_CHECKING:
    from torchlint.semantics.program import Program

_PHASELESS = frozenset({"lr", "lrs", "time", "seconds", "speed", "memory", "mem", "fps", "sps"})
_SHARED_KINDS = frozenset({"scalar", "histogram"})


class Kind(enum.Enum):
    """What makes two calls different series."""

    VALUES = "values"  # different values in one function
    HELPERS = "helpers"  # different values in two functions given the same writer
    PHASES = "phases"  # the same measure of two phases
    FAMILIES = "families"  # two kinds of summary
    FOLDERS = "folders"  # two writers on one folder


@dataclass(frozen=True, slots=True, eq=False)
class Conflict:
    """Two summary calls under one tag; ``phases`` are known when they tell the series apart."""

    first: Summary
    second: Summary
    kind: Kind
    phases: tuple[Phase | None, Phase | None] = (None, None)


def conflict(program: Program, first: Summary, second: Summary) -> Conflict | None:
    """Why two calls are two series under one tag; None when they are one series, apart, or unknown."""
    if first.tag != second.tag or not _same_run(program, first, second) or not _both_run(program, first, second):
        return None
    if first.family != second.family:
        return _two_kinds(program, first, second)
    if _other_steps(program, first, second):
        return None
    found = _phases(program, first, second)
    tested = found is not None and found[0].source == found[1].source == "guard"
    if not tested and same_value(program, first.value, second.value):
        return None
    if found is not None and not _phaseless(first) and not _phaseless(second):
        return _two_phases(program, first, second, found)
    if first.function is second.function:
        return _two_values(program, first, second)
    return _two_helpers(program, first, second)


def _named(first: Summary, second: Summary, kind: Kind) -> Kind:
    made = first.writer is not None and second.writer is not None and first.writer.made is not second.writer.made
    return Kind.FOLDERS if made else kind


def _two_kinds(program: Program, first: Summary, second: Summary) -> Conflict | None:
    """A scalar and a histogram under one tag: neither is shown."""
    if {first.family, second.family} != _SHARED_KINDS:
        return None
    if first.function is not second.function and not _reached_together(program, first, second, strict=True):
        return None
    return Conflict(first, second, _named(first, second, Kind.FAMILIES))


def _two_phases(program: Program, first: Summary, second: Summary, found: tuple[Phase, Phase]) -> Conflict | None:
    """The same measure of training and validation."""
    if first.function is not second.function and not _reached_together(program, first, second, strict=False):
        return None
    return Conflict(first, second, _named(first, second, Kind.PHASES), found)


def _two_values(program: Program, first: Summary, second: Summary) -> Conflict | None:
    """Different values logged in one function."""
    one_turn = _loop(program, first) is _loop(program, second)
    same = same_quantity(program, first.value, second.value)
    if same is None or (same and not (one_turn and _reassigned(program, first, second))):
        return None
    if not one_turn:  # one of them before, behind or around the loop of the other
        if _is_constant_step(program, first) or _is_constant_step(program, second):
            return None
        if core_words(first.value) == core_words(second.value) and _one_axis(first, second):
            return None
        mine = source_call(program, first.value)
        if mine is not None and mine == source_call(program, second.value):
            return None
    return Conflict(first, second, _named(first, second, Kind.VALUES))


def _two_helpers(program: Program, first: Summary, second: Summary) -> Conflict | None:
    """Different values logged by two functions that both run."""
    if same_quantity(program, first.value, second.value) is not False:
        return None
    if core_words(first.value) & core_words(second.value) == core_words(first.value) | core_words(second.value):
        return None
    if not _reached_together(program, first, second, strict=True):
        return None
    return Conflict(first, second, _named(first, second, Kind.HELPERS))


def _phases(program: Program, first: Summary, second: Summary) -> tuple[Phase, Phase] | None:
    """The phases of two calls when they differ.

    Where one name is used in the loops of both phases, the data of the loops decides, whatever the name says.
    """
    mine, theirs = phase(program, first.call, first.value), phase(program, second.call, second.value)
    if mine is not None and theirs is not None and mine.differs(theirs):
        return mine, theirs
    if subjects(first.value) == subjects(second.value):
        mine, theirs = phase(program, first.call), phase(program, second.call)
        if mine is not None and theirs is not None and mine.differs(theirs) and mine.source == theirs.source == "loop":
            return mine, theirs
    return None


def _phaseless(summary: Summary) -> bool:
    """Whether a value belongs to the run as a whole, such as a learning rate or a time."""
    found = core_words(summary.value)
    return bool(found & _PHASELESS) or {"learning", "rate"} <= found or found <= {"epoch", "epochs", "step", "steps"}


def _reassigned(program: Program, first: Summary, second: Summary) -> bool:
    """Whether one name stands for two values logged at one step: ``grid = a; log(grid); grid = b; log(grid)``."""
    if first.value is None or second.value is None or ast.dump(first.value) != ast.dump(second.value):
        return False
    if first.step is not None and second.step is not None:
        if ast.dump(first.step) != ast.dump(second.step) or not same_names(program, first.step, second.step):
            return False
    elif first.step is not second.step:
        return False
    mine, theirs = (
        {id(b) for n in ast.walk(v) if isinstance(n, ast.Name) for b in program.scopes.reaching(n)}
        for v in (first.value, second.value)
    )
    return not mine & theirs


def _loop(program: Program, summary: Summary) -> Loop | None:
    return next(iter(program.tree.loops(summary.call)), None)


# -- one run ---------------------------------------------------------------------------------------


def _same_run(program: Program, first: Summary, second: Summary) -> bool:
    """Whether two calls write to one folder: through one writer, or two that were opened on it in one scope."""
    one, two = first.writer, second.writer
    if one is None or two is None:
        return False
    if one.origin == two.origin or _slip(program, first, second):
        return True
    if one.made is None or two.made is None or one.folder is None or not one.folder.parts or one.folder != two.folder:
        return False
    tree = program.tree
    if one.made not in tree.parents or two.made not in tree.parents:
        return False
    return tree.function(one.made) is tree.function(two.made) and not exclusive(program, one.made, two.made)


def _slip(program: Program, first: Summary, second: Summary) -> bool:
    """Whether two functions nobody is seen to call take a writer under one name, and the tag names a phase.

    With ``train_loss`` in both, one of them logs under the tag of the other phase whatever writers it is given.
    """
    one, two = first.function, second.function
    if not isinstance(one, FUNCTIONS) or not isinstance(two, FUNCTIONS) or one is two:
        return False
    if phase_words(first.tag.text) is None or ast.dump(first.receiver) != ast.dump(second.receiver):
        return False
    return all(
        summary.writer is not None
        and isinstance(summary.receiver, ast.Name)
        and summary.writer.origin == ("parameter", id(function), summary.receiver.id)
        and not call_sites(program, function)
        for summary, function in ((first, one), (second, two))
    )


def _both_run(program: Program, first: Summary, second: Summary) -> bool:
    return first.function is not second.function or not exclusive(program, first.call, second.call)


def _reached_together(program: Program, first: Summary, second: Summary, *, strict: bool) -> bool:
    """Whether one run reaches the functions of both calls.

    A function that leads to both decides. Without one: not if ``strict``, else yes unless their visible callers choose
    between them.
    """
    one: ast.AST = first.function or program.module
    two: ast.AST = second.function or program.module
    seen = False
    for caller in (program.module, *program.tree.functions):
        below = calls_of(program, caller)
        to_one = [first.call] if caller is one else below.get(one, [])
        to_two = [second.call] if caller is two else below.get(two, [])
        for a in to_one:
            for b in to_two:
                seen = True
                if a is b or not exclusive(program, a, b):
                    return True
    if seen or not isinstance(one, FUNCTIONS) or not isinstance(two, FUNCTIONS):
        return False  # also module code that no visible call connects with the function
    outside = _called_together(program, one, two)
    return outside if outside is not None else not strict


def _called_together(program: Program, one: FunctionNode, two: FunctionNode) -> bool | None:
    """Whether a function that calls both, also in another file, runs both; None when there is none."""
    pairs = [
        (a, b)
        for a in call_sites(program, one)
        for b in call_sites(program, two)
        if a.program is b.program and a.program.tree.function(a.call) is b.program.tree.function(b.call)
    ]
    return any(not exclusive(a.program, a.call, b.call) for a, b in pairs) if pairs else None


# -- one axis --------------------------------------------------------------------------------------


def _is_constant_step(program: Program, summary: Summary) -> bool:
    return summary.step is not None and isinstance(program.values.constant(summary.step), Known)


def _other_steps(program: Program, first: Summary, second: Summary) -> bool:
    """Whether the steps keep two calls apart.

    Two written-out numbers; and for pictures and texts any two expressions.
    """
    if first.step is not None and second.step is not None:
        one, two = program.values.constant(first.step), program.values.constant(second.step)
        if isinstance(one, Known) and isinstance(two, Known):
            return one.value != two.value
    return first.family not in _SHARED_KINDS and not _one_axis(first, second)


def _one_axis(first: Summary, second: Summary) -> bool:
    if first.step is None or second.step is None:
        return first.step is second.step
    return _axis(first.step) == _axis(second.step)


def _axis(step: ast.expr) -> frozenset[str]:
    names = {n.id for n in ast.walk(step) if isinstance(n, ast.Name)}
    return frozenset(names | {n.attr for n in ast.walk(step) if isinstance(n, ast.Attribute)}) - {"self"}


# -- one call in a loop ----------------------------------------------------------------------------


def lost_variable(program: Program, summary: Summary) -> SeriesLoop | None:
    """The loop over series whose variable a call should carry in its tag.

    Neither tag nor step change with it, the value does.
    """
    for loop in program.tree.loops(summary.call):
        found = series_loop(program, loop)
        if found is not None and _loses(program, summary, found):
            return found
    return None


def _loses(program: Program, summary: Summary, series: SeriesLoop) -> bool:
    loop: Loop = series.loop
    if (
        varies(program, summary.tag_node, loop) is not Varies.NO
        or varies(program, summary.receiver, loop) is Varies.YES
    ):
        return False
    if summary.step is not None and varies(program, summary.step, loop) is not Varies.NO:
        return False
    if summary.value is None or varies(program, summary.value, loop) is not Varies.YES:
        return False
    if runs_once(program, summary.call, loop) or not _for_all(program, summary, series):
        return False
    made = summary.writer.made if summary.writer is not None else None
    return summary.writer is not None and (made is None or loop not in program.tree.ancestors(made))


def _for_all(program: Program, summary: Summary, series: SeriesLoop) -> bool:
    """Whether the tests before the call let every series through.

    They ask nothing of the loop, or only whether a value is there.
    """
    tests = [guard.test for guard in guards(program, summary.call, series.loop)]
    tests += [t for t in earlier_exits(program, summary.call, series.loop) if not _leaves_some_out(t, series)]
    return all(varies(program, test, series.loop) is Varies.NO or _asks_for_presence(test, series) for test in tests)


def _leaves_some_out(test: ast.expr, series: SeriesLoop) -> bool:
    """Whether a turn that ends early is one of a few, so that the others go on: ``if key in ("lr", "epoch"): continue``."""
    if isinstance(test, ast.Compare) and _asks_for(test.left, series):
        return len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq | ast.In)
    if isinstance(test, ast.Call) and isinstance(test.func, ast.Attribute) and _asks_for(test.func.value, series):
        return test.func.attr in ("startswith", "endswith")
    return False


def _asks_for(test: ast.expr, series: SeriesLoop) -> bool:
    """Whether a test asks which series it is; ``values[key]`` asks for the value."""
    if series.key is None:
        return False
    pending: list[ast.AST] = [test]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Name) and node.id == series.key.id:
            return True
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Name):
            pending.append(node.value)
        else:
            pending.extend(ast.iter_child_nodes(node))
    return False


def _asks_for_presence(test: ast.expr, series: SeriesLoop) -> bool:
    if isinstance(test, ast.BoolOp):
        return all(_asks_for_presence(value, series) for value in test.values)
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _asks_for_presence(test.operand, series)
    if _asks_for(test, series):
        return False
    if isinstance(test, ast.Attribute):
        return test.attr == "requires_grad"
    if isinstance(test, ast.Call):
        name = test.func.id if isinstance(test.func, ast.Name) else getattr(test.func, "attr", "")
        return name in ("isinstance", "isscalar", "is_tensor", "is_floating_point", "isfinite")
    return isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Is | ast.IsNot)
