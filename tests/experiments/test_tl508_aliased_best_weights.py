"""TL508: what state_dict() gives changes with the model, so the best weights that were kept are the last ones."""

from __future__ import annotations

from typing import Any

SCRIPT = "tl508_aliased_best_weights.py"


def test_the_last_weights_come_back_before_and_the_best_after(lab: Any) -> None:
    text = lab.before(SCRIPT)
    before = lab.succeed(text)
    after = lab.succeed(lab.fix(text, "TL508", unsafe=False))
    assert before["best"] != before["last"], "training changes the weights"
    assert before["restored"] == before["last"]
    assert after["restored"] == after["best"] == before["best"]
    assert after["last"] == before["last"], "training itself is the same"


SHALLOW = """
import copy, json
import torch

model = torch.nn.Linear(1, 1, bias=False)
kept = {
    "dict": dict(model.state_dict())["weight"],
    "copy": copy.copy(model.state_dict())["weight"],
    "list": list(model.parameters())[0],
    "data": model.weight.data,
    "deepcopy": copy.deepcopy(model.state_dict())["weight"],
    "clone": model.weight.detach().clone(),
}
with torch.no_grad():
    model.weight.add_(1)
print(json.dumps({name: torch.equal(tensor, model.weight) for name, tensor in kept.items()}))
"""


def test_shallow_copies_follow_the_model_as_well(lab: Any) -> None:
    follows = lab.succeed(SHALLOW)
    assert follows == {"dict": True, "copy": True, "list": True, "data": True, "deepcopy": False, "clone": False}
