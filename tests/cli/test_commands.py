"""``rule``, ``clean`` and the commands of the extras."""

from __future__ import annotations

import importlib.util
import json
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from torchlint.commands import forward, watching
from torchlint.commands.options import Options
from torchlint.selection import available_rules

from .conftest import Run

Torchlint = Callable[..., Run]


def test_the_table_lists_all_rules(torchlint: Torchlint) -> None:
    result = torchlint("rule")
    assert result.code == 0
    lines = result.out.splitlines()
    assert [line.split()[:3] for line in lines[: len(available_rules())]] == [
        [rule.code, rule.name, rule.severity.value] for rule in available_rules()
    ]


@pytest.mark.parametrize("name", ["TL501", "tl501", "unmapped-load"])
def test_a_rule_shows_its_documentation(torchlint: Torchlint, name: str) -> None:
    result = torchlint("rule", name)
    assert result.code == 0
    assert result.out.startswith("# TL501 unmapped-load (error)\n\n")
    positions = [result.out.index(f"## {title}") for title in ("What it does", "Example", "Stays quiet when")]
    assert positions == sorted(positions)


def test_a_prefix_shows_several(torchlint: Torchlint) -> None:
    out = torchlint("rule", "TL").out
    assert [line for line in out.splitlines() if line.startswith("# ")] == [
        f"# {rule.code} {rule.name} ({rule.severity.value})" for rule in available_rules()
    ]


def test_rules_as_json(torchlint: Torchlint) -> None:
    items = json.loads(torchlint("rule", "--output-format", "json").out)
    assert [item["code"] for item in items] == [rule.code for rule in available_rules()]
    one = json.loads(torchlint("rule", "TL501", "--output-format", "json").out)
    assert one["name"] == "unmapped-load"
    assert set(one) == {"code", "name", "severity", "default", "summary", "sections"}
    assert "Why it matters" in one["sections"]


def test_an_unknown_rule_names_the_nearest(torchlint: Torchlint) -> None:
    result = torchlint("rule", "unmaped-load")
    assert result.code == 2
    assert "did you mean 'unmapped-load'?" in result.err


def test_clean_removes_caches_and_nothing_else(torchlint: Torchlint, folder: Path) -> None:
    for name in (".torchlint_cache", "sub/.torchlint_cache", "kept"):
        (folder / name).mkdir(parents=True)
        (folder / name / "file").touch()
    assert torchlint("clean") == Run(0, "Removed .torchlint_cache\nRemoved sub/.torchlint_cache\n", "")
    assert sorted(path.name for path in folder.rglob("*")) == ["file", "kept", "sub"]
    assert torchlint("clean").out == "No cache here.\n"
    assert torchlint("clean", "gone").code == 2


class _Main:
    """Stands for the ``main`` of an extra."""

    def __init__(self, code: int) -> None:
        self.code = code
        self.given: list[list[str]] = []

    def __call__(self, arguments: list[str]) -> int:
        self.given.append(arguments)
        return self.code


def _install(monkeypatch: pytest.MonkeyPatch, module: str, main: _Main) -> None:
    stand_in = ModuleType(module)
    stand_in.main = main  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module, stand_in)
    monkeypatch.setattr(forward.importlib.util, "find_spec", lambda name: object())  # type: ignore[attr-defined]


def test_arguments_reach_the_trainer_untouched(torchlint: Torchlint, monkeypatch: pytest.MonkeyPatch) -> None:
    main = _Main(3)
    _install(monkeypatch, "torchlint.runtime.__main__", main)
    result = torchlint("train", "--epochs", "2", "--help", "--", "-x", "--lr=0.1", "name")
    assert result.code == 3
    assert main.given == [["train", "--epochs", "2", "--help", "--", "-x", "--lr=0.1", "name"]]


def test_arguments_reach_the_server_untouched(torchlint: Torchlint, monkeypatch: pytest.MonkeyPatch) -> None:
    main = _Main(0)
    _install(monkeypatch, "torchlint.server", main)
    assert torchlint("server", "--stdio").code == 0
    assert main.given == [["--stdio"]]


@pytest.mark.parametrize(("command", "extra"), [("train", "runtime"), ("server", "lsp")])
def test_without_the_extra_one_line_says_what_to_install(
    torchlint: Torchlint, monkeypatch: pytest.MonkeyPatch, command: str, extra: str
) -> None:
    real = importlib.util.find_spec
    absent = {"torch", "pygls", "lsprotocol"}
    for name in absent:
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setattr(
        forward.importlib.util,  # type: ignore[attr-defined]
        "find_spec",
        lambda name: None if name in absent else real(name),
    )
    result = torchlint(command, "--anything")
    assert result.code == 2
    assert len(result.err.splitlines()) == 1
    assert f"pip install 'torchlint[{extra}]'" in result.err


def test_watching_checks_again_when_a_file_changes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("watchfiles", reason="the extra `watch` is not installed")
    (folder / "a.py").write_text("x = 1\n")
    runs: list[Options] = []
    again = threading.Event()

    def execute(options: Options) -> int:
        runs.append(options)
        if len(runs) == 2:
            again.set()
            raise KeyboardInterrupt
        return 0

    def touch_until_seen() -> None:
        for number in range(200):
            if again.wait(0.1):
                return
            (folder / "ignored.txt").write_text(str(number))
            (folder / "a.py").write_text(f"x = {number}\n")

    monkeypatch.setattr(watching, "execute", execute)
    toucher = threading.Thread(target=touch_until_seen)
    toucher.start()
    with pytest.raises(KeyboardInterrupt):
        watching.watch(Options(watch=True))
    toucher.join()
    assert [options.watch for options in runs] == [False, False]


def test_watching_needs_its_extra_and_files(torchlint: Torchlint, monkeypatch: pytest.MonkeyPatch) -> None:
    assert torchlint("--watch", "-").code == 2
    monkeypatch.setattr(watching, "find_spec", lambda name: None)
    result = torchlint("--watch")
    assert result.code == 2
    assert "pip install 'torchlint[watch]'" in result.err
