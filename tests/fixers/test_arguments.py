from __future__ import annotations

import pytest

from torchlint.fixers.arguments import (
    add_keyword,
    move_keyword,
    prepend_argument,
    remove_argument,
    rename_keyword,
    set_keyword,
)


@pytest.mark.parametrize(
    "code",
    [
        pytest.param("f(**options)", id="kwargs may give it"),
        pytest.param("f(*args)", id="args may give it"),
        pytest.param("f(n=1)", id="given"),
        pytest.param('g(f"{f(a)}")', id="inside an f-string"),
    ],
)
def test_adding_a_keyword_is_refused(rewrite, call, code):
    assert rewrite(code, lambda source, tree: add_keyword(source, tree, call(tree, "f"), "n", "4")) is None


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("f()", "f(n=4)", id="empty"),
        pytest.param("f( )", "f(n=4)", id="blank"),
        pytest.param("f(\n)", "f(\n    n=4,\n)", id="empty on two rows"),
        pytest.param("f(  # why\n)", "f(  # why\n    n=4,\n)", id="empty with comment"),
        pytest.param("if x:\n\tf(\n\t)", "if x:\n\tf(\n\t\tn=4,\n\t)", id="empty with tabs"),
        pytest.param("f(a)", "f(a, n=4)", id="one row"),
        pytest.param("f(a,)", "f(a, n=4,)", id="one row, trailing comma"),
        pytest.param("f(a, )", "f(a, n=4, )", id="one row, trailing comma and blank"),
        pytest.param("f(\n    a,\n    b,\n)", "f(\n    a,\n    b,\n    n=4,\n)", id="own rows"),
        pytest.param("f(\n    a,\n    b\n)", "f(\n    a,\n    b,\n    n=4\n)", id="own rows, no trailing comma"),
        pytest.param(
            "f(\n    a,  # x\n    b=True,  # y\n)",
            "f(\n    a,  # x\n    b=True,  # y\n    n=4,\n)",
            id="comments stay on their rows",
        ),
        pytest.param(
            "f(\n    a,\n    b=True  # y\n)",
            "f(\n    a,\n    b=True,  # y\n    n=4\n)",
            id="the comma goes before the comment",
        ),
        pytest.param("f(\n    a,\n    # b,\n)", "f(\n    a,\n    n=4,\n    # b,\n)", id="commented-out argument"),
        pytest.param("f(a,\n  b)", "f(a,\n  b,\n  n=4)", id="hanging"),
        pytest.param("f(a,\n  b,)", "f(a,\n  b,\n  n=4,)", id="hanging, trailing comma"),
        pytest.param("f(\n    a, b\n)", "f(\n    a, b, n=4\n)", id="several on a row"),
        pytest.param("f(\n    a, b,\n)", "f(\n    a, b, n=4,\n)", id="several on a row, trailing comma"),
        pytest.param("f(a, b  # y\n)", "f(a, b, n=4  # y\n)", id="comment behind the last of a row"),
        pytest.param("f(a\n  , b\n  )", "f(a\n  , b, n=4\n  )", id="comma first"),
        pytest.param("f(a  # x\n  ,\n)", "f(a  # x\n  , n=4,\n)", id="comma on a row of its own"),
        pytest.param("f(a \\\n  )", "f(a, n=4 \\\n  )", id="line continuation"),
        pytest.param("f(g([\n    1,\n]))", "f(g([\n    1,\n]), n=4)", id="an argument of many rows"),
        pytest.param(
            "f(\n    g([\n        1,\n    ])\n)", "f(\n    g([\n        1,\n    ]),\n    n=4\n)", id="the same, own row"
        ),
        pytest.param("f(x for x in y)", "f((x for x in y), n=4)", id="bare generator"),
        pytest.param("f((x for x in y))", "f((x for x in y), n=4)", id="generator in parentheses"),
        pytest.param("(f)((a))", "(f)((a), n=4)", id="parentheses around callee and argument"),
        pytest.param("f((a), b=((1)),)", "f((a), b=((1)), n=4,)", id="parentheses around a value"),
        pytest.param("f('(,)#', a)  # f(", "f('(,)#', a, n=4)  # f(", id="punctuation in strings and comments"),
        pytest.param("x = lambda: f(a)", "x = lambda: f(a, n=4)", id="lambda"),
        pytest.param("@f(a)\ndef g(): pass", "@f(a, n=4)\ndef g(): pass", id="decorator"),
        pytest.param("if x: f(a)", "if x: f(a, n=4)", id="one-line body"),
        pytest.param("é = 'ü'; f('ö', b)", "é = 'ü'; f('ö', b, n=4)", id="wide characters before the column"),
        pytest.param("f(\r\n\ta,\r\n\tb,\r\n)\r\n", "f(\r\n\ta,\r\n\tb,\r\n\tn=4,\r\n)\r\n", id="CRLF and tabs"),
        pytest.param(
            "x\nf(\r\n  a,\r\n)\ny\n", "x\nf(\r\n  a,\r\n  n=4,\r\n)\ny\n", id="mixed line ends: those of the call"
        ),
        pytest.param("x\n\f\nf(a)", "x\n\f\nf(a, n=4)", id="form feed"),
        pytest.param("a.b().f(c)", "a.b().f(c, n=4)", id="chain"),
    ],
)
def test_adding_a_keyword(rewrite, call, before, after):
    assert rewrite(before, lambda source, tree: add_keyword(source, tree, call(tree, "f"), "n", "4")) == after


