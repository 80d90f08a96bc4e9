"""A script that has a device variable and uses it for the model, but not for the batches."""

import json

import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def main():
    torch.manual_seed(0)
    model = nn.Linear(4, 1).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for _ in range(5):
        inputs = torch.randn(8, 4).cuda()
        targets = torch.randn(8, 1).cuda(non_blocking=True)
        loss = nn.functional.mse_loss(model(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    print(json.dumps({"device": str(model.weight.device), "losses": losses}))


if __name__ == "__main__":
    main()
