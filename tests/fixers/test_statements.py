from __future__ import annotations

import ast

import pytest

from torchlint.fixers.statements import (
    add_decorator,
    assign_result,
    insert_after,
    insert_at_body_start,
    insert_before,
    replace_statement,
    wrap_in_block,
)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("y()", "new()\ny()", id="no final line end"),
        pytest.param("x\n# why\ny()  # z\n", "x\n# why\nnew()\ny()  # z\n", id="comments"),
        pytest.param("if x:\n    y()\n", "if x:\n    new()\n    y()\n", id="block"),
        pytest.param("if x:\n\ty()\n", "if x:\n\tnew()\n\ty()\n", id="tabs"),
        pytest.param("if x:\n \t y()\n", "if x:\n \t new()\n \t y()\n", id="mixed indentation"),
        pytest.param("if x:\r\n  y()\r\n", "if x:\r\n  new()\r\n  y()\r\n", id="CRLF"),
        pytest.param("if x:\n  \f  y()\n", "if x:\n  \f  new()\n  y()\n", id="form feed in the indentation"),
        pytest.param("x\n\fy()\n", "x\n\fnew()\ny()\n", id="form feed at the start"),
        pytest.param("if x: y()", "if x:\n    new()\n    y()", id="one-line body"),
        pytest.param(
            "if x: y()  # z\nelse: z()", "if x:\n    new()\n    y()  # z\nelse: z()", id="one-line body with else"
        ),
        pytest.param("if z: z()\nelse: y()", "if z: z()\nelse:\n    new()\n    y()", id="one-line else"),
        pytest.param("try: y()\nexcept E: z()", "try:\n    new()\n    y()\nexcept E: z()", id="one-line try"),
        pytest.param("try: z()\nexcept E: y()", "try: z()\nexcept E:\n    new()\n    y()", id="one-line handler"),
        pytest.param(
            "class A:\n\tdef f(x: int): y()", "class A:\n\tdef f(x: int):\n\t\tnew()\n\t\ty()", id="one-line method"
        ),
        pytest.param(
            "if (a and\n        b): y()", "if (a and\n        b):\n    new()\n    y()", id="header on two rows"
        ),
        pytest.param("if x: \\\n  y()", "if x:\n    new()\n    y()", id="line continuation behind the colon"),
        pytest.param("a; y()", "a\nnew()\ny()", id="second of a row"),
        pytest.param("y(); b", "new()\ny(); b", id="first of a row"),
        pytest.param("a ;\\\ny()", "a\nnew()\ny()", id="line continuation behind a semicolon"),
        pytest.param("if x: a; y(); b", "if x:\n    a\n    new()\n    y(); b", id="middle of a one-line body"),
        pytest.param("match m:\n  case 1: y()", "match m:\n  case 1:\n      new()\n      y()", id="one-line case"),
        pytest.param("if x[1:2]: y()", "if x[1:2]:\n    new()\n    y()", id="colon in the header"),
        pytest.param("x = '''\n'''; y()", "x = '''\n'''\nnew()\ny()", id="behind a string of two rows"),
    ],
)
def test_inserting_before(rewrite, statement, before, after):
    assert rewrite(before, lambda source, tree: insert_before(source, tree, statement(tree, "y()"), ["new()"])) == after


def test_rows_are_inserted_before_decorators(rewrite):
    def verb(source, tree):
        return insert_before(source, tree, tree.functions[0], ["new()"])

    assert rewrite("# why\n@d\n# x\n@e\ndef f(): pass\n", verb) == "# why\nnew()\n@d\n# x\n@e\ndef f(): pass\n"


