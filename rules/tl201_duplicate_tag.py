"""TL201 duplicate-tag."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchlint.findings import Finding, Fix, Safety, Severity, Text, text
from torchlint.rules.rule import Rule
from torchlint.rules.screens import having

if TYPE_CHECKING:
    from torchlint.fixers.layout import Edits
    from torchlint.semantics.loops import SeriesLoop
    from torchlint.semantics.namespaces import NewTag
    from torchlint.semantics.program import Program
    from torchlint.semantics.series import Conflict
    from torchlint.semantics.shared import Shared
    from torchlint.semantics.summaries import Summary

_PHASES = {"train": "training", "val": "validation", "test": "test", "eval": "evaluation"}


class DuplicateTag(Rule):
    """Two series of one writer share a tag.

    ## What it does
    Reports the second and each later summary call that logs another series of the same `SummaryWriter` under an equal
    tag: another value, the same value of another phase, a histogram under the tag of a scalar, a second writer on the
    same folder. Also a call in a loop over parameters, metrics or phases whose tag is the same for all of them, or in
    a function that is called for training and for validation.

    ## Why it matters
    TensorBoard's default view does not mix the series. It takes a step that does not grow for a restart and drops the
    points it has read, so with training and validation under one tag one curve is gone. A scalar and a histogram under
    one tag are both not shown.

    ## Example
    ```python
    from torch.utils.tensorboard import SummaryWriter

    def log(writer: SummaryWriter, epoch, train_loss, val_loss):
        writer.add_scalar("loss", train_loss, epoch)
        writer.add_scalar("loss", val_loss, epoch)
    ```

    ## Use instead
    ```python
    from torch.utils.tensorboard import SummaryWriter

    def log(writer: SummaryWriter, epoch, train_loss, val_loss):
        writer.add_scalar("train/loss", train_loss, epoch)
        writer.add_scalar("val/loss", val_loss, epoch)
    ```

    ## Fix safety
    All calls under the tag get their namespace. Safe when the distinguishing words stand in the names of values logged
    in one function. Unsafe when they come from the functions, loops or blocks around the calls, and when the variable
    of a loop joins the tag. Otherwise only the author knows the names, and the tag has to be changed by hand.

    ## Stays quiet when
    - the calls exclude each other: branches, `match`, an early `return`, contradicting tests;
    - the writers differ, or one is opened for each fold, or nobody can say which writer a name means;
    - the tag carries the phase or the loop variable, also through temporaries, f-strings, `%`, `format` and `+`;
    - one quantity is logged again: after the last window, before the first epoch, at other written-out steps;
    - the step of a loop over batches, steps or environments advances, or a test picks one turn of the loop;
    - the object is a wrapper with an `add_scalar` of its own, which may prefix tags;
    - two functions log different values under one tag and no visible caller runs both, or the callers choose between
      them.

    ## References
    - https://docs.pytorch.org/docs/stable/tensorboard.html
    - https://github.com/tensorflow/tensorboard/blob/master/docs/scalars_and_keras.ipynb
    - `torchlint.runtime.board.Board.scalars`
    """

    code = "TL201"
    name = "duplicate-tag"
    severity = Severity.ERROR
    screen = having(
        (
            b"add_scalar",
            b"add_histogram",
            b"add_image",
            b"add_figure",
            b"add_video",
            b"add_audio",
            b"add_text",
            b"add_pr",
        ),
        matching=re.compile(
            rb"\badd_(?:scalar|histogram(?:_raw)?|images?(?:_with_boxes)?|figure|video|audio|text|pr_curve)\b"
        ),
    )

    def check(self, program: Program) -> Iterator[Finding]:
        from torchlint.semantics.series import conflict, lost_variable
        from torchlint.semantics.shared import shared_by_phases
        from torchlint.semantics.summaries import summaries

        found = summaries(program)
        for index, later in enumerate(found):
            clash = next((c for earlier in found[:index] if (c := conflict(program, earlier, later)) is not None), None)
            if clash is not None:
                fix = _namespaced(program, clash, found)
                yield self.finding(program, later.call, _message(program, clash), _help(program, clash, fix), fix)
            elif (series := lost_variable(program, later)) is not None:
                yield self._lost(program, later, series)
            elif (shared := shared_by_phases(program, later)) is not None:
                yield self._shared(program, later, shared)

    def _lost(self, program: Program, summary: Summary, series: SeriesLoop) -> Finding:
        from torchlint.fixers.tags import add_field

        row = series.loop.lineno
        tag = _tag(program, summary)
        message = text(
            "the loop on line {line} logs every series under the tag `{tag}` at one step: TensorBoard's default view"
            " keeps the last one only",
            line=row,
            tag=tag,
        )
        if series.key is None:
            help = text("put a name or number that tells the turns of the loop apart into the tag")
            reason = text("the loop has no variable that names the series")
            return self.finding(program, summary.call, message, help, Fix(help, Safety.MANUAL, reason=reason))
        key = series.key.id
        help = text(
            "put `{{{key}}}` into the tag, or open one writer for each when the curves belong in one chart", key=key
        )
        seen = program.scopes.reaching_at(key, summary.call)
        edits = add_field(program.source, program.tree, summary.tag_node, key) if len(seen) == 1 else None
        if edits is None or seen[0].statement is not series.loop:
            reason = text("the tag is not written in a form that can be extended")
            return self.finding(program, summary.call, message, help, Fix(help, Safety.MANUAL, reason=reason))
        reason = text("each series gets a new tag, named by `{key}`", key=key)
        title = text("put `{{{key}}}` into the tag", key=key)
        return self.finding(program, summary.call, message, help, Fix(title, Safety.UNSAFE, edits, reason))

    def _shared(self, program: Program, summary: Summary, shared: Shared) -> Finding:
        message = text(
            "`{function}` is called for {first} on line {line} and for {second} on line {other}, and logs both under"
            " the tag `{tag}`: TensorBoard's default view drops one of the two series",
            function=shared.function.name,
            first=_PHASES[shared.phases[0]],
            line=shared.first.lineno,
            second=_PHASES[shared.phases[1]],
            other=shared.second.lineno,
            tag=_tag(program, summary),
        )
        help = text("pass the phase and put it into the tag, or pass each phase its own writer")
        reason = text("how the phase gets into the function is for you to decide")
        return self.finding(program, summary.call, message, help, Fix(help, Safety.MANUAL, reason=reason))


def _message(program: Program, clash: Conflict) -> Text:
    from torchlint.semantics.series import Kind

    first, second = clash.first, clash.second
    words = {
        "writer": program.code(second.receiver),
        "tag": _tag(program, second),
        "line": first.call.lineno,
        "value": _short(program, second),
        "other": _short(program, first),
    }
    if clash.kind is Kind.FAMILIES:
        return text(
            "`{writer}` logs a {family} under the tag `{tag}`, which is a {other} on line {line}: TensorBoard's default"
            " view shows neither",
            **(words | {"family": second.family, "other": first.family}),
        )
    if clash.kind is Kind.FOLDERS:
        return text(
            "`{writer}` is open on the same folder as `{other}`, which logs the tag `{tag}` on line {line}:"
            " TensorBoard's default view drops one of the two series",
            **(words | {"other": program.code(first.receiver)}),
        )
    mine, theirs = clash.phases[1], clash.phases[0]
    if mine is not None and theirs is not None:
        return text(
            "`{writer}` logs the {phase} series under the tag `{tag}`, which holds the {other} series on line {line}:"
            " TensorBoard's default view drops one of the two",
            **(words | {"phase": _PHASES[mine.name], "other": _PHASES[theirs.name]}),
        )
    return text(
        "`{writer}` logs `{value}` under the tag `{tag}`, which holds `{other}` on line {line}: TensorBoard's default"
        " view drops one of the two series",
        **words,
    )


def _help(program: Program, clash: Conflict, fix: Fix) -> Text:
    from torchlint.semantics.namespaces import suggested_tag
    from torchlint.semantics.series import Kind

    if clash.kind is Kind.FAMILIES:
        return text(
            "give one of them another tag, such as `{tag}/{family}`",
            tag=_tag(program, clash.second),
            family=clash.second.family,
        )
    if clash.kind is Kind.FOLDERS:
        return text(
            "give each writer a folder of its own, such as `train` and `val` below it, or each series its own tag"
        )
    if fix.edits:
        tags = dict(fix.title.args)["tags"]
        return text("log them under {tags}, or through one writer each when the curves belong in one chart", tags=tags)
    if clash.kind is Kind.PHASES:
        return text(
            "give each phase its own tag, such as `train/loss` and `val/loss`, or its own writer when the curves belong"
            " in one chart"
        )
    return text(
        "give it a tag of its own, such as `{tag}`, or its own writer when the curves belong in one chart",
        tag=suggested_tag(clash.second),
    )


def _namespaced(program: Program, clash: Conflict, found: list[Summary]) -> Fix:
    """The fix that gives every call under the tag its namespace, or the reason why that is left to the author."""
    from torchlint.semantics.namespaces import namespaces
    from torchlint.semantics.series import Kind

    help = text("give each series its own tag")
    if clash.kind in (Kind.FAMILIES, Kind.FOLDERS):
        return Fix(help, Safety.MANUAL, reason=text("only you know what the second one should be called"))
    writer = clash.second.writer
    same = [s for s in found if s.writer is not None and writer is not None and s.writer.origin == writer.origin]
    both = (clash.first, clash.second)
    group = [s for s in found if s.tag == clash.second.tag and (s in same or s in both)]
    taken = frozenset(s.tag.text for s in same if s not in group)
    names = namespaces(program, group, taken)
    edits = None if names is None else _edits(program, names.tags)
    if names is None or edits is None:
        return Fix(help, Safety.MANUAL, reason=text("the code does not say how the two series should be called"))
    title = text("log under {tags}", tags=", ".join(f"`{tag}`" for tag in dict.fromkeys(t.text for t in names.tags)))
    if names.told_by == "value" and len({s.function for s in group}) == 1:
        return Fix(title, Safety.SAFE, edits)
    if names.told_by == "value":
        reason = text("the calls stand in several functions")
    elif names.told_by == "function":
        reason = text("the names are taken from the functions around the calls")
    else:
        reason = text("the names are taken from what stands around the calls")
    return Fix(title, Safety.UNSAFE, edits, reason)


def _edits(program: Program, tags: tuple[NewTag, ...]) -> Edits | None:
    from torchlint.fixers.tags import add_prefix, replace_in_tag

    edits: Edits = ()
    for tag in tags:
        node = tag.summary.tag_node
        if tag.old:
            more = replace_in_tag(program.source, program.tree, node, tag.old, tag.new)
        else:
            more = add_prefix(program.source, program.tree, node, f"{tag.new}/") if tag.new else ()
        if more is None:
            return None
        edits = (*edits, *more)
    return edits


def _tag(program: Program, summary: Summary) -> str:
    return summary.tag.constant or _one_line(program.code(summary.tag_node))


def _short(program: Program, summary: Summary) -> str:
    return _one_line(program.code(summary.value)) if summary.value is not None else summary.method


def _one_line(code: str) -> str:
    joined = " ".join(code.split())
    return joined if len(joined) <= 40 else joined[:37] + "..."
