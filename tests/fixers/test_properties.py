"""Random layouts: the result parses, means the same plus the change, and every byte outside the edits is as it was."""

from __future__ import annotations

import ast

from hypothesis import given, settings
from hypothesis import strategies as st

from torchlint.fixers.arguments import add_keyword, remove_argument
from torchlint.fixers.modes import surround_with_mode
from torchlint.fixers.statements import insert_after, insert_before, wrap_in_block
from torchlint.semantics.program import parse
from torchlint.semantics.tree import build_tree
from torchlint.source import apply_edits, read_source

BLANKS = st.sampled_from(["", " ", "\n    ", "  # c, (d) 'e\n    ", "\n\n\t", " \\\n  ", "\f"])
VALUES = st.sampled_from(
    ["a", "1", "(b)", "g(1, c)", "'s,('", "[\n1,\n]", "x.y", "(\n(z))", "lambda: 0", "é", "*q", "(i for i in j)"]
)


@st.composite
def calls(draw: st.DrawFn) -> str:
    """A call of ``f`` in any layout the grammar allows."""
    arguments = draw(st.lists(VALUES, max_size=4))
    arguments += [f"k{index}={draw(VALUES.filter(lambda v: v[0] != '*'))}" for index in range(draw(st.integers(0, 3)))]
    parts = [draw(BLANKS) + each + draw(BLANKS) for each in arguments]
    inside = ",".join(parts) + ("," + draw(BLANKS) if parts and draw(st.booleans()) else "")
    head = draw(st.sampled_from(["", "y = ", "if x: ", "ü; ", "h(", "lambda: "]))
    return f"{head}f{draw(st.sampled_from(['', ' ']))}({inside}){')' if head == 'h(' else ''}"


def read(code: str, newline: str):
    source = read_source("x.py", code.replace("\n", newline).encode())
    return source, build_tree(parse(source))


def outside(text: str, edits) -> str:
    return apply_edits(text, tuple(type(edit)(edit.start, edit.end, "") for edit in edits))


NEWLINES = st.sampled_from(["\n", "\r\n", "\r"])


@given(calls(), NEWLINES)
@settings(max_examples=300)
def test_adding_a_keyword(code, newline):
    source, tree = read(code, newline)
    call = next(each for each in tree.calls if getattr(each.func, "id", "") == "f")
    edits = add_keyword(source, tree, call, "new", "4", allow_unpacking=True)
    assert edits is not None
    after = apply_edits(source.text, edits)
    call.keywords.append(ast.keyword("new", ast.Constant(4)))
    assert ast.dump(ast.parse(after)) == ast.dump(tree.module)
    assert len(after) == len(source.text) + sum(len(edit.text) - (edit.end - edit.start) for edit in edits)
    assert all(not source.text[edit.start : edit.end].strip(" \t\f") for edit in edits), "only blanks are replaced"


@given(calls(), NEWLINES, st.data())
@settings(max_examples=300)
def test_removing_an_argument(code, newline, data):
    source, tree = read(code, newline)
    call = next(each for each in tree.calls if getattr(each.func, "id", "") == "f")
    nodes = [*call.args, *call.keywords]
    if not nodes:
        return
    node = data.draw(st.sampled_from(nodes))
    edits = remove_argument(source, tree, call, node)
    assert edits is not None
    after = apply_edits(source.text, edits)
    call.args = [each for each in call.args if each is not node]
    call.keywords = [each for each in call.keywords if each is not node]
    assert ast.dump(ast.parse(after)) == ast.dump(tree.module)


LEAVES = [
    "y()",
    "a = 1",
    "s = '''1\n  2'''",
    "z(\n  1,\n)",
    "return y()",
    "return 0",
    "# note",
    "",
    "w = 1 + \\\n 2",
    "p(); q()",
    "pass; pass;",
]
HEADERS = ["if a:", "for i in j:", "while b:", "with c as d:", "else_", "elif_", "try_"]


