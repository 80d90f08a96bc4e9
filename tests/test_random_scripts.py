"""Whatever the layout: what is wrong is found and nothing else, fixes hold, and every way to run gives the same."""

from __future__ import annotations

import ast
import io
import json
import random
import sys
import tempfile
import tokenize
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from torchlint.cache import Cache
from torchlint.engine import check
from torchlint.findings import Finding
from torchlint.fixing import edited, fix_source
from torchlint.inspection import inspect
from torchlint.notebook import read_notebook
from torchlint.rules.rule import builtin_rules
from torchlint.runner import run
from torchlint.silencing import silence
from torchlint.source import SourceError, apply_edits, read_source
from torchlint.tasks import Plan, Task
from torchlint.testing import screen_holds

from .scripts import CODES, Script, scripts

ALL = [rule() for rule in builtin_rules()]
FIVE = [rule for rule in ALL if rule.code in CODES]


def codes(findings: tuple[Finding, ...]) -> dict[str, int]:
    return dict(Counter(finding.code for finding in findings))


@given(scripts())
@settings(max_examples=60)
def test_pitfalls_are_found_and_look_alikes_are_not(script: Script) -> None:
    assert codes(check(read_source("x.py", script.text.encode()), FIVE).findings) == script.codes


@given(scripts())
@settings(max_examples=40)
def test_fixing_cures_and_changes_nothing_else(script: Script) -> None:
    source = read_source("x.py", script.text.encode())
    fixed = fix_source(source, FIVE, unsafe=True)
    assert fixed.problems == fixed.remaining == ()
    assert codes(fixed.applied) == script.codes
    assert fixed.source.text == apply_edits(source.text, fixed.edits)
    assert not fix_source(fixed.source, FIVE, unsafe=True).changed
    for text in script.sound:
        assert text in fixed.source.text
    before, after = (
        {node.name: ast.dump(node) for node in ast.parse(each.text).body if isinstance(node, ast.FunctionDef)}
        for each in (source, fixed.source)
    )
    assert before.keys() == after.keys()
    assert sum(before[name] != after[name] for name in before) == len(script.expected)


@given(scripts(), st.data())
@settings(max_examples=30)
def test_a_comment_silences_and_its_removal_brings_the_finding_back(script: Script, data: st.DataObject) -> None:
    source = read_source("x.py", script.text.encode())
    found = inspect(source, FIVE).findings
    chosen = [finding for finding in found if data.draw(st.booleans())]
    edits, stubborn = silence(source, chosen)
    assert not stubborn
    silenced = edited(source, edits)
    assert ast.dump(ast.parse(silenced.text)) == ast.dump(ast.parse(source.text))
    left = inspect(silenced, FIVE)
    assert codes(left.findings) == codes(tuple(finding for finding in found if finding not in chosen))
    assert left.silenced == len(chosen)
    assert inspect(read_source("x.py", source.raw), FIVE).findings == found


@given(scripts())
@settings(max_examples=30)
def test_a_notebook_and_a_module_give_the_same(script: Script) -> None:
    text = script.text.replace("\r\n", "\n").replace("\r", "\n")
    cell = {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": text}
    raw = json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 4}).encode()
    module, notebook = read_source("x.py", text.encode()), read_notebook("x.ipynb", raw)
    places = [
        [(finding.code, finding.span, finding.message) for finding in check(source, FIVE).findings]
        for source in (module, notebook)
    ]
    assert places[0] == places[1]


@given(st.lists(scripts(), min_size=1, max_size=4))
@settings(max_examples=8)
def test_cached_and_parallel_runs_give_the_same(made: list[Script]) -> None:
    plan = Plan(tuple(type(rule) for rule in FIVE))
    with ThreadPoolExecutor(2) as executor, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "setup.py").touch()  # a project, whose list of files an entry may depend on
        for number, script in enumerate(made):
            (folder / f"file_{number}.py").write_bytes(script.text.encode())
        tasks = [Task(str(path), plan) for path in sorted(folder.glob("file_*.py"))]
        fresh = list(run(tasks))
        store = Cache(str(folder / "cache"))
        assert list(run(tasks, executor=executor)) == fresh
        assert list(run(tasks, store=store)) == fresh
        kept = [store.get(task, Path(task.path).read_bytes()) for task in tasks]
        assert kept == fresh, "an entry is missing, so this shows nothing"
        assert list(run(tasks, store=store)) == fresh


def sound(raw: bytes) -> bool:
    """Check and fix bytes of any kind; whether they parse. No rule may fail, and what is fixed must hold."""
    try:
        source = read_source("x.py", raw)
    except SourceError:
        return False
    fixed = fix_source(source, ALL, unsafe=True)
    assert not [problem for problem in fixed.problems if "internal" in problem.message], fixed.problems
    assert fixed.source.raw == (source.encode(apply_edits(source.text, fixed.edits)) if fixed.edits else raw)
    return not fixed.problems


@given(scripts(), st.integers(0, 2**32))
@settings(max_examples=60)
def test_scripts_with_tokens_lost_doubled_and_moved(script: Script, seed: int) -> None:
    chance = random.Random(seed)
    tokens = [each.string for each in tokenize.generate_tokens(io.StringIO(script.text, newline="").readline)]
    for _ in range(chance.randint(1, 4)):
        at, to = chance.randrange(len(tokens)), chance.randrange(len(tokens))
        kind = chance.randrange(3)
        if kind == 0:
            tokens[at] = chance.choice([*tokens, "lambda", "yield", "await", "**", ":=", "match", "global"])
        elif kind == 1:
            tokens.insert(to, tokens[at])
        else:
            tokens.insert(to, tokens.pop(at))
    sound(" ".join(tokens).encode("utf-8", "surrogatepass"))


@given(scripts(), st.lists(st.tuples(st.integers(0, 5000), st.integers(0, 255)), min_size=1, max_size=3))
@settings(max_examples=60)
def test_scripts_with_bytes_changed(script: Script, changes: list[tuple[int, int]]) -> None:
    raw = bytearray(script.text.encode())
    for at, byte in changes:
        raw[at % len(raw)] = byte
    sound(bytes(raw))


def test_damage_leaves_some_scripts_whole() -> None:
    """The properties of damaged scripts would be idle if none of them parsed."""
    seen = []

    @given(scripts(), st.integers(0, 5000))
    @settings(max_examples=20, database=None, derandomize=True)
    def damage(script: Script, at: int) -> None:
        raw = bytearray(script.text.encode())
        raw[at % len(raw)] = ord("x")
        seen.append(sound(bytes(raw)))

    damage()
    assert True in seen
    assert False in seen


@pytest.mark.skipif(sys.version_info < (3, 11), reason="hypothesmith is among the dependencies from Python 3.11 on")
def test_programs_of_any_kind_crash_no_rule() -> None:
    import hypothesmith

    @given(hypothesmith.from_node(auto_target=False))
    @settings(max_examples=5)
    def programs(code: str) -> None:
        for rule in ALL:
            screen_holds(read_source("x.py", code.encode()), type(rule))

    programs()
