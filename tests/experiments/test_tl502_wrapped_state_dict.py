"""TL502: the state of a wrapped model does not load into the bare one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

SCRIPT = "tl502_wrapped_state_dict.py"

LOAD = """
import json, sys
import torch
from torch import nn

torch.manual_seed(1)
model = nn.Linear(4, 2)
before = model.weight.clone()
saved = torch.load(sys.argv[1], map_location="cpu", weights_only=True)
found = model.load_state_dict(saved, strict=sys.argv[2] == "strict")
print(json.dumps({"changed": not torch.equal(before, model.weight), "missing": found.missing_keys}))
"""


def test_the_bare_model_does_not_take_the_state_before_and_does_after(lab: Any, tmp_path: Path) -> None:
    text = lab.before(SCRIPT)
    before, after = tmp_path / "before.pt", tmp_path / "after.pt"
    assert lab.succeed(text, before)["keys"] == ["module.weight", "module.bias"]
    assert lab.succeed(lab.fix(text, "TL502", unsafe=False), after)["keys"] == ["weight", "bias"]
    run = lab.run(LOAD, before, "strict")
    assert run.status != 0
    assert "Missing key(s)" in run.errors
    assert lab.succeed(LOAD, after, "strict") == {"changed": True, "missing": []}


def test_without_strict_nothing_is_loaded_and_nothing_is_said(lab: Any, tmp_path: Path) -> None:
    path = tmp_path / "before.pt"
    lab.succeed(lab.before(SCRIPT), path)
    run = lab.run(LOAD, path, "loose")
    assert run.status == 0
    assert run.result == {"changed": False, "missing": ["weight", "bias"]}
    assert run.errors == ""


COMPILED = """
import json
import torch
from torch import nn

bare = nn.Linear(4, 2)
both = torch.compile(nn.DataParallel(nn.Linear(4, 2)))
print(json.dumps({
    "compiled": list(torch.compile(bare).state_dict()),
    "inside": list(torch.compile(bare)._orig_mod.state_dict()),
    "both": list(both.state_dict()),
    "inside both": list(both._orig_mod.module.state_dict()),
    "not wrapped": list(getattr(bare, "module", bare).state_dict()),
}))
"""


def test_compiled_models_have_a_prefix_of_their_own(lab: Any) -> None:
    bare = ["weight", "bias"]
    assert lab.succeed(COMPILED) == {
        "compiled": ["_orig_mod.weight", "_orig_mod.bias"],
        "inside": bare,
        "both": ["_orig_mod.module.weight", "_orig_mod.module.bias"],
        "inside both": bare,
        "not wrapped": bare,
    }
