"""Batches of a pinning loader go to a device; the run records how each copy was asked for."""

import json

import torch
from torch.utils.data import DataLoader, TensorDataset

asked = []
move = torch.Tensor.to


def recorded(self, *args, **kwargs):
    asked.append(kwargs.get("non_blocking", False))
    return move(self, *args, **kwargs)


def main():
    torch.Tensor.to = recorded
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    seen = []
    for x, y in DataLoader(TensorDataset(torch.arange(4.0), torch.arange(4)), batch_size=2, pin_memory=True):
        seen.append(x.to(device).tolist())
        seen.append(y.to(device).tolist())
    print(json.dumps({"seen": seen, "asked": asked}))


if __name__ == "__main__":
    main()
