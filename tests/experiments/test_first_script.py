"""The example script of the README: all five pitfalls, and a script that runs everywhere after the tool's own fixes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from torchlint.fixing import fix_source
from torchlint.inspection import inspect
from torchlint.rules.rule import builtin_rules
from torchlint.source import Source, read_source

SCRIPT = Path(__file__).parent.parent.parent / "examples" / "first_script.py"
CODES = ["TL101", "TL101", "TL201", "TL301", "TL401", "TL501"]


def rules() -> list[Any]:
    return [rule() for rule in builtin_rules() if rule.code in CODES]


@pytest.fixture(scope="module")
def source() -> Source:
    return read_source(str(SCRIPT), SCRIPT.read_bytes())


def test_every_pitfall_is_found(source: Source) -> None:
    assert sorted(finding.code for finding in inspect(source, rules()).findings) == CODES


def test_the_fixed_script_trains_saves_and_resumes_without_cuda(lab: Any, source: Source, tmp_path: Path) -> None:
    before = lab.run(source.text, "--epochs", "1")
    assert before.status != 0
    assert ".cuda()" in before.errors
    fixed = fix_source(source, rules(), unsafe=True)
    assert not fixed.remaining
    ending = '    import json; print(json.dumps({"trained": True}))\n'
    assert lab.succeed(fixed.source.text + ending, "--epochs", "2") == {"trained": True}
    assert lab.succeed(fixed.source.text + ending, "--epochs", "1", "--resume", "model.pt") == {"trained": True}
