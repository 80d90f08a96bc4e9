"""Deep and long files: findings as ever, or one clear error; never a crash, and no trace of the raised recursion limit."""

from __future__ import annotations

import sys

import pytest

from torchlint.engine import check
from torchlint.rules.rule import builtin_rules
from torchlint.source import read_source

HEAD = "import torch\nstate = torch.load('x')\n"
TAIL = "\nwith torch.no_grad():\n    y = model(x)\nfor batch in loader:\n    model(batch)\n"
RULES = [rule() for rule in builtin_rules() if rule.default]
SHAPES = {
    "sum of 2,000 terms": "total = " + " + ".join(f"part({n})" for n in range(2000)),
    "900 calls in a chain": "x = a" + ".b(1)" * 900,
    "80 nested calls": "x = " + "f(" * 80 + "1" + ")" * 80,
    "300 branches in a chain": "if a == 0:\n    x = 0\n"
    + "".join(f"elif a == {n}:\n    x = {n}\n" for n in range(1, 300)),
    "500 branches in a row": "".join(f"if a == {n}:\n    x = {n}\n    model.eval()\n" for n in range(500)),
    "dict of 20,000 lines": "D = {\n" + "".join(f"    'k{n}': {n},\n" for n in range(20_000)) + "}",
    "6,000 lines": "".join(f"def layer_{n}(x):\n    y = x * {n}\n    return y\n\n" for n in range(1500)),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_the_finding_is_found(shape: str) -> None:
    source = read_source("deep.py", (HEAD + SHAPES[shape] + TAIL).encode())
    checked = check(source, RULES)
    assert checked.problems == ()
    assert [(finding.code, finding.span.row) for finding in checked.findings if finding.code == "TL501"] == [
        ("TL501", 2)
    ]


@pytest.mark.parametrize("text", ["x = " + "(" * 5000 + ")" * 5000, "x = " + "-" * 100_000 + "1"])
def test_what_python_cannot_parse_is_one_error(text: str) -> None:
    checked = check(read_source("deep.py", (HEAD + text).encode()), RULES)
    assert len(checked.problems) == 1
    assert checked.findings == ()


def test_the_recursion_limit_is_put_back() -> None:
    before = sys.getrecursionlimit()
    check(read_source("a.py", HEAD.encode()), RULES)
    assert sys.getrecursionlimit() == before
