"""Which bindings of a name reach a use."""

from __future__ import annotations

import ast

import pytest

from torchlint.semantics.program import Program, parse
from torchlint.source import read_source


def program_of(text: str) -> Program:
    source = read_source("module.py", text.encode())
    return Program(source, parse(source))


def reaching_rows(text: str) -> set[int | None]:
    """Rows of the bindings that reach the argument of the call of ``use``; None stands for a parameter."""
    program = program_of(text)
    call = next(c for c in program.tree.calls if isinstance(c.func, ast.Name) and c.func.id == "use")
    name = call.args[0]
    assert isinstance(name, ast.Name)
    return {b.statement.lineno if b.statement is not None else None for b in program.scopes.reaching(name)}


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        pytest.param("x = 1\nx = 2\nuse(x)\n", {2}, id="the last one wins"),
        pytest.param("if c:\n    x = 1\nelse:\n    x = 2\nuse(x)\n", {2, 4}, id="both branches"),
        pytest.param("x = 0\nif c:\n    x = 1\nuse(x)\n", {1, 3}, id="a branch may be skipped"),
        pytest.param(
            "x = 0\nif c:\n    x = 1\n    raise E\nuse(x)\n", {1}, id="a branch that raises does not come back"
        ),
        pytest.param("x = 0\nfor i in r:\n    use(x)\n    x = 1\n", {1, 4}, id="a loop carries its end to its start"),
        pytest.param("x = 0\nfor x in r:\n    use(x)\n", {2}, id="the loop variable"),
        pytest.param("x = 0\nwhile x:\n    use(x)\n    break\n    x = 2\n", {1, 5}, id="a while loop"),
        pytest.param("with f() as x:\n    use(x)\n", {1}, id="with as"),
        pytest.param("try:\n    x = 1\nexcept E:\n    x = 2\nuse(x)\n", {2, 4}, id="try and its handler"),
        pytest.param("x = 0\ntry:\n    x = 1\nexcept E:\n    use(x)\n", {1, 3}, id="a handler sees both"),
        pytest.param("x = 0\ntry:\n    x = 1\nfinally:\n    use(x)\n", {1, 3}, id="finally sees both"),
        pytest.param("def f(x):\n    use(x)\n", {None}, id="a parameter"),
        pytest.param("def f(x):\n    x = 1\n    use(x)\n", {2}, id="a parameter that is bound anew"),
        pytest.param(
            "x = 1\ndef f():\n    use(x)\nx = 2\n", {1, 4}, id="from a function any module value may be current"
        ),
        pytest.param(
            "x = 1\nclass C:\n    x = 2\n    def f(self):\n        use(x)\n",
            {1},
            id="class names are not seen in methods",
        ),
        pytest.param("x = 1\n[use(x) for i in r]\nx = 2\n", {1}, id="a comprehension runs where it stands"),
        pytest.param(
            "def f():\n    global x\n    x = 1\nx = 2\nuse(x)\n",
            {4},
            id="a global is bound elsewhere too, but later here",
        ),
        pytest.param("x = 1\nf = lambda: use(x)\n", {1}, id="a lambda"),
        pytest.param("if (x := f()):\n    use(x)\n", {1}, id="a walrus in the condition"),
        pytest.param("match v:\n    case [x]:\n        use(x)\n", {1}, id="a pattern"),
        pytest.param("a, x = f()\nuse(x)\n", {1}, id="an unpacking"),
    ],
)
def test_reaching_bindings(text: str, rows: set[int | None]) -> None:
    assert reaching_rows(text) == rows


@pytest.mark.parametrize(
    ("text", "sure"),
    [
        pytest.param("x = 1\nuse(x)\n", True, id="bound before"),
        pytest.param("if c:\n    x = 1\nuse(x)\n", False, id="bound on one path"),
        pytest.param("if c:\n    x = 1\nelse:\n    raise E\nuse(x)\n", True, id="the other path does not come back"),
        pytest.param("for i in r:\n    x = 1\nuse(x)\n", False, id="a loop may not run"),
        pytest.param("def f():\n    use(x)\nx = 1\n", True, id="a module name of a function called later"),
        pytest.param("def f(x):\n    use(x)\n", True, id="a parameter"),
        pytest.param("use(x)\nx = 1\n", False, id="bound too late"),
    ],
)
def test_bound_on_every_path(text: str, sure: bool) -> None:
    program = program_of(text)
    call = next(c for c in program.tree.calls if isinstance(c.func, ast.Name) and c.func.id == "use")
    assert program.scopes.bound_on_every_path("x", call) is sure


def test_a_name_without_binding_reaches_nothing() -> None:
    assert reaching_rows("use(x)\n") == set()
