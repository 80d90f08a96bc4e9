"""A validation pass in eval mode that builds graphs all the same."""

import json

import torch
from torch import nn

saved = 0


def pack(tensor):
    global saved
    saved += tensor.numel()
    return tensor


def validate(model, loader):
    model.eval()
    total, recorded = 0.0, []
    for inputs, targets in loader:
        loss = nn.functional.mse_loss(model(inputs), targets)
        recorded.append(loss.grad_fn is not None)
        total += loss.item()
    model.train()
    return total, recorded


def main():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.5), nn.Linear(32, 1))
    loader = [(torch.randn(16, 8), torch.randn(16, 1)) for _ in range(3)]
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        total, recorded = validate(model, loader)
    print(json.dumps({"loss": total, "recorded": recorded, "saved": saved, "training": model.training}))


if __name__ == "__main__":
    main()
