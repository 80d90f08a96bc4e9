"""A tensor moved beside its module, but the new copy is thrown away. The device is ``meta``: it needs no GPU."""

import json

import torch
from torch import nn


def sample(model, device):
    model.to(device)
    noise = torch.randn(4, 8)
    noise.to(device)
    return model(noise), noise


def main():
    model = nn.Linear(8, 2)
    output, noise = sample(model, torch.device("meta"))
    print(json.dumps({"module": str(model.weight.device), "tensor": str(noise.device), "output": str(output.device)}))


if __name__ == "__main__":
    main()
