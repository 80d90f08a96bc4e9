from __future__ import annotations

import contextlib
import errno
import os
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from torchlint import writing
from torchlint.writing import PREFIX, SUFFIX, WriteError, remove_stale, write_file

OLD, NEW = b"old\r\n", b"new\r\n" * 1000


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "module.py"
    path.write_bytes(OLD)
    return path


def leftovers(folder: Path) -> list[str]:
    return [entry.name for entry in folder.iterdir() if entry.name.startswith(PREFIX)]


def test_the_bytes_are_replaced(file):
    write_file(str(file), NEW, expected=OLD)
    assert file.read_bytes() == NEW
    assert [entry.name for entry in file.parent.iterdir()] == ["module.py"]


def test_a_bare_name_is_written_in_the_current_folder(file, monkeypatch):
    monkeypatch.chdir(file.parent)
    write_file("module.py", NEW, expected=OLD)
    assert file.read_bytes() == NEW


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o755, 0o4755, 0o666])
def test_the_mode_is_kept(file, mode):
    file.chmod(mode)
    write_file(str(file), NEW, expected=OLD)
    assert file.stat().st_mode & 0o7777 == mode


def test_the_umask_does_not_matter(file):
    file.chmod(0o666)
    before = os.umask(0o077)
    try:
        write_file(str(file), NEW, expected=OLD)
    finally:
        os.umask(before)
    assert file.stat().st_mode & 0o777 == 0o666


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only the superuser may give files away")
def test_the_owner_is_kept(file):
    os.chown(file, 1234, 2345)
    write_file(str(file), NEW, expected=OLD)
    assert (file.stat().st_uid, file.stat().st_gid) == (1234, 2345)


def test_an_owner_that_cannot_be_kept_is_an_error(file, monkeypatch):
    real = os.fstat
    monkeypatch.setattr(os, "fstat", lambda fd: os.stat_result((*real(fd)[:4], 4321, *real(fd)[5:])))
    monkeypatch.setattr(
        os, "fchown", lambda *args: (_ for _ in ()).throw(PermissionError(errno.EPERM, "not permitted"))
    )
    with pytest.raises(WriteError, match="permission denied"):
        write_file(str(file), NEW, expected=OLD)
    assert file.read_bytes() == OLD
    assert leftovers(file.parent) == []


@pytest.mark.skipif(not hasattr(os, "setxattr"), reason="no extended attributes here")
def test_extended_attributes_are_kept(file):
    try:
        os.setxattr(file, "user.note", b"x")
    except OSError:
        pytest.skip("the file system has no extended attributes")
    write_file(str(file), NEW, expected=OLD)
    assert os.getxattr(file, "user.note") == b"x"


def test_a_link_stays_and_its_target_is_written(file):
    folder = file.parent / "links"
    folder.mkdir()
    link = folder / "link.py"
    link.symlink_to("../module.py")
    write_file(str(link), NEW, expected=OLD)
    assert link.is_symlink()
    assert os.readlink(link) == "../module.py"
    assert file.read_bytes() == NEW
    assert leftovers(folder) == leftovers(file.parent) == []


def test_a_link_out_of_the_checked_folders_is_refused_when_asked(file):
    folder = file.parent / "checked"
    folder.mkdir()
    link = folder / "link.py"
    link.symlink_to(file)
    with pytest.raises(WriteError, match="outside"):
        write_file(str(link), NEW, expected=OLD, roots=[str(folder)])
    assert file.read_bytes() == OLD
    write_file(str(link), NEW, expected=OLD, roots=[str(folder), str(file.parent)])
    assert file.read_bytes() == NEW


def test_a_folder_with_a_similar_name_is_another_folder(tmp_path):
    (tmp_path / "src").mkdir()
    (tmp_path / "src2").mkdir()
    (tmp_path / "src2" / "a.py").write_bytes(OLD)
    link = tmp_path / "src" / "link.py"
    link.symlink_to("../src2/a.py")
    with pytest.raises(WriteError, match="outside"):
        write_file(str(link), NEW, expected=OLD, roots=[str(tmp_path / "src")])


@pytest.mark.parametrize("target", ["missing.py", "link.py"])
def test_a_link_to_nowhere_or_itself_is_an_error(tmp_path, target):
    link = tmp_path / "link.py"
    link.symlink_to(target)
    with pytest.raises(WriteError):
        write_file(str(link), NEW, expected=OLD)


def test_a_file_changed_meanwhile_is_left_alone(file):
    file.write_bytes(b"theirs")
    with pytest.raises(WriteError, match="changed by another program"):
        write_file(str(file), NEW, expected=OLD)
    assert file.read_bytes() == b"theirs"


def test_a_change_while_writing_is_seen_too(file, monkeypatch):
    real = os.fsync

    def fsync(descriptor: int) -> None:
        file.write_bytes(b"theirs")
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(WriteError, match="changed by another program"):
        write_file(str(file), NEW, expected=OLD)
    assert file.read_bytes() == b"theirs"
    assert leftovers(file.parent) == []


