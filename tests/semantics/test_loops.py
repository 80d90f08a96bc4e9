"""What varies in a loop, and which loops run over series."""

from __future__ import annotations

import ast

import pytest

from torchlint.semantics.loops import Varies, series_loop, varies
from torchlint.semantics.program import Program, parse
from torchlint.source import read_source


def first_loop(text: str) -> tuple[Program, ast.For, ast.expr]:
    """The first ``for`` statement, and the argument of ``use``."""
    source = read_source("loops.py", text.encode())
    program = Program(source, parse(source))
    loop = next(n for n in program.tree.nodes if isinstance(n, ast.For))
    used = [c for c in program.tree.calls if isinstance(c.func, ast.Name) and c.func.id == "use"]
    return program, loop, used[0].args[0] if used else loop.iter


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("for i in r:\n    use('loss')", Varies.NO),
        ("for i in r:\n    use(i)", Varies.YES),
        ("for i in r:\n    use(f'{i}/x')", Varies.YES),
        ("e = 1\nfor i in r:\n    use(e)", Varies.NO),
        ("for i in r:\n    t = 'a' + i\n    use(t)", Varies.YES),
        ("for i in r:\n    t = 'a'\n    use(t)", Varies.NO),
        ("n = 0\nfor i in r:\n    n += 1\n    use(n)", Varies.YES),
        ("n = 0\nfor i in r:\n    use(n)\n    n = n + 1", Varies.YES),
        ("for p in r:\n    for i, b in enumerate(p):\n        use(i)", Varies.NO),
        ("for p in r:\n    for i, b in enumerate(p):\n        use(b)", Varies.YES),
        ("for p in r:\n    for i, (b, c) in enumerate(p):\n        use(b)", Varies.YES),
        ("for p in r:\n    for i in range(3):\n        use(i)", Varies.NO),
        ("for p in r:\n    for i in range(p, 9):\n        use(i)", Varies.YES),
        ("def f(self):\n    for i in r:\n        use(self.step)", Varies.NO),
        ("def f(self):\n    for i in r:\n        self.step += 1\n        use(self.step)", Varies.YES),
        ("def f(self):\n    for i in r:\n        self.train(i)\n        use(self.step)", Varies.MAYBE),
        ("def f(self):\n    for i in r:\n        self.sums[i] = 0\n        use(self.step)", Varies.NO),
        ("for i in r:\n    use(next(counter))", Varies.MAYBE),
        ("for i in r:\n    use(len(data))", Varies.NO),
    ],
)
def test_varies(text: str, expected: Varies) -> None:
    program, loop, used = first_loop(text)
    assert varies(program, used, loop) is expected


@pytest.mark.parametrize(
    ("header", "key"),
    [
        ("for name, p in model.named_parameters()", "name"),
        ("for key, value in metrics.items()", "key"),
        ("for i, (key, value) in enumerate(metrics.items())", "key"),
        ("for p in model.parameters()", None),
        ("for i, p in enumerate(model.parameters())", "i"),
        ("for key in sorted(metrics.keys())", "key"),
        ("for phase in ('train', 'val')", "phase"),
        ("for phase, loader in [('train', a), ('val', b)]", "phase"),
        ("for name, value in zip(['a', 'b'], values)", "name"),
        ("for name in class_names", "name"),
        ("for c in range(num_classes)", "c"),
        ("for i, group in enumerate(optimizer.param_groups)", "i"),
    ],
)
def test_loops_over_series(header: str, key: str | None) -> None:
    program, loop, _ = first_loop(f"{header}:\n    pass")
    found = series_loop(program, loop)
    assert found is not None
    assert (found.key.id if found.key is not None else None) == key


def test_a_dict_is_known_by_its_use() -> None:
    program, loop, _ = first_loop("for k in sums:\n    use(sums[k])")
    assert series_loop(program, loop) is not None


@pytest.mark.parametrize(
    "header",
    [
        "for batch in loader",
        "for i, batch in enumerate(train_loader)",
        "for epoch in range(epochs)",
        "for info in infos['final_info']",
        "for i in range(num_envs)",
        "for lr in (0.1, 0.01)",
        "for group in optimizer.param_groups",
    ],
)
def test_other_loops(header: str) -> None:
    program, loop, _ = first_loop(f"{header}:\n    pass")
    assert series_loop(program, loop) is None