def test_deeper_rows_take_the_indentation_of_the_file(rewrite, statement):
    def verb(source, tree):
        return insert_before(source, tree, statement(tree, "y()"), ["if a:", "    b()", "", "c()"])

    assert rewrite("if x:\n  y()\n", verb) == "if x:\n  if a:\n    b()\n\n  c()\n  y()\n"
    assert rewrite("if x:\n\ty()\n", verb) == "if x:\n\tif a:\n\t\tb()\n\n\tc()\n\ty()\n"
    assert rewrite("y()\n", verb) == "if a:\n    b()\n\nc()\ny()\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("y()", "y()\nnew()", id="no final line end"),
        pytest.param("y()  # z\nx\n", "y()  # z\nnew()\nx\n", id="comment"),
        pytest.param("if x:\r\n\ty()\r\nz\r\n", "if x:\r\n\ty()\r\n\tnew()\r\nz\r\n", id="CRLF and tabs"),
        pytest.param("y(); b", "y()\nnew()\nb", id="first of a row"),
        pytest.param("y();\n", "y();\nnew()\n", id="semicolon at the end"),
        pytest.param("if x: y()", "if x:\n    y()\n    new()", id="one-line body"),
        pytest.param("if x: y(); b", "if x:\n    y()\n    new()\n    b", id="first of a one-line body"),
        pytest.param("if x: a; y()", "if x:\n    a\n    y()\n    new()", id="last of a one-line body"),
        pytest.param("a; y()\n", "a; y()\nnew()\n", id="last of a row"),
        pytest.param("y(\n)  # z\nx", "y(\n)  # z\nnew()\nx", id="rows"),
    ],
)
def test_inserting_after(rewrite, statement, before, after):
    assert rewrite(before, lambda source, tree: insert_after(source, tree, statement(tree, "y()"), ["new()"])) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("for x in y:\n    a\nb\n", "for x in y:\n    a\nnew()\nb\n", id="loop"),
        pytest.param("for x in y: a\nb\n", "for x in y: a\nnew()\nb\n", id="one-line loop"),
        pytest.param(
            "for x in y:\n    a\n    # inside\n\n# outside\nb\n",
            "for x in y:\n    a\n    # inside\nnew()\n\n# outside\nb\n",
            id="comments",
        ),
        pytest.param(
            "for x in y:\n    a\nelse:\n    c\nb\n", "for x in y:\n    a\nelse:\n    c\nnew()\nb\n", id="else"
        ),
        pytest.param("for x in y:\n    a", "for x in y:\n    a\nnew()", id="no final line end"),
        pytest.param(
            "for x in y:\n    a\n    # inside",
            "for x in y:\n    a\n    # inside\nnew()",
            id="comment, no final line end",
        ),
    ],
)
def test_inserting_after_a_compound_statement(rewrite, before, after):
    assert rewrite(before, lambda source, tree: insert_after(source, tree, tree.module.body[0], ["new()"])) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(
            'def f():\n    """Doc."""\n    y()\n', 'def f():\n    """Doc."""\n    new()\n    y()\n', id="docstring"
        ),
        pytest.param('def f():\n    """Doc."""\n', 'def f():\n    """Doc."""\n    new()\n', id="only a docstring"),
        pytest.param('def f(): "Doc."', 'def f():\n    "Doc."\n    new()', id="one-line docstring"),
        pytest.param('def f(): "Doc."; y()', 'def f():\n    "Doc."\n    new()\n    y()', id="docstring in a row"),
        pytest.param("def f():\n    # why\n    y()\n", "def f():\n    # why\n    new()\n    y()\n", id="no docstring"),
        pytest.param("def f(): y()", "def f():\n    new()\n    y()", id="one-line body"),
        pytest.param(
            "def f():\n    @d\n    def g(): y()\n", "def f():\n    new()\n    @d\n    def g(): y()\n", id="decorated"
        ),
    ],
)
def test_inserting_at_the_start_of_a_body(rewrite, before, after):
    def verb(source, tree):
        return insert_at_body_start(source, tree, tree.functions[0].body, ["new()"])

    assert rewrite(before, verb) == after


@pytest.mark.parametrize("verb", [insert_before, insert_after, replace_statement])
def test_nothing_can_stand_beside_an_elif(rewrite, verb):
    def beside(source, tree):
        return verb(source, tree, tree.module.body[0].orelse[0], ["new()", "new()"])

    assert rewrite("if a:\n    b\nelif c:\n    d\n", beside) is None
    assert rewrite("if a:\n    b\nelse:\n    if c:\n        d\n", beside) is not None


def test_a_string_that_opens_a_loop_is_no_docstring(rewrite):
    def verb(source, tree):
        return insert_at_body_start(source, tree, tree.module.body[0].body, ["new()"], docstring=False)

    assert rewrite("for x in y:\n    'x'\n", verb) == "for x in y:\n    new()\n    'x'\n"


