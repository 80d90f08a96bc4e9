"""A validation pass without eval(): the batch-norm statistics learn from the validation data."""

import json

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, x):
        return self.layers(x)


def validate(model, data, targets):
    with torch.no_grad():
        return nn.functional.mse_loss(model(data), targets).item()


def main():
    torch.manual_seed(0)
    model = Net()
    norm = model.layers[1]
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    data, targets = torch.randn(64, 8), torch.randn(64, 1)
    held_out, held_out_targets = 3 + 2 * torch.randn(32, 8), torch.randn(32, 1)
    report = {"drift": [], "counted": [], "losses": [], "training": []}
    model.train()
    for _ in range(3):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(data), targets).backward()
        optimizer.step()
        report["training"].append(model.training)
        mean, count = norm.running_mean.clone(), norm.num_batches_tracked.item()
        report["losses"].append([validate(model, held_out, held_out_targets) for _again in range(2)])
        report["drift"].append((norm.running_mean - mean).abs().max().item())
        report["counted"].append(norm.num_batches_tracked.item() - count)
    report["weights"] = [value for weight in model.parameters() for value in weight.flatten().tolist()]
    print(json.dumps(report))


if __name__ == "__main__":
    main()
