"""The article end to end: a script with all its mistakes, the same after the tool's fixes, and finished by hand.

Every mistake is found, the fixed form is what the tool writes, and the three forms are run: what breaks or is measured
wrongly in one holds in the next.
"""

from __future__ import annotations

import re
import shutil
import warnings
from pathlib import Path
from typing import Any

import pytest

from torchlint.fixing import fix_source
from torchlint.inspection import inspect
from torchlint.rules.rule import builtin_rules
from torchlint.semantics.project import Project
from torchlint.source import Source, read_source

torch = pytest.importorskip("torch")

ROOT = Path(__file__).parent.parent.parent
PAGE = ROOT / "docs" / "article.md"
CODES = {
    *("TL101", "TL102"),
    *("TL201", "TL202", "TL204", "TL205"),
    *("TL301", "TL302", "TL304"),
    *("TL401", "TL402", "TL404"),
    *("TL501", "TL502", "TL503", "TL504", "TL506", "TL507"),
}
BY_HAND = {"TL205", "TL503", "TL504"}
PROJECT = Project(str(ROOT))  # from its requirements the rules know how new PyTorch is
DEPLOY = "    deploy()\n"
RESUME = '    args.epochs, args.resume = 2, "checkpoint.pt"\n    train(args)\n'
END = '    import json\n    print(json.dumps({"ended": True}))\n'


def form(name: str) -> Source:
    path = ROOT / "examples" / f"article_{name}.py"
    return read_source(str(path), path.read_bytes())


def rules(*codes: str) -> list[Any]:
    return [rule() for rule in builtin_rules() if not codes or rule.code in codes]


def fixed_by(source: Source, *codes: str) -> Source:
    return fix_source(source, rules(*codes), PROJECT, unsafe=True).source


def found(source: Source) -> list[tuple[int, str]]:
    return sorted((finding.span.row, finding.code) for finding in inspect(source, rules(), PROJECT).findings)


def test_every_mistake_is_found_and_the_page_lists_what_the_tool_says() -> None:
    findings = found(form("before"))
    assert {code for _, code in findings} == CODES
    rows = re.findall(r"^\| (\d+) \| \[(TL\d+)\]\(rules/\2\.md\) \|", PAGE.read_text("utf-8"), re.MULTILINE)
    assert sorted((int(row), code) for row, code in rows) == findings


def test_the_fixed_form_is_what_the_tool_writes_and_the_rest_is_for_the_author() -> None:
    assert fixed_by(form("before")).text == form("fixed").text
    assert {code for _, code in found(form("fixed"))} == BY_HAND
    assert found(form("finished")) == []


def trained(lab: Any, source: Source, afterwards: str = "") -> Any:
    """Train for an epoch and go on in the same process, for importing torch takes longer than all the rest."""
    return lab.run(source.text + afterwards + END, "train", "--epochs", "1")


def tags(folder: Path) -> set[str]:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    return set(EventAccumulator(str(folder)).Reload().Tags()["scalars"])


def weights(lab: Any) -> dict[str, Any]:
    return dict(torch.load(lab.folder / "checkpoint.pt", weights_only=False)["model"])


@pytest.fixture(autouse=True)
def empty_folder(lab: Any) -> None:
    """Nothing is left from the form that ran before."""
    for path in lab.folder.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    lab._runs.clear()


def test_as_written_it_ends_at_the_first_batch_without_cuda(lab: Any) -> None:
    run = trained(lab, form("before"))
    assert run.status != 0
    assert ".cuda()" in run.errors


def test_with_the_crash_alone_mended_the_silent_mistakes_show(lab: Any) -> None:
    source = fixed_by(form("before"), "TL401")
    run = trained(lab, source, DEPLOY)
    assert run.status != 0, "the model cannot be deployed from its own checkpoint"
    assert "argparse.Namespace" in run.errors
    state = weights(lab)
    assert all(key.startswith("module.") for key in state)
    assert state["module.features.1.num_batches_tracked"] == 6 + 3, "six batches of training, three of validation"
    assert tags(lab.folder / "events") == {"loss"}
    assert len(list(lab.folder.glob("events/accuracy_*"))) == 2


def test_after_the_tools_fixes_it_trains_measures_and_deploys(lab: Any) -> None:
    run = trained(lab, form("fixed"), DEPLOY)
    assert run.status == 0, run.errors
    state = weights(lab)
    assert state["features.1.num_batches_tracked"] == 6, "validation no longer counts"
    assert tags(lab.folder / "events") == {"train/loss", "val/loss"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch has deprecated TorchScript
        model, picture = torch.jit.load(lab.folder / "deployed.pt"), torch.ones(1, 3, 8, 8)
    assert torch.equal(model(picture), model(picture)), "dropout is off in the file"
    checkpoint = torch.load(lab.folder / "checkpoint.pt", weights_only=True)
    assert checkpoint["config"]["epochs"] == 1
    assert "optimizer" not in checkpoint, "what only the author can add"


def test_finished_by_hand_it_resumes_with_the_state_of_the_optimizer(lab: Any) -> None:
    run = trained(lab, form("finished"), RESUME)
    assert run.status == 0, run.errors
    checkpoint = torch.load(lab.folder / "checkpoint.pt", weights_only=True)
    assert checkpoint["optimizer"]["state"][0]["step"] == 12, "two epochs of six steps, counted through the break"
    assert tags(lab.folder / "events") == {"train/loss", "val/loss", "train/accuracy", "val/accuracy"}
    assert set(torch.load(lab.folder / "model.pt", weights_only=True)) == set(checkpoint["model"])
