"""Validation that leaves the model in eval mode: the later epochs train with frozen batch norm and without dropout."""

import json

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.5), nn.Linear(16, 1))

    def forward(self, x):
        return self.layers(x)


def validate(model, data, targets):
    model.eval()
    with torch.no_grad():
        return nn.functional.mse_loss(model(data), targets).item()


def main():
    torch.manual_seed(0)
    model = Net()
    norm = model.layers[1]
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    data, targets = torch.randn(64, 8), torch.randn(64, 1)
    counted, trained_in_train_mode = [], []
    model.train()
    for _ in range(3):
        for part, wanted in zip(data.split(16), targets.split(16), strict=True):
            optimizer.zero_grad()
            nn.functional.mse_loss(model(part), wanted).backward()
            optimizer.step()
            trained_in_train_mode.append(model.training)
        counted.append(norm.num_batches_tracked.item())
        validate(model, data, targets)
    print(json.dumps({"counted": counted, "modes": trained_in_train_mode}))


if __name__ == "__main__":
    main()
