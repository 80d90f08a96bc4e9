"""Training and validation loss of five epochs under one tag."""

import json
import sys

import torch
from torch import nn
from torch.utils.tensorboard import SummaryWriter


def main(folder):
    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    inputs, targets = torch.randn(64, 4), torch.randn(64, 1)
    held_out, held_out_targets = torch.randn(16, 4), torch.randn(16, 1)
    writer = SummaryWriter(folder)
    for epoch in range(5):
        train_loss = nn.functional.mse_loss(model(inputs), targets)
        optimizer.zero_grad()
        train_loss.backward()
        optimizer.step()
        val_loss = nn.functional.mse_loss(model(held_out), held_out_targets)
        writer.add_scalar("loss", train_loss.item(), epoch)
        writer.add_scalar("loss", val_loss.item(), epoch)
    writer.close()
    print(json.dumps({"weights": model.weight.flatten().tolist()}))


if __name__ == "__main__":
    main(sys.argv[1])