@pytest.mark.parametrize(
    ("lines", "before", "after"),
    [
        pytest.param(["a"], "if x: y()  # z", "if x: a  # z", id="one row in place"),
        pytest.param(["a", "b"], "y()  # z\n", "a\nb  # z\n", id="two rows"),
        pytest.param(["a", "b"], "if x: y(); c", "if x:\n    a\n    b; c", id="two rows in a one-line body"),
        pytest.param(["a", "b"], "if x:\n\ty(1,\n\t 2)\n", None, id="not the statement"),
    ],
)
def test_replacing_a_statement(rewrite, statement, lines, before, after):
    if after is None:
        with pytest.raises(StopIteration):
            rewrite(before, lambda source, tree: statement(tree, "y()"))
        return
    assert rewrite(before, lambda s, t: replace_statement(s, t, statement(t, "y()"), lines)) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("x.to(d)", "x = x.to(d)", id="name"),
        pytest.param("if a: self.x.to(d)  # z", "if a: self.x = self.x.to(d)  # z", id="attribute"),
        pytest.param("é; x.to(d)", "é; x = x.to(d)", id="second of a row"),
        pytest.param("f().to(d)", None, id="receiver is no name"),
        pytest.param("x[0].to(d)", None, id="receiver is an element"),
        pytest.param("to(d)", None, id="no method"),
    ],
)
def test_assigning_the_result(rewrite, call, before, after):
    assert rewrite(before, lambda s, t: assign_result(s, t, t.statement(call(t, "to")))) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("def f(): pass", "@torch.no_grad()\ndef f(): pass", id="bare"),
        pytest.param(
            "class A:\n\t@d\n\tdef f(): pass", "class A:\n\t@d\n\t@torch.no_grad()\n\tdef f(): pass", id="decorated"
        ),
        pytest.param("async def f():\r\n  pass", "@torch.no_grad()\r\nasync def f():\r\n  pass", id="async, CRLF"),
    ],
)
def test_adding_a_decorator(rewrite, before, after):
    assert rewrite(before, lambda s, t: add_decorator(s, t, t.functions[0], "torch.no_grad()")) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(
            "def f():\n    a\n\n    # why\n    if b:\n        c\n    d",
            "def f():\n    with g():\n        a\n\n        # why\n        if b:\n            c\n        d",
            id="comments and blank rows",
        ),
        pytest.param("def f():\n\ta\n", "def f():\n\twith g():\n\t\ta\n", id="tabs"),
        pytest.param("def f():\r\n  a\r\n", "def f():\r\n  with g():\r\n    a\r\n", id="CRLF"),
        pytest.param(
            "def f():\n    x = '''1\n  2\n'''\n",
            "def f():\n    with g():\n        x = '''1\n  2\n'''\n",
            id="string of many rows",
        ),
        pytest.param(
            "def f():\n    x = ('1'\n         '2')\n",
            "def f():\n    with g():\n        x = ('1'\n             '2')\n",
            id="joined strings",
        ),
        pytest.param(
            "def f():\n    x = 1 + \\\n  2\n",
            "def f():\n    with g():\n        x = 1 + \\\n      2\n",
            id="line continuation",
        ),
        pytest.param(
            "def f():\n    x = '1\\\n 2'\n", "def f():\n    with g():\n        x = '1\\\n 2'\n", id="continued string"
        ),
        pytest.param(
            "def f():\n    x = f'''{a}\n {b}'''\n    c\n",
            "def f():\n    with g():\n        x = f'''{a}\n {b}'''\n        c\n",
            id="f-string",
        ),
        pytest.param(
            "def f():\n    @d\n    def h(): pass\n",
            "def f():\n    with g():\n        @d\n        def h(): pass\n",
            id="decorated",
        ),
        pytest.param("def f(): a", None, id="one-line body"),
    ],
)
def test_wrapping_in_a_block(rewrite, before, after):
    new = rewrite(before, lambda s, t: wrap_in_block(s, t, t.functions[0].body, "with g():"))
    assert new == after
    if new is not None:
        inside = ast.parse(new).body[0].body[0].body
        assert [ast.dump(each) for each in inside] == [ast.dump(each) for each in ast.parse(before).body[0].body]
