"""Training whose gradients pile up. How far a step goes beyond the gradient of its own batch is worked out by hand."""

import json

import torch
from torch import nn


def main():
    torch.manual_seed(0)
    data = torch.randn(64, 8)
    targets = data.sum(1, keepdim=True)
    model = nn.Linear(8, 1, bias=False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses, strays = [], []
    for _ in range(60):
        loss = nn.functional.mse_loss(model(data), targets)
        before = model.weight.detach().clone()
        own = 2 / 64 * (data @ before.T - targets).T @ data
        loss.backward()
        optimizer.step()
        strays.append(((before - model.weight.detach()) / 0.1 - own).norm().item())
        losses.append(loss.item())
    print(json.dumps({"losses": losses, "strays": strays}))


if __name__ == "__main__":
    main()
