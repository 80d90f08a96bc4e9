"""What is shipped is what is in the repository: nothing is missing from the wheel, nothing foreign is in it."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
IMPORT_NAMES = {
    "lint": "torchlint",
    "rules": "torchlint/rules",
    "fixers": "torchlint/fixers",
    "runtime": "torchlint/runtime",
}


def sources() -> list[str]:
    """Files of the four folders as git sees them, new ones included; in an unpacked sdist all that lie there."""
    if (ROOT / ".git").exists():
        command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", *IMPORT_NAMES]
        names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
        return [name for name in names if name and (ROOT / name).exists()]
    found = [path for folder in IMPORT_NAMES for path in (ROOT / folder).rglob("*") if path.is_file()]
    return [path.relative_to(ROOT).as_posix() for path in found if "__pycache__" not in path.parts]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """The wheel, built from a copy so that no build folder is left behind or reused."""
    copy = tmp_path_factory.mktemp("checkout")
    for name in [*sources(), "pyproject.toml", "README.md", "LICENSE"]:
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        (copy / name).write_bytes((ROOT / name).read_bytes())
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(copy / "dist"), str(copy)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    [path] = (copy / "dist").glob("*.whl")
    return zipfile.ZipFile(path)


def test_wheel_holds_every_file_of_the_packages_and_no_other(wheel: zipfile.ZipFile) -> None:
    wanted = set()
    for name in sources():
        folder, _, rest = name.partition("/")
        wanted.add(f"{IMPORT_NAMES[folder]}/{rest}")
    shipped = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert shipped == wanted


def test_wheel_has_the_command_the_licence_and_no_heavy_requirement(wheel: zipfile.ZipFile) -> None:
    [info] = {name.split("/")[0] for name in wheel.namelist() if ".dist-info/" in name}
    assert "torchlint = torchlint.__main__:main" in wheel.read(f"{info}/entry_points.txt").decode()
    assert f"{info}/licenses/LICENSE" in wheel.namelist()
    metadata = Parser().parsestr(wheel.read(f"{info}/METADATA").decode())
    required = [line for line in metadata.get_all("Requires-Dist", []) if "extra ==" not in line]
    assert {line.split(">")[0].split(";")[0].strip() for line in required} == {"click", "libcst", "pathspec", "tomli"}
    assert {"runtime", "lsp", "dev"} <= set(metadata.get_all("Provides-Extra", []))
