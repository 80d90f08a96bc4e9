"""A network that makes its noise on the CPU. The device is ``meta``: it needs no GPU."""

import json
import sys

import torch
from torch import nn


class Noise(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8)

    def forward(self, x):
        return self.layer(x) + torch.randn(x.shape)


def main(device):
    torch.manual_seed(0)
    output = Noise().to(device)(torch.ones(2, 8, device=device))
    print(json.dumps({"device": str(output.device), "values": [] if device == "meta" else output.flatten().tolist()}))


if __name__ == "__main__":
    main(sys.argv[1])
