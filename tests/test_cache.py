"""The cache: what it gives back is what a fresh run gives, whatever was edited, damaged or interrupted in between."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from torchlint import cache as caching
from torchlint import tasks as files_to_check
from torchlint.cache import FOLDER, Cache
from torchlint.commands.clean import CACHE_FOLDER
from torchlint.rules.rule import builtin_rules
from torchlint.runner import run
from torchlint.settings import Settings
from torchlint.tasks import FileResult, Plan, Task

PLAN = Plan(tuple(rule for rule in builtin_rules() if rule.default))
LOAD = 'import torch\nstate = torch.load("x.pt")\n'
LOADER = "from factory import Loader\nloader = Loader(data)\nfor batch in loader:\n    pass\n"
TORCHS = "from torch.utils.data import DataLoader as Loader\n"
OURS = "class Loader:\n    pass\n"
EVALUATE = (
    "import torch\ndef validate(model, loader):\n    with torch.no_grad():\n        return [model(x) for x in loader]\n"
)
CALLER = "from evaluate import validate\ndef main(model, loader):\n    model.{}()\n    return validate(model, loader)\n"
EDITS: dict[str, list[str | None]] = {
    "factory.py": [TORCHS, OURS, None, "from other import Loader\n"],
    "other.py": [TORCHS, OURS, None],
    "use.py": [LOADER, LOADER + "print(1)\n", "import factory\nfactory.Loader(data)\n"],
    "load.py": [LOAD, LOAD.replace(")", ', map_location="cpu")'), LOAD + "# noqa\n", "def broken(:\n    torch.load\n"],
    "evaluate.py": [EVALUATE, EVALUATE.replace("no_grad", "inference_mode")],
    "caller.py": [CALLER.format("eval"), CALLER.format("train"), None],
    "pyproject.toml": ["[project]\nname = 'a'\ndependencies = ['torch>=2.6']\n", "[project]\nname = 'a'\n"],
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'a'\n")
    return tmp_path


def forget_projects() -> None:
    """What a new process starts with."""
    files_to_check._projects.by_root.clear()


def checked(paths: list[str], store: Cache | None, plan: Plan = PLAN) -> list[FileResult]:
    forget_projects()
    return list(run([Task(path, plan) for path in paths], store=store))


def hits(path: str, plan: Plan = PLAN) -> bool:
    """Whether the cache alone answers for a file."""
    forget_projects()
    return Cache().get(Task(path, plan), Path(path).read_bytes()) is not None


def test_a_second_run_checks_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("a.py").write_text(LOAD)
    first = checked(["a.py"], Cache())
    assert [finding.code for finding in first[0].findings] == ["TL501"]
    monkeypatch.setattr(files_to_check, "check_file", None)
    assert checked(["a.py"], Cache()) == first


def test_the_folder_keeps_itself_out_of_the_repository() -> None:
    Path("a.py").write_text(LOAD)
    checked(["a.py"], Cache())
    assert Path(FOLDER, ".gitignore").read_text() == "*\n"
    assert FOLDER == CACHE_FOLDER


def test_bytes_rules_settings_and_tool_are_part_of_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("a.py").write_text(LOAD)
    checked(["a.py"], Cache())
    assert hits("a.py")
    assert not hits("a.py", Plan(PLAN.rules[:-1]))
    assert not hits("a.py", Plan(PLAN.rules, Settings(num_workers=3)))
    with monkeypatch.context() as other:
        other.setattr(caching, "_tool", lambda: "another")
        assert not hits("a.py")
    Path("a.py").write_text(LOAD + "\n")
    assert not hits("a.py")


def test_a_file_alone_does_not_depend_on_others() -> None:
    Path("a.py").write_text(LOAD)
    Path("b.py").write_text("x = 1\n")
    checked(["a.py"], Cache())
    Path("b.py").write_text("x = 2\n")
    assert hits("a.py")


def test_what_other_files_said_is_part_of_the_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("use.py").write_text(LOADER)
    Path("factory.py").write_text(OURS)
    assert checked(["use.py"], Cache())[0].findings == ()
    Path("factory.py").write_text(TORCHS)
    assert [finding.code for finding in checked(["use.py"], Cache())[0].findings] == ["TL101"]


def test_a_file_that_was_missing_is_noticed_when_it_comes() -> None:
    Path("use.py").write_text(LOADER)
    assert checked(["use.py"], Cache())[0].findings == ()
    Path("factory.py").write_text(TORCHS)
    assert [finding.code for finding in checked(["use.py"], Cache())[0].findings] == ["TL101"]


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"depends":0,"result":[1]}', b'{"depends":0}', b"\xff\xfe"])
def test_a_damaged_entry_is_rebuilt(damage: bytes) -> None:
    Path("a.py").write_text(LOAD)
    first = checked(["a.py"], Cache())
    (entry,) = entries()
    whole = entry.read_bytes()
    entry.write_bytes(damage)
    assert checked(["a.py"], Cache()) == first
    assert entry.read_bytes() == whole


def entries() -> list[Path]:
    return [path for path in Path(FOLDER).rglob("*") if path.is_file() and path.name != ".gitignore"]


def test_entries_are_data_and_leave_no_temporary_files() -> None:
    Path("a.py").write_text(LOAD)
    checked(["a.py"], Cache())
    assert [json.loads(path.read_text())["result"][0] for path in entries()] == ["a.py"]


def test_a_folder_that_cannot_be_made_is_no_error() -> None:
    Path("a.py").write_text(LOAD)
    Path(FOLDER).write_text("in the way")
    assert len(checked(["a.py"], Cache())[0].findings) == 1


def test_files_with_problems_are_not_kept() -> None:
    Path("a.py").write_text("torch.load(\n")
    assert checked(["a.py"], Cache())[0].problems
    assert not Path(FOLDER).exists()


@pytest.mark.parametrize("seed", range(12))
def test_cached_equals_fresh_after_random_edits(seed: int) -> None:
    chance = random.Random(seed)
    for name, texts in EDITS.items():
        write(name, texts[0])
    for _ in range(12):
        name = chance.choice(sorted(EDITS))
        write(name, chance.choice(EDITS[name]))
        paths = sorted(path.name for path in Path().glob("*.py"))
        some = chance.sample(paths, chance.randint(1, len(paths)))
        assert checked(some, Cache()) == checked(some, None)


def write(name: str, text: str | None) -> None:
    if text is None:
        Path(name).unlink(missing_ok=True)
    else:
        Path(name).write_text(text)


def test_random_edits_change_findings_through_other_files() -> None:
    """The edits above are of the kind that matters: the same bytes of a file get other findings."""
    Path("use.py").write_text(LOADER)
    seen = set()
    for text in (TORCHS, OURS):
        Path("factory.py").write_text(text)
        seen.add(len(checked(["use.py"], None)[0].findings))
    assert len(seen) == 2
