"""Which files are found, and which never stop a run."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

import pytest

from torchlint.config import Configs
from torchlint.files import cannot_read, discover, display, read

RULES = ()


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def put(*names: str) -> None:
    for name in names:
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")


def found(*paths: str, exclude: tuple[str, ...] = (), gitignore: bool = True, force: bool = False) -> list[str]:
    result = discover(paths or (".",), Configs(RULES), exclude, respect_gitignore=gitignore, force_exclude=force)
    assert result.problems == []
    return [target.path for target in result.targets]


def problems(*paths: str) -> list[str]:
    return [str(problem) for problem in discover(paths, Configs(RULES)).problems]


def test_modules_and_notebooks_below_a_folder() -> None:
    put("a.py", "b.ipynb", "c.pyi", "d.txt", "sub/e.py", ".hidden/f.py", "g.PY")
    assert found() == [".hidden/f.py", "a.py", "b.ipynb", "sub/e.py"]


def test_a_file_named_itself_is_taken_whatever_its_name() -> None:
    put("script", "build/x.py", ".gitignore")
    Path(".gitignore").write_text("*\n")
    assert found("script", "build/x.py") == ["build/x.py", "script"]


@pytest.mark.parametrize("pattern", ["old/", "old/deep/x.py", "*.py", "old/*"])
def test_forced_excludes_count_for_named_files(pattern: str) -> None:
    put("old/deep/x.py", "new.ipynb")
    Path("torchlint.toml").write_text(f'exclude = ["{pattern}"]')
    assert found("old/deep/x.py", "new.ipynb") == ["new.ipynb", "old/deep/x.py"]
    assert found("old/deep/x.py", "new.ipynb", force=True) == ["new.ipynb"]


def test_forced_excludes_are_those_a_walk_meets() -> None:
    put("build/x.py", "a/b.py", "a/c.py", "vendor/own/d.py")
    Path("torchlint.toml").write_text('exclude = ["vendor/"]')
    Path("vendor/own/torchlint.toml").write_text("")
    Path("a/torchlint.toml").write_text('exclude = ["b.py"]')
    named = ("build/x.py", "a/b.py", "a/c.py", "vendor/own/d.py")
    assert found(*named, force=True) == found(".") == ["a/c.py"]
    assert found(*named, exclude=("a",), force=True) == []


def test_each_file_is_checked_once() -> None:
    put("a.py", "sub/b.py")
    assert found("a.py", "./a.py", ".", str(Path("a.py").absolute()), "sub") == ["a.py", "sub/b.py"]


@pytest.mark.parametrize(
    "name", ["build", "venv", ".venv", "node_modules", "site-packages", "__pycache__", ".git", "dist"]
)
def test_folders_with_other_peoples_code_are_left_out(name: str) -> None:
    put(f"{name}/a.py", f"src/{name}/a.py", "kept.py")
    assert found() == ["kept.py"]


@pytest.mark.parametrize("name", ["build", "venv", "site-packages", "dist"])
def test_the_parents_of_what_is_asked_for_never_count(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    put(f"{name}/checkout/src/a.py", f"{name}/checkout/build/b.py")
    assert found(f"{name}/checkout") == [f"{name}/checkout/src/a.py"]
    assert found(name) == [f"{name}/checkout/src/a.py"]
    monkeypatch.chdir(f"{name}/checkout")
    assert found() == ["src/a.py"]


def test_exclude_patterns_count_from_the_current_folder() -> None:
    put("a.py", "old/a.py", "sub/old/a.py", "sub/b_test.py", "sub/keep.py")
    assert found(exclude=("old",)) == ["a.py", "sub/b_test.py", "sub/keep.py"]
    assert found(exclude=("/old", "*_test.py")) == ["a.py", "sub/keep.py", "sub/old/a.py"]


def test_exclude_never_matches_what_is_asked_for() -> None:
    put("old/a.py", "old/old/b.py", "old/third/c.py")
    assert found("old", exclude=("/old", "third")) == ["old/a.py", "old/old/b.py"]


def test_exclude_of_a_configuration_counts_from_its_folder() -> None:
    put("pkg/gen/a.py", "gen/b.py", "pkg/c.py")
    Path("pkg/torchlint.toml").write_text('exclude = ["/gen"]\n')
    assert found() == ["gen/b.py", "pkg/c.py"]


def test_gitignore_at_all_levels() -> None:
    put("a.py", "skip.py", "sub/skip.py", "sub/back.py", "sub/deep/skip2.py", "sub/deep/b.py")
    Path(".gitignore").write_text("skip.py\nback.py\n")
    Path("sub/.gitignore").write_text("!back.py\n/deep/skip2.py\n")
    assert found() == ["a.py", "sub/back.py", "sub/deep/b.py"]
    assert len(found(gitignore=False)) == 6


def test_gitignore_above_the_folder_counts_up_to_the_repository() -> None:
    put("outer/repo/.git/HEAD", "outer/repo/src/a.py", "outer/repo/src/gen/b.py")
    Path("outer/.gitignore").write_text("a.py\n")  # outside of the repository
    Path("outer/repo/.gitignore").write_text("gen/\n")
    assert found("outer/repo/src") == ["outer/repo/src/a.py"]


def test_an_ignored_folder_that_is_asked_for_is_checked() -> None:
    put(".git/HEAD", "gen/a.py", "gen/skip.py")
    Path(".gitignore").write_text("gen/\nskip.py\n")
    assert found() == []
    assert found("gen") == ["gen/a.py"]


def test_git_info_exclude_counts() -> None:
    put(".git/HEAD", "a.py", "b.py")
    Path(".git/info").mkdir()
    Path(".git/info/exclude").write_text("b.py\n")
    assert found() == ["a.py"]


def test_gitignore_lines_that_are_no_patterns_are_passed_over() -> None:
    put("a.py", "b.py")
    Path(".gitignore").write_bytes(b"!\n\\\n# comment\n\xff\xfe\nb.py\n")
    assert found() == ["a.py"]


def test_a_folder_named_like_a_module_is_a_folder() -> None:
    put("x.py/inner.py")
    assert found() == ["x.py/inner.py"]
    assert found("x.py") == ["x.py/inner.py"]


def test_links_are_checked_once_and_loops_end() -> None:
    put("real/a.py", "outside/b.py")
    Path("real/again.py").symlink_to("a.py")
    Path("real/loop").symlink_to(Path("real").absolute())
    Path("real/other.py").symlink_to(Path("outside/b.py").absolute())
    Path("real/gone.py").symlink_to("nowhere.py")
    Path("real/self.py").symlink_to("self.py")
    assert found("real") == ["real/a.py", "real/other.py"]


def test_a_link_to_a_folder_that_is_asked_for_is_followed() -> None:
    put("real/a.py")
    Path("link").symlink_to("real")
    assert found("link") == ["link/a.py"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_pipes_and_sockets_never_block(tmp_path: Path) -> None:
    os.mkfifo("pipe.py")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("s.py")
        put("a.py")
        assert found() == ["a.py"]
        assert problems("pipe.py") == ["pipe.py: is not a regular file, so it is not read (use `-` for standard input)"]
        with pytest.raises(OSError, match="not a regular file"):
            read("pipe.py")


@pytest.mark.skipif(sys.platform != "linux", reason="file names are bytes on Linux only")
def test_names_that_are_not_utf_8() -> None:
    name = os.fsdecode(b"caf\xe9.py")
    put(name)
    assert found() == [name]


def test_names_with_odd_characters() -> None:
    names = ["-dash.py", "new\nline.py", "space .py", "\x1b[31m.py", "[a].py", "!b.py", "#c.py"]
    put(*names)
    assert found() == sorted(names)


@pytest.mark.parametrize("path", ["missing.py", "missing/", "a\0b.py", ""])
def test_paths_that_cannot_be(path: str) -> None:
    assert len(problems(path)) == 1


def test_a_folder_without_permission_is_a_problem_and_the_rest_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    put("closed/a.py", "b.py")
    scandir = os.scandir

    def refuse(path: str) -> object:  # the superuser, who may run this, is refused nothing by the system
        if path == "closed":
            raise PermissionError(13, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    result = discover(["."], Configs(RULES))
    assert [target.path for target in result.targets] == ["b.py"]
    assert [str(problem) for problem in result.problems] == ["closed: cannot be read: permission denied"]


def test_paths_are_shown_from_the_current_folder(tmp_path: Path) -> None:
    assert display("./a.py") == "a.py"
    assert display(str(tmp_path / "sub" / "a.py")) == os.path.join("sub", "a.py")
    assert display("../a.py") == "../a.py"
    assert display("/elsewhere/a.py") == "/elsewhere/a.py"


def test_reasons_are_sentences() -> None:
    assert cannot_read(FileNotFoundError()) == "does not exist"
    assert cannot_read(PermissionError(13, "Permission denied")) == "cannot be read: permission denied"
    assert cannot_read(ValueError("embedded null byte")) == "cannot be read: embedded null byte"
