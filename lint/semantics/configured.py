"""Values that a project writes into its configuration object: ``_C.VAL.batch_size = 1``."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torchlint.semantics.program import Program


def defaults(program: Program, expr: ast.Attribute) -> Iterator[object]:
    """The constants that the top level of a file of the project gives to the option an expression reads.

    ``cfg.VAL.batch_size`` is told by section and key, because the object goes by another name where it is filled
    (``_C`` in the files of yacs). An attribute without a section (``args.batch_size``) says too little.
    """
    if not isinstance(expr.value, ast.Attribute):
        return
    option = f"{expr.value.attr}.{expr.attr}"
    others = program.project.mentions(option, program.source.path) if program.project is not None else ()
    for each in (program, *others):
        for statement in each.module.body:
            if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.Constant):
                continue
            if any(_ends_with(target, expr.value.attr, expr.attr) for target in statement.targets):
                yield statement.value.value


def _ends_with(target: ast.expr, section: str, key: str) -> bool:
    return (
        isinstance(target, ast.Attribute)
        and target.attr == key
        and isinstance(target.value, ast.Attribute)
        and target.value.attr == section
    )
