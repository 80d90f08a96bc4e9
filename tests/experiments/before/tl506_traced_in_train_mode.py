"""A model with dropout is exported, and the result is asked twice about the same input."""

import json
import warnings

import torch
from torch import nn

warnings.simplefilter("ignore")


def main():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5))
    x = torch.ones(4, 8)
    exported = torch.export.export(model, (x,)).module()
    one, other = exported(x), exported(x)
    print(json.dumps({"same": torch.equal(one, other)}))


if __name__ == "__main__":
    main()
