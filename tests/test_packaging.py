"""What is installed is what the repository holds: a package that nobody listed would be missing without a word."""

from __future__ import annotations

import functools
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parent.parent
MAPPING = {
    "lint/": "torchlint/",
    "rules/": "torchlint/rules/",
    "fixers/": "torchlint/fixers/",
    "runtime/": "torchlint/runtime/",
}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


@functools.cache
def tracked() -> list[str]:
    """The files that belong to the repository, new ones included; listed once, for others may be writing."""
    result = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    names = [name for name in result.stdout.decode().split("\0") if name]
    return sorted(name for name in names if (ROOT / name).is_file())


def installed_name(name: str) -> str | None:
    for folder, package in MAPPING.items():
        if name.startswith(folder):
            return package + name[len(folder) :]
    return None


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Wheel and sdist, built from a clean copy: left-overs of earlier builds would come along."""
    folder = tmp_path_factory.mktemp("build")
    copy = folder / "copy"
    for name in tracked():
        target = copy / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, target)
    build = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(copy)]
    subprocess.run(build, check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> Iterator[zipfile.ZipFile]:
    (path,) = built.glob("*.whl")
    with zipfile.ZipFile(path) as file:
        yield file


def test_the_wheel_holds_the_packages_and_nothing_else(wheel: zipfile.ZipFile) -> None:
    expected = sorted(name for name in map(installed_name, tracked()) if name)
    got = sorted(name for name in wheel.namelist() if ".dist-info/" not in name)
    assert got == expected


def test_every_folder_with_modules_is_listed() -> None:
    listed = set(PROJECT["tool"]["setuptools"]["packages"])
    names = [name for name in map(installed_name, tracked()) if name and name.endswith(".py")]
    assert {name.rpartition("/")[0].replace("/", ".") for name in names} == listed


def test_the_wheel_has_the_program_and_the_licence(wheel: zipfile.ZipFile) -> None:
    (entry,) = [name for name in wheel.namelist() if name.endswith("entry_points.txt")]
    assert "torchlint = torchlint.__main__:main" in wheel.read(entry).decode()
    assert any(name.endswith("licenses/LICENSE") for name in wheel.namelist())


def test_linting_needs_no_torch(wheel: zipfile.ZipFile) -> None:
    (metadata,) = [name for name in wheel.namelist() if name.endswith("METADATA")]
    required = re.findall(r"^Requires-Dist: ([\w-]+)(?!.*extra ==)", wheel.read(metadata).decode(), re.MULTILINE)
    assert sorted(required) == ["click", "libcst", "pathspec", "tomli"]


def test_the_version_is_said_once() -> None:
    import torchlint

    assert PROJECT["project"]["version"] == torchlint.__version__


def test_the_source_distribution_can_build_the_wheel_again(built: Path) -> None:
    (path,) = built.glob("*.tar.gz")
    with tarfile.open(path) as file:
        names = {name.partition("/")[2] for name in file.getnames()}
    needed = [name for name in tracked() if installed_name(name)] + ["pyproject.toml", "README.md", "LICENSE"]
    assert [name for name in needed if name not in names] == []
