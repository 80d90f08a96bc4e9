"""Constants through names, and what a call really passes."""

from __future__ import annotations

import ast

import pytest

from torchlint.semantics.program import Program, parse
from torchlint.semantics.values import ABSENT, UNKNOWN, Known
from torchlint.source import read_source


def last_call(text: str) -> tuple[Program, ast.Call]:
    source = read_source("module.py", text.encode())
    program = Program(source, parse(source))
    return program, next(c for c in program.tree.calls if isinstance(c.func, ast.Name) and c.func.id == "use")


def passed(text: str, name: str = "workers", position: int | None = None) -> list[object]:
    """The constants a call of ``use`` may pass; the markers for absent and unknown stand for themselves."""
    program, call = last_call(text)
    found: list[object] = []
    for value in program.values.argument(call, name, position):
        if value is ABSENT or value is UNKNOWN:
            found.append(value)
        else:
            constant = program.values.constant(value)
            found.append(constant.value if isinstance(constant, Known) else UNKNOWN)
    return sorted(found, key=repr)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        pytest.param("use()", [ABSENT], id="left out"),
        pytest.param("use(workers=0)", [0], id="keyword"),
        pytest.param("use(*a, workers=2)", [2], id="keyword behind unpacked positions"),
        pytest.param("n = 4\nuse(workers=n)", [4], id="a name bound once"),
        pytest.param("n = 0 if c else 2\nuse(workers=n)", [UNKNOWN], id="two values"),
        pytest.param("def f(n=0):\n    use(workers=n)", [UNKNOWN], id="a default is no value"),
        pytest.param("use(**{'workers': 3})", [3], id="a literal dict"),
        pytest.param("k = dict(workers=0)\nuse(**k)", [0], id="dict()"),
        pytest.param("k = {}\nk['workers'] = 1\nuse(**k)", [1], id="an item set"),
        pytest.param("k = {}\nk.update(workers=1)\nuse(**k)", [1], id="update with a keyword"),
        pytest.param("k = {}\nk.update({'workers': 1})\nuse(**k)", [1], id="update with a dict"),
        pytest.param("k = {}\nif c:\n    k.update(workers=1)\nuse(**k)", [1, ABSENT], id="update on one path"),
        pytest.param("k = {'workers': 1} if c else {}\nuse(**k)", [1, ABSENT], id="a dict on one path"),
        pytest.param("k = {'a': 1} | {'workers': 2}\nuse(**k)", [2], id="a union"),
        pytest.param("k = {**base(), 'workers': 2}\nuse(**k)", [2], id="the last key wins"),
        pytest.param("k = {'workers': 2, **base()}\nuse(**k)", [2, UNKNOWN], id="unknown keys behind may win"),
        pytest.param("def f(**k):\n    use(**k)", [UNKNOWN], id="keywords of the caller"),
        pytest.param("k = {'workers': 2}\nk.pop('workers')\nuse(**k)", [ABSENT], id="a key taken out"),
    ],
)
def test_argument_by_name(text: str, values: list[object]) -> None:
    assert passed(text) == sorted(values, key=repr)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("use(a, 7)", [7]),
        ("use(a)", [ABSENT]),
        ("use(*a)", [UNKNOWN]),
        ("use(a, *b)", [UNKNOWN]),
        ("use(a, workers=8)", [8]),
    ],
)
def test_argument_by_position(text: str, values: list[object]) -> None:
    assert passed(text, position=1) == values


def test_constants_tell_where_they_are_written() -> None:
    program, call = last_call("n = 0\nuse(n)\n")
    constant = program.values.constant(call.args[0])
    assert isinstance(constant, Known)
    assert [w.lineno for w in constant.written] == [1]


def test_a_setting_changed_in_the_module_is_unknown_in_a_function() -> None:
    program, call = last_call("n = 0\nn = 1\ndef f():\n    use(n)\n")
    assert program.values.constant(call.args[0]) is UNKNOWN


def test_negative_numbers_and_conversions() -> None:
    program, call = last_call("use(-1, int('3'), int(4))\n")
    values = [program.values.constant(a) for a in call.args]
    assert isinstance(values[0], Known)
    assert values[0].value == -1
    assert isinstance(values[2], Known)
    assert values[2].value == 4
