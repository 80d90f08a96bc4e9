"""``[tool.torchlint]`` and ``torchlint.toml``."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from torchlint.config import Config, ConfigError, Configs
from torchlint.selection import Selection, available_rules

RULES = available_rules()


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def put(name: str, text: str) -> None:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def config_of(path: str = "a.py") -> Config:
    return Configs(RULES).of_file(path)


def codes(path: str, *layers: Selection) -> set[str]:
    return {rule.code for rule in config_of(path).rules_for(path, RULES, layers)}


def test_without_a_file_the_defaults_count() -> None:
    config = config_of()
    assert config == Config(os.getcwd())
    assert codes("a.py") == {rule.code for rule in RULES if rule.default}


def test_all_keys() -> None:
    put(
        "pyproject.toml",
        """
        [tool.torchlint]
        select = ["TL5"]
        extend-select = ["TL001"]
        ignore = ["unmapped-load"]
        exclude = ["third_party"]
        num-workers = 8
        time-limit = 9
        output-format = "concise"
        unsafe-fixes = true
        statistics = true
        jobs = 2
        baseline = "known.json"
        respect-gitignore = false

        [tool.torchlint.per-file-ignores]
        "tests/**" = ["TL501"]
        """,
    )
    config = config_of()
    assert config.selection == Selection(("TL5",), ("TL001",), ("unmapped-load",))
    assert config.exclude == ("third_party",)
    assert config.settings.num_workers == 8
    assert config.settings.time_limit == 9
    assert (config.output_format, config.unsafe_fixes, config.statistics, config.jobs) == ("concise", True, True, 2)
    assert config.baseline == os.path.join(os.getcwd(), "known.json")
    assert config.respect_gitignore is False
    assert config.per_file_ignores == (("tests/**", ("TL501",)),)


def test_the_nearest_file_counts() -> None:
    put("pyproject.toml", "[tool.torchlint]\nnum-workers = 1\n")
    put("sub/torchlint.toml", "num-workers = 2\n")
    put("sub/deep/pyproject.toml", "[tool.other]\n")  # says nothing about torchlint
    assert config_of("a.py").settings.num_workers == 1
    assert config_of("sub/deep/a.py").settings.num_workers == 2


def test_torchlint_toml_counts_before_pyproject_in_one_folder() -> None:
    put("pyproject.toml", "[tool.torchlint]\nnum-workers = 1\n")
    put("torchlint.toml", "num-workers = 2\n")
    assert config_of().settings.num_workers == 2


def test_a_broken_pyproject_of_somebody_else_does_not_matter() -> None:
    put("sub/pyproject.toml", "not [ toml")
    assert config_of("sub/a.py").file is None


def test_a_given_file_counts_everywhere_and_isolated_none() -> None:
    put("torchlint.toml", "num-workers = 1\n")
    put("other/pyproject.toml", "[tool.torchlint]\nnum-workers = 2\n")
    assert Configs(RULES, "other/pyproject.toml").of_file("a.py").settings.num_workers == 2
    assert Configs(RULES, isolated=True).of_file("a.py").settings.num_workers is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("selct = []", "torchlint.toml: unknown key 'selct': did you mean 'select'?"),
        ("num_workers = 2", "torchlint.toml: unknown key 'num_workers': did you mean 'num-workers'?"),
        (
            'select = ["unmaped-load"]',
            "torchlint.toml: select: unknown rule 'unmaped-load': did you mean 'unmapped-load'?",
        ),
        ('select = "TL501"', "torchlint.toml: select: must be a list of strings, not a string"),
        ("ignore = [1]", "torchlint.toml: ignore: must hold strings only, not a number"),
        ('num-workers = "4"', "torchlint.toml: num-workers: must be a whole number, not a string"),
        ("num-workers = true", "torchlint.toml: num-workers: must be a whole number, not a boolean"),
        ("num-workers = 0", "torchlint.toml: num-workers: must be at least 1, not 0"),
        ("jobs = 1.5", "torchlint.toml: jobs: must be a whole number, not a number"),
        ("unsafe-fixes = 1", "torchlint.toml: unsafe-fixes: must be true or false, not a number"),
        ('output-format = "jsno"', "torchlint.toml: output-format: unknown format 'jsno': did you mean 'json'?"),
        ("baseline = 1", "torchlint.toml: baseline: must be a path, not a number"),
        ('per-file-ignores = ["a"]', "torchlint.toml: per-file-ignores: must be a table"),
        (
            "per-file-ignores = {a = 1}",
            "torchlint.toml: per-file-ignores: 'a': must be a list of strings, not a number",
        ),
        ('per-file-ignores = {a = ["TL9"]}', "torchlint.toml: per-file-ignores: unknown rule 'TL9'"),
        ('exclude = ["!"]', "torchlint.toml: exclude: '!' is not a valid pattern"),
        ("select = [", "torchlint.toml: is not valid TOML"),
    ],
)
def test_a_slip_names_file_key_and_what_would_be_right(text: str, message: str) -> None:
    put("torchlint.toml", text + "\n")
    with pytest.raises(ConfigError) as caught:
        config_of()
    assert message in str(caught.value)


def test_a_slip_in_pyproject_names_the_whole_key() -> None:
    put("pyproject.toml", "[tool.torchlint]\nselct = []\n")
    with pytest.raises(ConfigError, match=r"pyproject\.toml: unknown key 'tool\.torchlint\.selct'"):
        config_of()


def test_a_table_that_is_no_table() -> None:
    put("pyproject.toml", "[tool]\ntorchlint = 1\n")
    with pytest.raises(ConfigError, match=r"tool\.torchlint must be a table, not a number"):
        config_of()


@pytest.mark.parametrize("name", ["gone.toml", "pyproject.toml"])
def test_a_given_file_must_say_something(name: str) -> None:
    put("pyproject.toml", "[project]\n")
    with pytest.raises(ConfigError, match=name):
        Configs(RULES, name)


def test_bytes_that_are_not_utf_8() -> None:
    Path("torchlint.toml").write_bytes(b"# \xff\n")
    with pytest.raises(ConfigError, match="is not valid UTF-8"):
        config_of()


def test_the_command_line_goes_over_the_file() -> None:
    put("torchlint.toml", 'select = ["TL501"]\nignore = ["TL001"]\n')
    assert codes("a.py") == {"TL501"}
    assert codes("a.py", Selection(extend_select=("TL001",))) == {"TL501", "TL001"}
    assert codes("a.py", Selection(ignore=("TL5",))) == set()
    assert codes("a.py", Selection(select=("TL001",))) == {"TL001"}


@pytest.mark.parametrize(
    ("pattern", "path", "silent"),
    [
        ("tests/*", "tests/a.py", True),
        ("tests/*", "src/tests/a.py", False),
        ("tests/", "src/tests/a.py", True),
        ("tests/**", "tests/deep/a.py", True),
        ("conftest.py", "any/where/conftest.py", True),
        ("/conftest.py", "any/conftest.py", False),
        ("*.ipynb", "nb/a.ipynb", True),
    ],
)
def test_per_file_ignores(pattern: str, path: str, silent: bool) -> None:
    put("torchlint.toml", f'per-file-ignores = {{"{pattern}" = ["TL501"]}}\n')
    assert ("TL501" not in codes(path)) is silent
    assert "TL001" in codes(path)


def test_per_file_ignores_count_even_for_rules_the_command_line_selects() -> None:
    put("torchlint.toml", 'per-file-ignores = {"a.py" = ["TL501"]}\n')
    assert codes("a.py", Selection(select=("TL501",))) == set()
    assert codes("b.py", Selection(select=("TL501",))) == {"TL501"}
