"""A network whose dropout does not know the mode."""

import json

import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(8, 64), nn.Linear(64, 1)

    def forward(self, x):
        return self.last(F.dropout(self.first(x), 0.5))


def spread(model, data):
    with torch.no_grad():
        return torch.stack([model(data) for _ in range(8)]).std(0).max().item()


def main():
    torch.manual_seed(0)
    model, data = Net(), torch.randn(4, 8)
    model.train()
    training = spread(model, data)
    model.eval()
    print(json.dumps({"train": training, "eval": spread(model, data)}))


if __name__ == "__main__":
    main()
