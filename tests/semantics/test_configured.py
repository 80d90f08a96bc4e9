"""Values that a project writes into its configuration object."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from torchlint.semantics.configured import defaults
from torchlint.semantics.program import Program, parse
from torchlint.semantics.project import Project
from torchlint.source import read_source


def found(folder: Path, text: str) -> list[object]:
    source = read_source(str(folder / "run.py"), f"value = {text}\n".encode())
    program = Program(source, parse(source), Project(str(folder)))
    statement = program.module.body[0]
    assert isinstance(statement, ast.Assign)
    assert isinstance(statement.value, ast.Attribute)
    return list(defaults(program, statement.value))


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("cfg.VAL.batch_size", [1]),
        ("self.cfg.VAL.batch_size", [1]),
        ("cfg.TRAIN.batch_size", [2, 4]),
        ("cfg.TEST.batch_size", []),
        ("args.batch_size", []),
    ],
)
def test_told_by_section_and_key(tmp_path: Path, text: str, values: list[object]) -> None:
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "options.py").write_text(
        "_C.VAL.batch_size = 1\n_C.TRAIN.batch_size = 2\n_C.TRAIN.batch_size = 4\nbatch_size = 9\n"
        "_C.TEST.batch_size = size()\n"
    )
    assert found(tmp_path, text) == values
