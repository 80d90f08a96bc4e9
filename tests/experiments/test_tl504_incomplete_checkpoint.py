"""TL504: a run that resumes without the state of its optimizer is another one. There is no fix, so the cure is written out."""

from __future__ import annotations

from typing import Any

SCRIPT = """
import io, json
import torch
from torch import nn

x, y = torch.arange(8.0).reshape(4, 2) / 8, torch.ones(4, 1)

def steps(model, optimizer, count):
    for _ in range(count):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()

def start():
    torch.manual_seed(0)
    model = nn.Linear(2, 1)
    return model, torch.optim.Adam(model.parameters(), lr=0.1)

def resumed(with_optimizer):
    model, optimizer = start()
    steps(model, optimizer, 5)
    buffer = io.BytesIO()
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, buffer)
    buffer.seek(0)
    saved = torch.load(buffer)
    model, optimizer = start()
    model.load_state_dict(saved["model"])
    if with_optimizer:
        optimizer.load_state_dict(saved["optimizer"])
    steps(model, optimizer, 5)
    return model.weight.tolist()

model, optimizer = start()
steps(model, optimizer, 10)
print(json.dumps({"whole": model.weight.tolist(), "without": resumed(False), "with": resumed(True)}))
"""


def test_the_resumed_run_differs_without_the_optimizer_and_not_with_it(lab: Any) -> None:
    found = lab.succeed(SCRIPT)
    assert found["without"] != found["whole"]
    assert found["with"] == found["whole"]
