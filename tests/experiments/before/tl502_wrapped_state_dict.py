"""A wrapped model is saved, and what was saved is loaded into the bare one."""

import json
import sys

import torch
from torch import nn


def main(path):
    torch.manual_seed(0)
    model = nn.DataParallel(nn.Linear(4, 2))
    torch.save(model.state_dict(), path)
    print(json.dumps({"keys": list(torch.load(path, map_location="cpu", weights_only=True))}))


if __name__ == "__main__":
    main(sys.argv[1])
