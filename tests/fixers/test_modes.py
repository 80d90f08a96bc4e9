from __future__ import annotations

import textwrap

import pytest

from torchlint.fixers.modes import always_leaves, fresh_name, insert_before_each_exit, surround_with_mode
from torchlint.semantics.program import parse
from torchlint.source import read_source

BODIES = [
    pytest.param(
        """
        def f(model, loader):
            '''Doc.'''
            total = 0
            for x in loader:
                total += model(x)
            return total / len(loader)
        """,
        """
        def f(model, loader):
            '''Doc.'''
            was_training = model.training
            model.eval()
            total = 0
            for x in loader:
                total += model(x)
            model.train(was_training)
            return total / len(loader)
        """,
        id="a plain value is returned after the restore",
    ),
    pytest.param(
        """
        def f(model, x):
            with torch.no_grad():
                return model(x)  # logits
        """,
        """
        def f(model, x):
            was_training = model.training
            model.eval()
            with torch.no_grad():
                result = model(x)
                model.train(was_training)
                return result  # logits
        """,
        id="a returned call of the model runs before the restore",
    ),
    pytest.param(
        "def f(model, x): return model(x)",
        """
        def f(model, x):
            was_training = model.training
            model.eval()
            result = model(x)
            model.train(was_training)
            return result""",
        id="one-line function",
    ),
    pytest.param(
        """
        def f(model, xs):
            for x in xs:
                if x is None: return
                if not x: continue
                while x:
                    break
                model(x)
        """,
        """
        def f(model, xs):
            was_training = model.training
            model.eval()
            for x in xs:
                if x is None:
                    model.train(was_training)
                    return
                if not x: continue
                while x:
                    break
                model(x)
            model.train(was_training)
        """,
        id="every exit, and only exits",
    ),
    pytest.param(
        """
        def f(model, x):
            if x:
                return 0
            else:
                return x, (model(1),
                           2)
        """,
        """
        def f(model, x):
            was_training = model.training
            model.eval()
            if x:
                model.train(was_training)
                return 0
            else:
                result = x, (model(1),
                           2)
                model.train(was_training)
                return result
        """,
        id="nothing behind a region that never ends",
    ),
    pytest.param(
        """
        def f(model, x):
            def inner():
                return 1
            g = lambda: 2
            model(x)
        """,
        """
        def f(model, x):
            was_training = model.training
            model.eval()
            def inner():
                return 1
            g = lambda: 2
            model(x)
            model.train(was_training)
        """,
        id="exits of inner functions are not exits",
    ),
]


@pytest.mark.parametrize(("before", "after"), BODIES)
def test_a_body_is_surrounded(rewrite, before, after):
    before, after = textwrap.dedent(before), textwrap.dedent(after).lstrip("\n")
    before = before.lstrip("\n")

    def verb(source, tree):
        return surround_with_mode(source, tree, tree.functions[0].body, "model", set())

    assert rewrite(before, verb) == after


def test_a_statement_of_a_loop_is_surrounded(rewrite):
    before = textwrap.dedent("""\
        for epoch in epochs:
            train(model)
            with torch.no_grad():
                for x in val:
                    if x.bad: continue
                    model(x)
                if stop: break
            save(model)
        """)
    after = textwrap.dedent("""\
        for epoch in epochs:
            train(model)
            was_training_2 = self.net.training
            self.net.eval()
            with torch.no_grad():
                for x in val:
                    if x.bad: continue
                    model(x)
                if stop:
                    self.net.train(was_training_2)
                    break
            self.net.train(was_training_2)
            save(model)
        """)

    def verb(source, tree):
        return surround_with_mode(source, tree, tree.withs, "self.net", {"was_training"})

    assert rewrite(before, verb) == after


@pytest.mark.parametrize(
    "code",
    [
        pytest.param("def f(model, x):\n    yield model(x)\n", id="yield"),
        pytest.param("async def f(model, x):\n    await model(x)\n", id="await"),
        pytest.param("async def f(model, xs):\n    async for x in xs:\n        model(x)\n", id="async for"),
        pytest.param("def f(model): 'Doc.'\n", id="nothing but a docstring"),
    ],
)
def test_refused(rewrite, code):
    assert rewrite(code, lambda s, t: surround_with_mode(s, t, t.functions[0].body, "model", set())) is None


@pytest.mark.parametrize(
    ("value", "bound"),
    [
        ("total", False),
        ("total / len(loader)", False),
        ("{'loss': loss.item(), 'n': [1, 2]}", False),
        ("torch.cat(outputs), losses.mean()", False),
        ("model(x)", True),
        ("model", True),
        ("evaluate(x)", True),
        ("self.run()", True),
        ("max(xs, key=model)", True),
    ],
)
def test_which_returned_values_are_bound_first(rewrite, value, bound):
    def verb(source, tree):
        return insert_before_each_exit(source, tree, tree.functions[0].body, "model", ["done()"], {"result"})

    expected = f"result_2 = {value}\n    done()\n    return result_2" if bound else f"done()\n    return {value}"
    assert rewrite(f"def f():\n    return {value}\n", verb) == f"def f():\n    {expected}\n"


@pytest.mark.parametrize(
    ("body", "leaves"),
    [
        ("return", True),
        ("raise x", True),
        ("x", False),
        ("if a: return\nelse: raise b", True),
        ("if a: return", False),
        ("with torch.no_grad(): return", True),
        ("with suppress(E): return", False),
        ("try: return\nexcept E: raise", True),
        ("try: return\nexcept E: pass", False),
        ("try: x\nfinally: return", True),
    ],
)
def test_whether_the_end_of_a_block_is_reached(body, leaves):
    code = "def f():\n" + textwrap.indent(body, "    ")
    assert always_leaves(parse(read_source("x.py", code.encode())).body[0].body) is leaves


def test_fresh_names():
    assert fresh_name("result", ()) == "result"
    assert fresh_name("result", {"result", "result_2"}) == "result_3"
