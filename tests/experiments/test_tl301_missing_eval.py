"""TL301: a model that is measured in train mode is changed by being measured, and judged by its batch's statistics."""

from __future__ import annotations

from typing import Any

SCRIPT = "tl301_missing_eval.py"


def test_validation_changes_the_model_before_and_leaves_it_alone_after(lab: Any) -> None:
    text = lab.before(SCRIPT)
    before = lab.succeed(text)
    after = lab.succeed(lab.fix(text, "TL301", unsafe=True))
    assert min(before["drift"]) > 0.1, "running_mean learns from the validation data"
    assert before["counted"] == [2, 2, 2]
    assert after["drift"] == [0, 0, 0]
    assert after["counted"] == [0, 0, 0]
    assert all(first == second for first, second in after["losses"]), "the same data give the same loss"
    assert before["losses"] != after["losses"]


def test_training_goes_on_in_train_mode_and_to_the_same_weights(lab: Any) -> None:
    text = lab.before(SCRIPT)
    before = lab.succeed(text)
    after = lab.succeed(lab.fix(text, "TL301", unsafe=True))
    assert after["training"] == [True, True, True], "the fix puts the earlier mode back"
    assert before["weights"] == after["weights"], "only what is measured differs, not what is learned"


DROPOUT = """
import json
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5))
data = torch.randn(4, 8)

def same():
    with torch.no_grad():
        return bool((model(data) == model(data)).all())

model.train()
train = same()
model.eval()
print(json.dumps({"train": train, "eval": same()}))
"""


def test_no_grad_does_not_switch_dropout_off(lab: Any) -> None:
    assert lab.succeed(DROPOUT) == {"train": False, "eval": True}


EVAL_ALONE = """
import json
import torch
from torch import nn

model = nn.Linear(2, 1).eval()
loss = model(torch.ones(1, 2)).sum()
loss.backward()
print(json.dumps({"enabled": torch.is_grad_enabled(), "gradient": model.weight.grad.tolist()}))
"""


def test_eval_does_not_switch_gradients_off(lab: Any) -> None:
    assert lab.succeed(EVAL_ALONE) == {"enabled": True, "gradient": [[1.0, 1.0]]}