@st.composite
def blocks(draw: st.DrawFn, indent: str, unit: str, depth: int = 0) -> list[str]:
    """The rows of a function body."""
    rows: list[str] = []
    for _ in range(draw(st.integers(1, 3))):
        if depth < 3 and draw(st.booleans()):
            header = draw(st.sampled_from(HEADERS))
            if header == "else_":
                rows += [indent + "if a:", *draw(blocks(indent + unit, unit, depth + 1)), indent + "else:"]
            elif header == "elif_":
                rows += [indent + "if a:", *draw(blocks(indent + unit, unit, depth + 1)), indent + "elif b:"]
            elif header == "try_":
                rows += [indent + "try:", *draw(blocks(indent + unit, unit, depth + 1)), indent + "except E:"]
            elif draw(st.booleans()):
                rows.append(indent + header + " " + draw(st.sampled_from(["y()", "return y()", "p(); q()"])))
                continue
            else:
                rows.append(indent + header)
            rows += draw(blocks(indent + unit, unit, depth + 1))
        else:
            rows.append(indent + draw(st.sampled_from(LEAVES)))
    rows.append(indent + draw(st.sampled_from(["y()", "return y()", "pass  # end"])))
    return rows


@st.composite
def functions(draw: st.DrawFn) -> str:
    unit = draw(st.sampled_from(["    ", "\t", "  "]))
    doc = draw(st.sampled_from([[], [unit + '"""Doc."""']]))
    return "\n".join(["def f(model):", *doc, *draw(blocks(unit, unit))]) + draw(
        st.sampled_from(["", "\n", "\n\n# end\n"])
    )


@given(functions(), NEWLINES, st.data())
@settings(max_examples=300, deadline=None)
def test_inserting_beside_any_statement(code, newline, data):
    source, tree = read(code, newline)
    statement = data.draw(st.sampled_from(list(tree.blocks)))
    verb = data.draw(st.sampled_from([insert_before, insert_after]))
    edits = verb(source, tree, statement, ["new()"])
    if edits is None:
        assert source.line(statement.lineno).lstrip().startswith("elif")
        return
    after = apply_edits(source.text, edits)
    block, index = tree.blocks[statement]
    block.insert(index + (verb is insert_after), ast.parse("new()").body[0])
    assert ast.dump(ast.parse(after)) == ast.dump(tree.module)


@given(functions(), NEWLINES)
@settings(max_examples=200, deadline=None)
def test_wrapping_a_body(code, newline):
    source, tree = read(code, newline)
    body = tree.functions[0].body
    edits = wrap_in_block(source, tree, body, "with g():")
    assert edits is not None
    wrapped = ast.parse(apply_edits(source.text, edits)).body[0].body
    assert len(wrapped) == 1
    assert [ast.dump(each) for each in wrapped[0].body] == [ast.dump(each) for each in body]


@given(functions(), NEWLINES)
@settings(max_examples=200, deadline=None)
def test_the_mode_is_restored_on_every_path(code, newline):
    source, tree = read(code, newline)
    edits = surround_with_mode(source, tree, tree.functions[0].body, "model", set())
    if edits is None:
        assert [ast.unparse(each) for each in tree.functions[0].body] == ["'''Doc.'''"]
        return
    after = ast.parse(apply_edits(source.text, edits))
    returns = [each for each in ast.walk(after) if isinstance(each, ast.Return)]
    blocks = [
        block
        for node in ast.walk(after)
        for name in ("body", "orelse", "finalbody")
        if (block := getattr(node, name, None))
    ]
    for each in returns:
        block = next(block for block in blocks if each in block)
        assert ast.unparse(block[block.index(each) - 1]) == "model.train(was_training)"
        assert not any(isinstance(node, ast.Call) for node in ast.walk(each)), "what runs must run before the restore"
    body = after.body[0].body
    start = 1 if ast.get_docstring(after.body[0]) else 0
    assert [ast.unparse(each) for each in body[start : start + 2]] == ["was_training = model.training", "model.eval()"]
