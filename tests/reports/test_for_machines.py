"""``json``, ``jsonl``, ``github``, ``gitlab``, ``junit``, ``rdjson``."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from torchlint.findings import Finding, Problem, Text
from torchlint.reports import STREAMED, Report, View, one, whole
from torchlint.reports.github_format import show_problem

WHOLE = ("json", "sarif", "gitlab", "junit", "rdjson")


def shown(name: str, report: Report) -> str:
    if name in STREAMED:
        return "".join(one(name)(finding, report.view) for finding in report.findings)
    return "".join(whole(name)(report))


def test_json_has_ruffs_keys(report: Report) -> None:
    items = json.loads(shown("json", report))
    ruff = {
        "cell",
        "code",
        "end_location",
        "filename",
        "fix",
        "location",
        "message",
        "name",
        "noqa_row",
        "severity",
        "url",
    }
    assert all(ruff <= item.keys() for item in items)
    assert items[1] == {
        "cell": None,
        "code": "TL501",
        "end_location": {"column": 19, "row": 3},
        "filename": os.path.abspath("sub/a.py"),
        "fix": {
            "applicability": "safe",
            "edits": [
                {"content": "ü, ", "end_location": {"column": 20, "row": 3}, "location": {"column": 20, "row": 3}},
                {
                    "content": "import os\n",
                    "end_location": {"column": 1, "row": 1},
                    "location": {"column": 1, "row": 1},
                },
            ],
            "message": "Add it",
        },
        "help": "write it right",
        "location": {"column": 15, "row": 3},
        "message": "`torch.load` is wrong, <so> it & fails",
        "name": "unmapped-load",
        "noqa_row": 3,
        "severity": "error",
        "url": None,
    }
    assert [item["fix"] and item["fix"]["applicability"] for item in items] == [
        "safe",
        "safe",
        "unsafe",
        "display",
        None,
    ]


def test_json_counts_rows_of_a_notebook_in_the_cell(report: Report) -> None:
    item = json.loads(shown("json", report))[0]
    assert (item["cell"], item["location"]) == (3, {"column": 7, "row": 2})
    assert item["fix"]["edits"][0]["location"] == {"column": 12, "row": 2}


def test_jsonl_is_json_line_by_line(report: Report) -> None:
    lines = shown("jsonl", report).splitlines()
    assert [json.loads(line) for line in lines] == json.loads(shown("json", report))


def test_machine_formats_are_ascii(report: Report) -> None:
    for name in ("json", "jsonl", "sarif", "gitlab", "rdjson"):
        assert shown(name, report).isascii(), name


@pytest.mark.parametrize("name", [*WHOLE, *STREAMED])
def test_all_formats_show_an_empty_report(name: str, empty: Report) -> None:
    text = shown(name, empty)
    if name in ("json", "gitlab"):
        assert json.loads(text) == []
    elif name in ("sarif", "rdjson"):
        assert isinstance(json.loads(text), dict)
    elif name == "junit":
        assert ElementTree.fromstring(text).get("tests") == "1"
    else:
        assert text == ""


@pytest.mark.parametrize("name", [*WHOLE, *STREAMED])
def test_all_formats_render_texts_through_the_view(name: str, report: Report, translate: Callable[[Text], str]) -> None:
    plain = shown(name, report)
    translated = shown(name, replace(report, view=replace(report.view, render=translate)))
    assert "{name}" in translated
    assert "{name}" not in plain


def test_github(findings: list[Finding], view: View) -> None:
    show = one("github")
    assert show(findings[1], view) == (
        "::error title=torchlint (TL501),file=sub/a.py,line=3,col=15,endLine=3,endColumn=19::"
        "sub/a.py:3:15: TL501 `torch.load` is wrong, <so> it & fails%0A  help: write it right\n"
    )
    assert show(findings[0], view).startswith("::error title=torchlint (TL501),file=b.ipynb::b.ipynb:cell 3:2:7: ")


def test_github_is_told_of_a_file_that_was_not_checked(problems: list[Problem]) -> None:
    assert [show_problem(problem) for problem in problems] == [
        "::error title=torchlint,file=broken.py,line=12::broken.py:12:3: syntax error: <&>\n",
        "::error title=torchlint,file=gone.py::gone.py: does not exist\n",
    ]


def test_github_commands_cannot_be_injected(findings: list[Finding], view: View) -> None:
    evil = replace(findings[1], path="a,line=9::b\n::error::c%.py", message=Text("x\n::warning::y"))
    text = one("github")(evil, view)
    assert text.count("\n") == 1
    assert "file=a%2Cline=9%3A%3Ab\\n%3A%3Aerror%3A%3Ac%25.py," in text
    assert "x%0A::warning::y" in text


def test_gitlab(report: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI_PROJECT_DIR", raising=False)
    items = json.loads(shown("gitlab", report))
    assert items[1]["location"] == {
        "path": "sub/a.py",
        "positions": {"begin": {"line": 3, "column": 15}, "end": {"line": 3, "column": 19}},
    }
    assert {"check_name", "description", "fingerprint", "severity"} <= items[1].keys()
    assert len({item["fingerprint"] for item in items}) == len(items)


def test_gitlab_paths_count_from_the_checkout(report: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI_PROJECT_DIR", os.path.abspath("sub"))
    assert json.loads(shown("gitlab", report))[1]["location"]["path"] == "a.py"


def test_junit(report: Report) -> None:
    root = ElementTree.fromstring(shown("junit", report))
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("7", "5", "2")
    suites = {suite.get("name"): suite for suite in root}
    assert set(suites) == {"b.ipynb", "sub/a.py", "vanished.py", "broken.py", "gone.py"}
    case = suites["sub/a.py"][0]
    assert (case.get("line"), case.get("column")) == ("3", "15")
    failure = case.find("failure")
    assert failure is not None
    assert failure.get("message") == "`torch.load` is wrong, <so> it & fails"
    error = suites["broken.py"][0].find("error")
    assert error is not None
    assert error.text == "broken.py:12:3: syntax error: <&>"


def test_junit_holds_what_xml_cannot(report: Report) -> None:
    evil = replace(report.findings[1], path="a\x00\x1b\ud800.py", message=Text("\x00\x0b]]>\uffff"))
    ElementTree.fromstring(shown("junit", replace(report, findings=[evil])))


def test_rdjson_columns_count_bytes(report: Report) -> None:
    data = json.loads(shown("rdjson", report))
    assert data["source"] == {"name": "torchlint"}
    third = data["diagnostics"][2]
    assert third["location"]["range"] == {
        "start": {"line": 6, "column": 13},
        "end": {"line": 6, "column": 17},
    }
    assert third["suggestions"] == [
        {"range": {"start": {"line": 6, "column": 21}, "end": {"line": 6, "column": 21}}, "text": ", 1"}
    ]
    assert data["diagnostics"][0]["location"] == {"path": "b.ipynb"}
    assert data["diagnostics"][0]["message"].startswith("cell 3, row 2: ")
    assert "suggestions" not in data["diagnostics"][3]
