"""TL507 unplain-checkpoint."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchlint.findings import Finding, Fix, Safety, Severity, Text, text
from torchlint.rules.rule import Rule
from torchlint.rules.screens import AnyOf, having
from torchlint.semantics.kinds import Kind
from torchlint.semantics.saving_names import SAVING_CALLS

if TYPE_CHECKING:
    from torchlint.fixers.layout import Edits
    from torchlint.semantics.program import Program


class UnplainCheckpoint(Rule):
    """A checkpoint holds an object that torch.load refuses by default.

    ## What it does
    Reports a value in what `torch.save` writes that is visibly no plain data: an `argparse.Namespace`, a path, a
    dataclass, a NumPy number or array, an Enum member, a `defaultdict`, a `deque`, a date.

    ## Why it matters
    Since PyTorch 2.6 `torch.load` opens tensors, numbers, strings and plain containers only. One other object in the
    file, and the whole checkpoint fails to load with `UnpicklingError: Weights only load failed`.

    ## Example
    ```python
    import argparse

    import torch

    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, default=0.1)
    args = parser.parse_args()

    def save(model, path):
        torch.save({"model": model.state_dict(), "args": args}, path)
    ```

    ## Use instead
    ```python
    import argparse

    import torch

    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, default=0.1)
    args = parser.parse_args()

    def save(model, path):
        torch.save({"model": model.state_dict(), "args": vars(args)}, path)
    ```

    ## Fix safety
    Unsafe: code that reads the entry gets another type. The value is converted where it is put in: `vars(args)`,
    `dataclasses.asdict(config)`, `str(path)`, `float(loss)`, `.tolist()`, `.value`, `dict(…)`, `list(…)`. By hand
    where it cannot be converted in place.

    ## Stays quiet when
    - the value is converted, or the file does not show what it is on every path;
    - a test saves into the folder that pytest gives it (`tmp_path`);
    - the file loads with `weights_only=False` or allows the type (`add_safe_globals`): it knows what it saves.

    ## References
    - https://docs.pytorch.org/docs/stable/notes/serialization.html#weights-only
    - https://docs.pytorch.org/docs/stable/generated/torch.load.html
    - `torchlint.runtime.run.state_of`
    - `torchlint.runtime.seeding.rng_state`
    """

    code = "TL507"
    name = "unplain-checkpoint"
    severity = Severity.ERROR
    screen = having(b"torch", b"save", matching=AnyOf(SAVING_CALLS))

    def check(self, program: Program) -> Iterator[Finding]:
        from torchlint.semantics.checkpoints import unpickles_on_purpose
        from torchlint.semantics.plainness import REFUSED, kind_of
        from torchlint.semantics.pytest_folders import in_test_folder
        from torchlint.semantics.saves import contents, saves

        known: bool | None = None
        seen: set[ast.expr] = set()
        for save in saves(program):
            if in_test_folder(program, save):
                continue
            for entry in contents(program, save.payload):
                kind = kind_of(program, entry.written)
                if kind not in REFUSED or entry.written in seen:
                    continue
                seen.add(entry.written)
                known = unpickles_on_purpose(program) if known is None else known
                if not known:
                    yield self._report(program, entry.written, kind)

    def _report(self, program: Program, value: ast.expr, kind: Kind) -> Finding:
        code = program.code(value)
        message = text(
            "`{value}` is of type `{type}`, which `torch.load` refuses by default since PyTorch 2.6: the whole"
            " checkpoint does not open",
            value=code,
            type=kind.value,
        )
        help = _help(kind, code)
        edits = _edits(program, value, kind)
        if edits is None:
            fix = Fix(help, Safety.MANUAL, reason=text("it cannot be converted where it stands"))
        else:
            fix = Fix(help, Safety.UNSAFE, edits, text("code that reads the entry gets another type"))
        return self.finding(program, value, message, help, fix)


def _help(kind: Kind, code: str) -> Text:
    wrap = _WRAPS.get(kind)
    if wrap is not None:
        return text("save `{before}{value})`", before=wrap, value=code)
    if kind is Kind.DATACLASS:
        return text("save `dataclasses.asdict({value})`", value=code)
    if kind is Kind.ENUM:
        return text("save `{value}.value`", value=code)
    return text("save `{value}.tolist()`", value=code)


_WRAPS = {
    Kind.NAMESPACE: "vars(",
    Kind.PATH: "str(",
    Kind.DATE: "str(",
    Kind.SCALAR: "float(",
    Kind.MAPPING: "dict(",
    Kind.QUEUE: "list(",
}


def _edits(program: Program, value: ast.expr, kind: Kind) -> Edits | None:
    from torchlint.fixers.expressions import append_to_expression, wrap_expression
    from torchlint.fixers.imports import add_import

    source, tree = program.source, program.tree
    wrap = _WRAPS.get(kind)
    if wrap is not None:
        return None if _is_taken(program, value, wrap[:-1]) else wrap_expression(source, tree, value, wrap)
    if kind is Kind.DATACLASS:
        imported = add_import(source, tree, "import dataclasses", value)
        if imported is None:
            return None
        wrapped = wrap_expression(source, tree, value, f"{imported.name}.asdict(")
        return None if wrapped is None else (*imported.edits, *wrapped)
    return append_to_expression(source, tree, value, ".value" if kind is Kind.ENUM else ".tolist()")


def _is_taken(program: Program, at: ast.expr, name: str) -> bool:
    return program.scopes.owner(name, program.scopes.scope_of(at)) is not None
