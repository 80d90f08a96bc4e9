"""What a tag says, and when two tags are surely equal."""

from __future__ import annotations

import ast

import pytest

from torchlint.semantics.program import Program, parse
from torchlint.semantics.tags import Tag, static_tag
from torchlint.source import read_source


def tags(text: str) -> list[Tag]:
    """The tags of all calls of ``log`` in source order."""
    source = read_source("tags.py", text.encode())
    program = Program(source, parse(source))
    calls = [c for c in program.tree.calls if isinstance(c.func, ast.Name) and c.func.id == "log"]
    return [static_tag(program, call.args[0]) for call in sorted(calls, key=lambda c: c.lineno)]


@pytest.mark.parametrize(
    ("setup", "expression", "constant"),
    [
        ("", '"train/loss"', "train/loss"),
        ("", '"train" "/loss"', "train/loss"),
        ('a = "train"', 'a + "/loss"', "train/loss"),
        ('a = "train"', 'f"{a}/loss"', "train/loss"),
        ('a = "train"\nt = f"{a}/loss"', "t", "train/loss"),
        ('a = "train"', '"{}/{}".format(a, "loss")', "train/loss"),
        ('a = "train"', '"{1}/{0}".format("loss", a)', "train/loss"),
        ('a = "train"', '"{p}/loss".format(p=a)', "train/loss"),
        ('a = "train"', '"%s/%s" % (a, "loss")', "train/loss"),
        ("", '"%s/loss" % "train"', "train/loss"),
        ("", '"top%d" % 5', "top5"),
        ("", '"100%% of %s" % "x"', "100% of x"),
        ("", '"/".join(["train", "loss"])', "train/loss"),
        ("import os", 'os.path.join("train", "loss")', "train/loss"),
        ("", 'f"fold{3}/loss"', "fold3/loss"),
        ("", 'f"{x}/loss"', None),
        ("", 'f"{3:02d}"', None),
        ("", '"%(a)s" % values', None),
        ("", '"{}/{}".format(*names)', None),
        ('a = "x" if flag else "y"', "a", None),
    ],
)
def test_constant_tags(setup: str, expression: str, constant: str | None) -> None:
    assert tags(f"{setup}\nlog({expression})")[0].constant == constant


def test_the_fixed_text_shows_holes() -> None:
    assert tags("def f(x):\n    log(f'{x}/loss')")[0].text == "{}/loss"


@pytest.mark.parametrize(
    "text",
    [
        'def f(p):\n    log(f"{p}/loss")\n    log(p + "/loss")',
        'def f(p):\n    t = "%s/loss" % p\n    log(t)\n    log("{}/loss".format(p))',
        "for k, v in d.items():\n    log(k)\n    log(f'{k}')",
        "for k in d:\n    log(k)\nfor k in d:\n    log(k)",
        'def f(self):\n    log(f"{self.name}/loss")\n    log(self.name + "/loss")',
        "def f(p):\n    log(str(p))\n    log(p)",
        'def f(p):\n    log(p.replace(".", "/"))\n    log(p.replace(".", "/"))',
    ],
    ids=lambda text: text.splitlines()[-1].strip(),
)
def test_equal_tags(text: str) -> None:
    first, second = tags(text)
    assert first == second


@pytest.mark.parametrize(
    "text",
    [
        'log("loss")\nlog("Loss")',
        'def f(p):\n    log(p + "/loss")\n    log(p + "/acc")',
        "def f(p):\n    log(p)\ndef g(p):\n    log(p)",
        "def f(p):\n    log(p)\n    p = other()\n    log(p)",
        "log(name())\nlog(name())",
        'def f(self):\n    log(self.name)\n    self.name = "val"\n    log(self.name)',
        "def f(self):\n    log(self.name)\ndef g(self):\n    log(self.name)",
        "for k in d:\n    log(k)\nfor k in e:\n    log(k)",
        'def f(n):\n    log(f"{n:02d}")\n    log(f"{n:03d}")',
        "def f(flag):\n    while flag:\n        t = 'a' if flag else 'b'\n        log(t)\n        t = g(t)\n        log(t)",
    ],
    ids=lambda text: text.splitlines()[-1].strip(),
)
def test_tags_that_may_differ_are_not_equal(text: str) -> None:
    first, second = tags(text)
    assert first != second
