"""Screens that look at the layout of the text never turn away a file in which the tree has what they look for."""

from __future__ import annotations

import ast
import re
import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchlint.rules.layout_screens import Called, ForLoops, Within

MADE_HERE = Within(b"forward", (b"zeros", b"arange"), given=b"device=")
OVER_DATA = ForLoops(re.compile(rb"load|data|batch"))
DROPOUT = Called(re.compile(rb"dropout(?:\s*\(|\s+as\b)"), given=b"training=")

CALLS = (
    "torch.zeros(3)",
    "torch.zeros(3, device=d)",
    "torch.zeros(size(x, device=d))",
    "torch.zeros(len(')'), device=d)",
    "torch . arange ( 4 )",
    "zeros(\n            3, # device=d\n        )",
    "self.arange(2, device=d)",
    "other(3)",
)
DEFS = ("forward", "__init__", "helper")
LAYOUTS = ("\n", "\r\n", "\r")


def bodies() -> st.SearchStrategy[list[str]]:
    line = st.one_of(
        st.sampled_from(CALLS).map(lambda call: f"y = {call}"),
        st.just('"""Text\ndef not_a_function():\n"""'),
        st.just("def inner(z):\n    return z"),
        st.just("pass"),
    )
    return st.lists(line, min_size=1, max_size=4)


@st.composite
def classes(draw: st.DrawFn) -> str:
    """A class of several methods in one of the line ends."""
    lines = [draw(st.sampled_from(("import torch", "from torch import zeros as z", "make = torch.zeros")))]
    lines.append("class Net:")
    for name in draw(st.lists(st.sampled_from(DEFS), min_size=1, max_size=3)):
        lines.append(f"    def {name}(self, x):")
        for statement in draw(bodies()):
            first, *rest = statement.split("\n")
            inside = statement.startswith('"""')
            lines.extend([" " * 8 + first, *(line if inside else " " * 8 + line for line in rest)])
    return draw(st.sampled_from(LAYOUTS)).join(lines) + "\n"


def makes_tensor_in_forward(text: str) -> bool:
    """What the tree says: a call of a maker without ``device`` whose innermost function is ``forward``."""

    def visit(node: ast.AST, function: str) -> bool:
        if isinstance(node, ast.FunctionDef):
            function = node.name
        if isinstance(node, ast.Call) and function == "forward":
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if name in ("zeros", "arange") and all(word.arg != "device" for word in node.keywords):
                return True
        return any(visit(child, function) for child in ast.iter_child_nodes(node))

    return visit(ast.parse(text), "")


@given(classes())
def test_within_hides_no_call(text: str) -> None:
    if makes_tensor_in_forward(text):
        assert MADE_HERE.search(text.encode())


@pytest.mark.parametrize(
    ("text", "passes"),
    [
        ("class A:\n def __init__(self):\n  self.a = zeros(3)\n def forward(self, x):\n  return x\n", False),
        ("class A:\n def forward(self, x):\n  return x\n def other(self):\n  return zeros(3)\n", False),
        ("class A:\n def forward(self, x):\n  return x + zeros(3, device=x.device)\n", False),
        ("class A:\n def forward(self, x): return x + zeros(3)\n", True),
        ("class A:\n async def forward(self, x):\n  return zeros(3)\n", True),
        ("from torch import zeros as z\nclass A:\n def forward(self, x):\n  return z(3)\n", True),
        ("make = torch.zeros\nclass A:\n def forward(self, x):\n  return make(3)\n", True),
        ("class A:\r def forward(self, x):\r  return zeros(3)\r", True),
        ("class A:\n def forward(self, x):\n  '''\ndef f(): pass\n  '''\n  return zeros(3)\n", True),
    ],
)
def test_within(text: str, passes: bool) -> None:
    assert bool(MADE_HERE.search(text.encode())) is passes


ITERABLES = (
    "loader",
    "range(batch)",
    "range(batch)[data]",
    "enumerate(zip(a, self.data))",
    "(\n    batches\n)",
    "\\\n  loader",
    "[')', data]",
    "['data']",
    "items",
    "x # loader:\n",
    "{'a': data}.items()",
    "f(':', batch)[0]",
    "others if a else loader",
)


def loops_over_data(text: str) -> bool:
    """What the tree says, ``range(…)`` and text in quotes left out."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.For | ast.AsyncFor):
            plain = isinstance(node.iter, ast.Call) and getattr(node.iter.func, "id", "") == "range"
            names = [getattr(n, "attr", getattr(n, "id", "")) for n in ast.walk(node.iter)]
            if not plain and any(re.search("load|data|batch", name) for name in names):
                return True
    return False


@given(
    st.lists(
        st.tuples(st.sampled_from(("for", "async for", "  for", "y = [x for")), st.sampled_from(ITERABLES)), min_size=1
    ),
    st.sampled_from(LAYOUTS),
)
def test_for_loops_hide_no_loop(parts: list[tuple[str, str]], end: str) -> None:
    lines = []
    for start, iterable in parts:
        close = "]" if "[" in start else ": pass"
        indent = "if a:\n" if start.startswith(" ") else ""
        lines.append(f"{indent}{start} x in {iterable}{close}")
    text = "async def f():\n" + textwrap.indent("\n".join(lines), " ")
    try:
        found = loops_over_data(text)
    except SyntaxError:
        return
    if found:
        assert OVER_DATA.search(text.replace("\n", end).encode())


@pytest.mark.parametrize(
    ("text", "passes"),
    [
        ("for x in range(len(data)):\n  pass\n", False),
        ("y = [\n x\n for x in batches\n]\n", False),
        ("for i in items:  # the batch\n  pass\n", False),
        ("for x in items:\n  load(x)\n", False),
        ("for x in tqdm(\n  loader\n):\n  pass\n", True),
    ],
)
def test_for_loops(text: str, passes: bool) -> None:
    assert OVER_DATA.search(text.encode()) is passes


@pytest.mark.parametrize(
    ("text", "passes"),
    [
        ("F.dropout(x)", True),
        ("F.dropout(x, 0.1, training=self.training)", False),
        ("F.dropout(f(x, training=True))", True),
        ("F.dropout(x, p=')', training=True)", True),  # unsure where the call ends
        ("self.dropout(x)", False),
        ("from torch.nn.functional import dropout as drop", True),
    ],
)
def test_called(text: str, passes: bool) -> None:
    assert DROPOUT.search(text.encode()) is passes
