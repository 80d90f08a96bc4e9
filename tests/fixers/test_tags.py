from __future__ import annotations

import pytest

from torchlint.fixers.tags import add_field, add_prefix, replace_in_tag, set_literal


def tag(tree):
    return tree.calls[0].args[0]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("w('loss')", "w('train/loss')", id="constant"),
        pytest.param('w("loss")', 'w("train/loss")', id="double quotes"),
        pytest.param("w('''loss''')", "w('''train/loss''')", id="three quotes"),
        pytest.param("w(r'a\\d')", "w(r'train/a\\d')", id="raw"),
        pytest.param("w('a' 'b')", "w('train/a' 'b')", id="joined"),
        pytest.param("w(('a'\n   f'{b}'))", "w(('train/a'\n   f'{b}'))", id="joined on rows"),
        pytest.param("w(f'{x}/loss')", "w(f'train/{x}/loss')", id="f-string"),
        pytest.param("w('loss_%d' % i)", "w('train/loss_%d' % i)", id="percent"),
        pytest.param("w('{}_l'.format(i))", "w('train/{}_l'.format(i))", id="format"),
        pytest.param("w('b' + a)", "w('train/b' + a)", id="sum"),
        pytest.param("w(a + 'b')", "w('train/' + a + 'b')", id="sum that begins with a name"),
        pytest.param('w(a, "x")', 'w("train/" + a, "x")', id="name, quotes of the file"),
        pytest.param("w(a if b else c)", "w('train/' + (a if b else c))", id="choice"),
        pytest.param("w(str(x))", "w('train/' + str(x))", id="call"),
        pytest.param("é('ü')", "é('train/ü')", id="wide characters"),
    ],
)
def test_prefix(rewrite, before, after):
    if after is not None and '"' not in before:
        before, after = "'" + "'\n" + before, "'" + "'\n" + after  # single quotes are the custom here
    assert rewrite(before, lambda s, t: add_prefix(s, t, tag(t), "train/")) == after


@pytest.mark.parametrize(
    ("before", "text", "after"),
    [
        pytest.param("w('x')", "it's/", "w('it\\'s/x')", id="quote"),
        pytest.param("w(r'x')", "it's/", None, id="quote in a raw string"),
        pytest.param("w(f'{x}')", "{a}/", "w(f'{{a}}/{x}')", id="braces in an f-string"),
        pytest.param("w('%d' % x)", "5%/", "w('5%%/%d' % x)", id="percent in a template"),
        pytest.param("w('{}'.format(x))", "{a}/", "w('{{a}}/{}'.format(x))", id="braces in a template"),
        pytest.param("w('x')", "a\\b/", "w('a\\\\b/x')", id="backslash"),
    ],
)
def test_prefixes_are_escaped(rewrite, before, text, after):
    assert rewrite(before, lambda s, t: add_prefix(s, t, tag(t), text)) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("w('loss')", "w(f'loss/{name}')", id="constant"),
        pytest.param('w("""loss""")', 'w(f"""loss/{name}""")', id="three quotes"),
        pytest.param("w('a{b}')", "w(f'a{{b}}/{name}')", id="braces"),
        pytest.param("w(r'a\\d')", "w(fr'a\\d/{name}')", id="raw"),
        pytest.param("w(u'loss')", "w(f'loss/{name}')", id="unicode prefix"),
        pytest.param("w(f'{x}')", "w(f'{x}/{name}')", id="f-string"),
        pytest.param("w('a' 'b')", "w('a' f'b/{name}')", id="joined"),
        pytest.param("w(a + 'b')", "w(a + f'b/{name}')", id="sum"),
        pytest.param("w('b' + a)", "w('b' + a + f'/{name}')", id="sum that ends with a name"),
        pytest.param("w('%d' % i)", "w('%d' % i + f'/{name}')", id="percent"),
        pytest.param("w('\\N{BULLET}')", None, id="named character"),
        pytest.param("w(b'x')", "w(b'x' + f'/{name}')", id="bytes are the caller's care"),
    ],
)
def test_field(rewrite, before, after):
    before, after = "''\n" + before, after and "''\n" + after
    assert rewrite(before, lambda s, t: add_field(s, t, tag(t), "name")) == after


def test_field_first(rewrite):
    assert (
        rewrite("w('loss')", lambda s, t: add_field(s, t, tag(t), "self.k[i]", first=True)) == "w(f'{self.k[i]}/loss')"
    )
    assert (
        rewrite("w('a', x)", lambda s, t: add_field(s, t, t.calls[0].args[1], "k", first=True)) == "w('a', f'{k}/' + x)"
    )


@pytest.mark.parametrize(
    "field", ["d['a']", 'd["a"]', "{1}", "a if b else c", "lambda: 1", "a:b", "x!r", "a\\b", "a #", "a b"]
)
def test_fields_that_an_fstring_may_not_hold(rewrite, field):
    assert rewrite("w('loss')", lambda s, t: add_field(s, t, tag(t), field)) is None


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("w('a')", "w('val/loss')", id="constant"),
        pytest.param('w(u"a")', 'w(u"val/loss")', id="prefix and quotes"),
        pytest.param("w('a' 'b')", None, id="joined"),
        pytest.param("w(f'{a}')", None, id="f-string"),
        pytest.param("w(1)", None, id="number"),
        pytest.param("w(f'''{'a'}''')", None, id="f-string with a string"),
    ],
)
def test_setting_a_literal(rewrite, before, after):
    assert rewrite(before, lambda s, t: set_literal(s, t, tag(t), "val/loss")) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("w('train_loss')", "w('val_loss')", id="constant"),
        pytest.param("w(f'{x}/train')", "w(f'{x}/val')", id="f-string"),
        pytest.param("w(f'{train}/x')", None, id="in a field"),
        pytest.param("w('train/train')", None, id="twice"),
        pytest.param("w('test')", None, id="absent"),
        pytest.param("w('%d/train' % i)", "w('%d/val' % i)", id="percent"),
        pytest.param("w('a\\train')", None, id="half of an escape"),
        pytest.param("w('a' 'train')", "w('a' 'val')", id="joined"),
    ],
)
def test_replacing_a_part(rewrite, before, after):
    assert rewrite(before, lambda s, t: replace_in_tag(s, t, tag(t), "train", "val")) == after
