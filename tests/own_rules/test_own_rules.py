"""Rules from a file of the project and from an installed package, named in the configuration and only then loaded."""

from __future__ import annotations

import json
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path

import pytest

from torchlint.config import ConfigError, Configs
from torchlint.selection import available_rules
from torchlint.tasks import Plan

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs" / "writing-a-rule.md").read_text("utf-8")
(RULE,) = re.findall(r"<!-- file: ab101_unseeded_split.py -->\n```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
CODE = "import torch\nfrom torch.utils.data import random_split\n\nparts = random_split(range(10), [8, 2])\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The rule of the documentation in a project that names it."""
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "my_rules.py").write_text(RULE, "utf-8")
    (tmp_path / "torchlint.toml").write_text('rules = ["tools/my_rules.py"]\n')
    (tmp_path / "split.py").write_text(CODE)
    return tmp_path


def torchlint(folder: Path, *words: str, path: Path | None = None) -> subprocess.CompletedProcess[str]:
    env = os.environ | ({"PYTHONPATH": str(path)} if path else {})
    command = [sys.executable, "-m", "torchlint", *words]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)


def test_a_rule_from_a_file_checks_and_fixes(folder: Path) -> None:
    done = torchlint(folder, "check", "--output-format", "concise", "split.py")
    assert done.stdout.startswith("split.py:4:9: AB101 [unsafe] `random_split` draws"), done.stdout + done.stderr
    torchlint(folder, "fix", "--unsafe-fixes", "split.py")
    assert "generator=torch.Generator().manual_seed(0)" in (folder / "split.py").read_text()


def test_it_is_selected_ignored_and_silenced_like_any_other(folder: Path) -> None:
    assert "AB101" in torchlint(folder, "check", "--select", "unseeded-split", "split.py").stdout
    assert torchlint(folder, "check", "--ignore", "AB", "split.py").returncode == 0
    (folder / "split.py").write_text(CODE.rstrip() + "  # torchlint: ignore[AB101]\n")
    assert torchlint(folder, "check", "split.py").returncode == 0
    (folder / "torchlint.toml").write_text('ignore = ["AB101"]\nrules = ["tools/my_rules.py"]\n')
    assert Configs(available_rules()).of_folder(str(folder)).selection.ignore == ("AB101",)


def test_reports_and_pages_know_it(folder: Path) -> None:
    log = json.loads(torchlint(folder, "check", "--output-format", "sarif", "split.py").stdout)
    (run,) = log["runs"]
    assert run["tool"]["driver"]["rules"][run["results"][0]["ruleIndex"]]["id"] == "AB101"
    assert "## Why it matters\nThe split depends" in torchlint(folder, "rule", "AB101").stdout


def test_nothing_is_loaded_that_is_not_named(folder: Path) -> None:
    (folder / "tools" / "my_rules.py").write_text("raise SystemExit('loaded')\n")
    (folder / "torchlint.toml").write_text("")
    done = torchlint(folder, "check", "split.py")
    assert (done.returncode, done.stderr) == (0, "")


def test_isolated_runs_load_nothing(folder: Path) -> None:
    assert torchlint(folder, "check", "--isolated", "split.py").returncode == 0


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (None, "'tools/my_rules.py' cannot be read: No such file or directory"),
        ("x = 1\n", "'tools/my_rules.py' holds no rule"),
        ("x = 1\n1 / 0\n", "'tools/my_rules.py' fails when it is loaded: ZeroDivisionError in row 2: division by zero"),
        ("x = (\n", "'tools/my_rules.py' fails when it is loaded: SyntaxError in row 1: '(' was never closed"),
        (RULE.replace('"AB101"', '"TL101"'), "TL101 is claimed by NoWorkers and UnseededSplit"),
        (RULE.replace('    name = "unseeded-split"\n', ""), "UnseededSplit has no name"),
    ],
)
def test_what_cannot_be_loaded_is_one_clear_sentence(folder: Path, content: str | None, told: str) -> None:
    file = folder / "tools" / "my_rules.py"
    file.unlink()
    if content is not None:
        file.write_text(content, "utf-8")
    done = torchlint(folder, "check", "split.py")
    assert done.returncode == 2
    assert "torchlint.toml: rules: " in done.stderr
    assert told in done.stderr
    assert "Traceback" not in done.stderr


def test_an_unknown_package_of_rules(folder: Path) -> None:
    (folder / "torchlint.toml").write_text('rules = ["nobody-has-this"]\n')
    with pytest.raises(ConfigError, match=r"unknown package of rules 'nobody-has-this': .*ends in \.py"):
        Configs(available_rules()).of_folder(str(folder))


def test_a_rule_from_an_entry_point(folder: Path) -> None:
    """A folder on the path that looks as an installed package does."""
    site = folder / "site"
    (site / "acme_rules-1.0.dist-info").mkdir(parents=True)
    (site / "acme_rules.py").write_text(RULE, "utf-8")
    (site / "acme_rules-1.0.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: acme-rules\nVersion: 1.0\n"
    )
    (site / "acme_rules-1.0.dist-info" / "entry_points.txt").write_text("[torchlint.rules]\nacme = acme_rules\n")
    (folder / "torchlint.toml").write_text("")
    assert torchlint(folder, "check", "split.py", path=site).returncode == 0, "installed, but not named"
    (folder / "torchlint.toml").write_text('rules = ["acme"]\n')
    assert "AB101" in torchlint(folder, "check", "split.py", path=site).stdout


def test_a_rule_from_a_file_travels_to_a_fresh_process(folder: Path) -> None:
    config = Configs(available_rules()).of_folder(str(folder))
    data = pickle.dumps(Plan(config.own_rules))
    program = f"import pickle; print([rule.code for rule in pickle.loads({data!r}).rules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "['AB101']\n", done.stderr
    assert pickle.loads(data).rules == config.own_rules, "the same class here"
