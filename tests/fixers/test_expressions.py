from __future__ import annotations

import pytest

from torchlint.fixers.expressions import append_to_expression, replace_expression, wrap_expression


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("f(x)", "f(x.item())", id="name"),
        pytest.param("f(x.y)", "f(x.y.item())", id="attribute"),
        pytest.param("f(x[0])", "f(x[0].item())", id="subscript"),
        pytest.param("f(g(x))", "f(g(x).item())", id="call"),
        pytest.param("f(a + b)", "f((a + b).item())", id="sum"),
        pytest.param("f((a + b))", "f((a + b).item())", id="sum in parentheses"),
        pytest.param("f((\n    a + b\n))", "f((\n    a + b\n).item())", id="sum in parentheses on rows"),
        pytest.param("f(-a, 1)", "f((-a).item(), 1)", id="sign"),
        pytest.param("f(a if b else c)", "f((a if b else c).item())", id="choice"),
        pytest.param("f(1)", "f((1).item())", id="number"),
        pytest.param("f(k=a * b)", "f(k=(a * b).item())", id="keyword value"),
        pytest.param("f(k=(a * b))", "f(k=(a * b).item())", id="keyword value in parentheses"),
        pytest.param("f(*a)", None, id="starred"),
        pytest.param("f(x for x in y)", None, id="bare generator"),
        pytest.param(
            "f(\n    # why (\n    a + b\n)", "f(\n    # why (\n    (a + b).item()\n)", id="comment with parenthesis"
        ),
    ],
)
def test_appending(rewrite, call, before, after):
    def verb(source, tree):
        found = call(tree, "f")
        node = found.args[0] if found.args else found.keywords[0].value
        return append_to_expression(source, tree, node, ".item()")

    assert rewrite(before, verb) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("x = a", "x = float(a)", id="name"),
        pytest.param("x = a + b", "x = float(a + b)", id="sum"),
        pytest.param("x = (a + b)", "x = (float(a + b))", id="parentheses"),
        pytest.param("x = a, b", "x = float((a, b))", id="bare tuple"),
        pytest.param("x = (a, b)", "x = float((a, b))", id="tuple"),
        pytest.param("x = (y for y in z)", "x = float((y for y in z))", id="generator"),
        pytest.param("x = [\n    1,\n]", "x = float([\n    1,\n])", id="rows"),
    ],
)
def test_wrapping(rewrite, before, after):
    assert (
        rewrite(before, lambda source, tree: wrap_expression(source, tree, tree.module.body[0].value, "float("))
        == after
    )


@pytest.mark.parametrize(
    ("before", "new", "after"),
    [
        pytest.param("f(x)", "a or b", "f(a or b)", id="argument"),
        pytest.param("f(x)", "a, b", "f((a, b))", id="tuple as an argument"),
        pytest.param("f(k=x)", "a if b else c", "f(k=a if b else c)", id="keyword value"),
        pytest.param("f(k=x)", "a := b", None, id="no expression by itself"),
        pytest.param("f(k=x)", "a b", None, id="no expression"),
        pytest.param("f(x.y)", "a.b", "f(a.b.y)", id="tight receiver"),
        pytest.param("f(x.y)", "a + b", "f((a + b).y)", id="loose receiver"),
        pytest.param("f((x).y)", "a + b", "f((a + b).y)", id="receiver in parentheses"),
        pytest.param("f(x * 2)", "a + b", "f((a + b) * 2)", id="operand"),
        pytest.param("f([x])", "a + b", "f([a + b])", id="element"),
        pytest.param("f(d[x])", "a + b", "f(d[a + b])", id="index"),
        pytest.param("f(x.y)", "1", "f((1).y)", id="number as receiver"),
        pytest.param('f(f"{x}")', "a", None, id="inside an f-string"),
    ],
)
def test_replacing(rewrite, before, new, after):
    def verb(source, tree):
        return replace_expression(source, tree, next(n for n in tree.nodes if getattr(n, "id", "") == "x"), new)

    assert rewrite(before, verb) == after
