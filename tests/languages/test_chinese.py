"""What a reader of Chinese sees."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

CODE = "import torch\n\n\ndef resume(model):\n    model.load_state_dict(torch.load('model.pt'))\n"
MESSAGE = "`torch.load` 没有设置 `map_location`"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "train.py").write_text(CODE)
    return tmp_path


def torchlint(folder: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    env = {key: value for key, value in os.environ.items() if not key.startswith(("LC_", "LANG", "TORCHLINT_"))}
    return subprocess.run(
        [sys.executable, "-m", "torchlint", *words],
        cwd=folder,
        env=env | {"PYTHONUTF8": "1"} | variables,
        capture_output=True,
        encoding="utf-8",
    )


def test_findings_help_and_summary(folder: Path) -> None:
    done = torchlint(folder, "check", "--select", "TL501", "--lang", "zh")
    assert MESSAGE in done.stdout
    assert '建议: 传入 `map_location="cpu"`' in done.stdout
    assert done.stdout.endswith("在 1 个文件中发现 1 个问题。 其中 1 个可用 `torchlint fix` 修复。\n")
    assert done.returncode == 1


@pytest.mark.parametrize("name", ["full", "concise", "json", "jsonl", "sarif", "github", "gitlab", "junit", "rdjson"])
def test_every_format_speaks_it(folder: Path, name: str) -> None:
    shown = torchlint(folder, "check", "--output-format", name, "--lang", "zh").stdout

    assert "没有设置" in shown or "\\u6ca1\\u6709\\u8bbe\\u7f6e" in shown, shown


def test_variable_and_locale(folder: Path) -> None:
    assert MESSAGE in torchlint(folder, "check", TORCHLINT_LANG="zh").stdout
    assert MESSAGE in torchlint(folder, "check", LANG="zh_CN.UTF-8").stdout
    assert MESSAGE not in torchlint(folder, "check", LANG="en_US.UTF-8").stdout


def test_an_unknown_language(folder: Path) -> None:
    done = torchlint(folder, "check", "--lang", "fr")
    assert done.returncode == 2
    assert done.stderr == "Error: --lang: unknown language 'fr': known are en, zh\n"


def test_fixing(folder: Path) -> None:
    assert (
        "将修复 1 个文件中的 1 个问题" in torchlint(folder, "fix", "--diff", "--select", "TL501", "--lang", "zh").stderr
    )
    assert "已修复 1 个问题" in torchlint(folder, "fix", "--select", "TL501", "--lang", "zh").stdout


def test_a_rule_page_and_the_table(folder: Path) -> None:
    page = torchlint(folder, "rule", "TL101", "--lang", "zh").stdout
    assert "## 为什么重要\n" in page
    assert "## Why it matters" not in page
    assert "检查点被加载到保存时所在的设备。" in torchlint(folder, "rule", "--lang", "zh").stdout


def test_flake8_follows_the_variable(folder: Path) -> None:
    env = os.environ | {"TORCHLINT_LANG": "zh", "PYTHONUTF8": "1"}
    command = [sys.executable, "-m", "flake8", "--isolated", "--select", "TL501", "train.py"]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, encoding="utf-8")
    assert MESSAGE in done.stdout, done.stdout + done.stderr
