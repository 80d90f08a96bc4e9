"""Batches from a loader go to a device; the run says what the loader was asked for and what arrived."""

import json

import torch
from torch.utils.data import DataLoader, TensorDataset


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    loader = DataLoader(TensorDataset(torch.arange(8.0)), batch_size=4)
    seen = []
    for (x,) in loader:
        x = x.to(device)
        seen.append(x.tolist())
    print(json.dumps({"seen": seen, "asked": loader.pin_memory, "gpu": torch.cuda.is_available()}))


if __name__ == "__main__":
    main()