def test_a_keyword_may_follow_unpacking_when_the_caller_knows(rewrite, call):
    def verb(source, tree):
        return add_keyword(source, tree, call(tree, "f"), "n", "4", allow_unpacking=True)

    assert rewrite("f(*a, **b)", verb) == "f(*a, **b, n=4)"
    assert rewrite("f(\n    *a,\n    **b\n)", verb) == "f(\n    *a,\n    **b,\n    n=4\n)"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("f(a, n=0)", "f(a, n=4 or 1)", id="keyword"),
        pytest.param("f(a, n=(0), b=1)", "f(a, n=(4 or 1), b=1)", id="keyword in parentheses"),
        pytest.param("f(a, 0, b)", "f(a, 4 or 1, b)", id="position"),
        pytest.param("f(a, (0), b)", "f(a, (4 or 1), b)", id="position in parentheses"),
        pytest.param("f(a)", "f(a, n=4 or 1)", id="absent"),
        pytest.param("f(*a)", None, id="unpacked"),
        pytest.param("f(*a, 0)", None, id="position behind unpacking"),
        pytest.param("f(**k, n=0)", "f(**k, n=4 or 1)", id="keyword beside unpacking"),
    ],
)
def test_setting_a_keyword(rewrite, call, before, after):
    def verb(source, tree):
        return set_keyword(source, tree, call(tree, "f"), "n", "4 or 1", position=1)

    assert rewrite(before, verb) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("f()", "f(d)", id="empty"),
        pytest.param("f(a, b)", "f(d, a, b)", id="one row"),
        pytest.param("f(\n    a,  # x\n    b,\n)", "f(\n    d,\n    a,  # x\n    b,\n)", id="own rows"),
        pytest.param("f(*a)", "f(d, *a)", id="unpacking"),
        pytest.param("f(x for x in y)", None, id="bare generator"),
    ],
)
def test_prepending_an_argument(rewrite, call, before, after):
    assert rewrite(before, lambda source, tree: prepend_argument(source, tree, call(tree, "f"), "d")) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("f(n=1)", "f()", id="only"),
        pytest.param("f( n=1, )", "f()", id="only, with blanks"),
        pytest.param("f(n=1, a=2)", "f(a=2)", id="first"),
        pytest.param("f(n=1,\n  a=2)", "f(a=2)", id="first, the next on another row"),
        pytest.param("f(a, n=1, b=2)", "f(a, b=2)", id="middle"),
        pytest.param("f(a, n=1)", "f(a)", id="last"),
        pytest.param("f(a, n=1,)", "f(a,)", id="last with trailing comma"),
        pytest.param("f(a, n=1,\n  b=2)", "f(a,\n  b=2)", id="last of a row"),
        pytest.param("f(a,\n  n=1)", "f(a)", id="hanging"),
        pytest.param(
            "f(\n    a,\n    n=1,  # gone too\n    b=2,\n)", "f(\n    a,\n    b=2,\n)", id="own row with comment"
        ),
        pytest.param("f(\n    a,  # stays\n    n=1\n)", "f(\n    a  # stays\n)", id="own row, last, no trailing comma"),
        pytest.param("f(\n    n=[\n        1,\n    ],\n    a=1,\n)", "f(\n    a=1,\n)", id="own rows"),
        pytest.param("f(\r\n  a,\r\n  n=1,\r\n)", "f(\r\n  a,\r\n)", id="CRLF"),
        pytest.param("f(a,  # why\n  n=1)", "f(a,  # why\n  )", id="comment before it stays"),
        pytest.param("f(n=1,  # why\n  a=1)", "f(  # why\n  a=1)", id="comment behind it stays"),
    ],
)
def test_removing_an_argument(rewrite, call, before, after):
    def verb(source, tree):
        found = call(tree, "f")
        return remove_argument(source, tree, found, next(word for word in found.keywords if word.arg == "n"))

    assert rewrite(before, verb) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("g(f(x), n=1)", "g(f(x, n=1))", id="one row"),
        pytest.param("g(\n    f(x),\n    n=d,\n)", "g(\n    f(x, n=d),\n)", id="own rows"),
        pytest.param("g(f(\n    x,\n), n=1)", "g(f(\n    x,\n    n=1,\n))", id="inner call of many rows"),
        pytest.param("g(f(x, n=2), n=1)", None, id="given inside"),
        pytest.param("g(f(**k), n=1)", None, id="perhaps given inside"),
        pytest.param("g(n=f(x))", None, id="the call is the value"),
    ],
)
def test_moving_a_keyword_inside(rewrite, call, before, after):
    def verb(source, tree):
        return move_keyword(source, tree, call(tree, "g"), call(tree, "f"), "n")

    assert rewrite(before, verb) == after


def test_renaming_a_keyword(rewrite, call):
    def verb(source, tree):
        return rename_keyword(source, tree, call(tree, "f").keywords[0], "new")

    assert rewrite("f(a, n = 1)", verb) == "f(a, new = 1)"
    assert rewrite("f(**n)", verb) is None
