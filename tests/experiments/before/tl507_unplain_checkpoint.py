"""A checkpoint with the options of its run is saved."""

import argparse
import json
import sys
from pathlib import Path

import numpy as np
import torch
from torch import nn


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("path")
    args = parser.parse_args()
    root = Path(args.path).parent
    best = np.mean([1.0, 2.0])
    torch.save({"model": nn.Linear(1, 1).state_dict(), "args": args, "root": root, "best": best}, sys.argv[1])
    print(json.dumps({}))


if __name__ == "__main__":
    main()