def test_a_read_only_file_is_an_error_even_for_the_superuser(file):
    file.chmod(0o444)
    with pytest.raises(WriteError, match="read-only"):
        write_file(str(file), NEW, expected=OLD)
    assert file.read_bytes() == OLD


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the superuser may write anywhere")
def test_a_folder_that_may_not_be_written_is_an_error(file):
    file.parent.chmod(0o555)
    try:
        with pytest.raises(WriteError, match="permission denied"):
            write_file(str(file), NEW, expected=OLD)
    finally:
        file.parent.chmod(0o755)
    assert file.read_bytes() == OLD


def test_a_missing_file_or_a_folder_is_an_error(tmp_path):
    with pytest.raises(WriteError, match="gone"):
        write_file(str(tmp_path / "module.py"), NEW, expected=OLD)
    with pytest.raises(WriteError, match="not a regular file"):
        write_file(str(tmp_path), NEW, expected=OLD)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (errno.ENOSPC, "no space left"),
        (errno.EDQUOT, "no space left"),
        (errno.EIO, "Input/output error"),
        (errno.EROFS, "read-only"),
    ],
)
@pytest.mark.parametrize("call", ["write", "fsync", "replace"])
def test_a_failing_disk_loses_nothing(file, monkeypatch, call, code, message):
    def fail(*args: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, call, fail)
    with pytest.raises(WriteError, match=message) as caught:
        write_file(str(file), NEW, expected=OLD)
    assert caught.value.path == str(file)
    assert file.read_bytes() == OLD
    assert leftovers(file.parent) == []


def test_short_writes_are_continued(file, monkeypatch):
    real = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: real(descriptor, data[:7]))
    write_file(str(file), NEW, expected=OLD)
    assert file.read_bytes() == NEW


def test_an_interrupt_leaves_nothing_behind(file, monkeypatch):
    def interrupt(descriptor: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_file(str(file), NEW, expected=OLD)
    assert file.read_bytes() == OLD
    assert leftovers(file.parent) == []


@pytest.mark.skipif(sys.platform != "linux", reason="needs a full device")
def test_a_really_full_disk(file):
    """/dev/full takes the place of a file on a full disk."""
    descriptor = os.open("/dev/full", os.O_WRONLY)
    try:
        with pytest.raises(OSError, match="No space left"):
            writing._fill(descriptor, NEW)
    finally:
        os.close(descriptor)


KILLED = """
import os, sys
from torchlint import writing
def wait(descriptor):
    print("half-way", flush=True)
    sys.stdin.read()
os.fsync = wait
writing.write_file(sys.argv[1], b"new", expected=b"old\\r\\n")
"""


@pytest.mark.skipif(os.name == "nt", reason="needs SIGKILL")
def test_a_run_that_is_killed_loses_nothing_and_the_next_one_cleans_up(file):
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(file)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == "half-way\n"
        (name,) = leftovers(file.parent)
        remove_stale(str(file.parent))
        assert leftovers(file.parent) == [name], "the file of a living run stays"
        process.send_signal(signal.SIGKILL)
    assert file.read_bytes() == OLD
    assert leftovers(file.parent) == [name]
    write_file(str(file), NEW, expected=OLD)
    assert file.read_bytes() == NEW
    assert leftovers(file.parent) == []


def test_only_temporary_files_of_ours_are_removed(tmp_path):
    ours, other = tmp_path / f"{PREFIX}ours{SUFFIX}", tmp_path / "other.tmp"
    folder, link = tmp_path / f"{PREFIX}folder{SUFFIX}", tmp_path / f"{PREFIX}link{SUFFIX}"
    folder.mkdir()
    link.symlink_to(other)
    for path in (ours, other):
        path.write_bytes(b"x")
    remove_stale(str(tmp_path))
    assert sorted(entry.name for entry in tmp_path.iterdir()) == sorted([other.name, folder.name, link.name])


@pytest.mark.skipif(os.name == "nt", reason="needs locks")
def test_a_temporary_file_that_another_run_removed_before_it_was_locked_is_made_again(file, monkeypatch):
    real, made = tempfile.mkstemp, []

    def mkstemp(*arguments: str) -> tuple[int, str]:
        descriptor, name = real(*arguments)
        made.append(name)
        if len(made) == 1:
            remove_stale(str(file.parent))
            assert leftovers(file.parent) == []
        return descriptor, name

    monkeypatch.setattr(tempfile, "mkstemp", mkstemp)
    write_file(str(file), NEW, expected=OLD)
    assert file.read_bytes() == NEW
    assert len(made) == 2
    assert leftovers(file.parent) == []


def test_two_runs_at_once_never_leave_a_torn_file(file):
    versions = [bytes([letter]) * 200_000 for letter in b"abcd"]
    stop = threading.Event()
    torn: list[bytes] = []

    def write(version: bytes) -> None:
        while not stop.is_set():
            with contextlib.suppress(WriteError):
                write_file(str(file), version, expected=file.read_bytes())

    def watch() -> None:
        while not stop.is_set():
            seen = file.read_bytes()
            if seen != OLD and seen not in versions:
                torn.append(seen)

    threads = [threading.Thread(target=write, args=(version,)) for version in versions] + [
        threading.Thread(target=watch)
    ]
    for thread in threads:
        thread.start()
    stop.wait(0.5)
    stop.set()
    for thread in threads:
        thread.join()
    assert torn == []
    assert file.read_bytes() in versions
    assert leftovers(file.parent) == []
