from __future__ import annotations

import shutil
import subprocess

import pytest

from torchlint.diff import unified_diff


def test_no_change_gives_nothing():
    assert unified_diff("a.py", b"x\n", b"x\n") == b""


def test_the_form_of_a_diff():
    before = b"a\nb\nc\nd\ne\nf\n"
    assert unified_diff("src/a.py", before, before.replace(b"e", b"E")) == (
        b"--- src/a.py\n+++ src/a.py\n@@ -2,5 +2,5 @@\n b\n c\n d\n-e\n+E\n f\n"
    )


def test_a_missing_final_line_end_is_told():
    assert unified_diff("a.py", b"a", b"b\n").endswith(b"-a\n\\ No newline at end of file\n+b\n")
    assert unified_diff("a.py", b"a\nb", b"c\nb").endswith(b" b\n\\ No newline at end of file\n")


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("é.py", "é.py".encode()),
        ("a b.py", b"a b.py"),
        ("a\tb.py", rb'"a\tb.py"'),
        ('q".py', rb'"q\".py"'),
        ("\udcff.py", b"\xff.py"),
    ],
)
def test_names(name, written):
    assert unified_diff(name, b"a", b"b").splitlines()[:2] == [b"--- " + written, b"+++ " + written]


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(b"a\r\nb\r\n", b"a\r\nc\r\n", id="CRLF"),
        pytest.param(b"a\rb\nc", b"a\rb\nd", id="mixed line ends, no final one"),
        pytest.param("é\nü\n".encode("latin-1"), "é\nö\n".encode("latin-1"), id="latin-1"),
        pytest.param(b"\xef\xbb\xbfa\n", b"\xef\xbb\xbfb\n", id="byte order mark"),
        pytest.param(b"a\n\x0c\nb\n", b"a\n\x0c\n\x0cc\n", id="form feed"),
        pytest.param(b"a", b"a\n", id="final line end added"),
    ],
)
def test_git_applies_it_byte_for_byte(tmp_path, before, after):
    (tmp_path / "m.py").write_bytes(before)
    subprocess.run(["git", "apply", "-p0", "-"], input=unified_diff("m.py", before, after), cwd=tmp_path, check=True)
    assert (tmp_path / "m.py").read_bytes() == after
