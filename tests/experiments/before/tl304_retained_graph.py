"""A running loss that holds the graph of every step."""

import gc
import json

import torch
from torch import nn


def graphs_alive():
    gc.collect()
    return sum(1 for each in gc.get_objects() if isinstance(each, torch.Tensor) and each.grad_fn is not None)


def length(total):
    """How many operations the graph behind ``total`` holds."""
    seen, pending = set(), [getattr(total, "grad_fn", None)]
    while pending:
        node = pending.pop()
        if node is not None and node not in seen:
            seen.add(node)
            pending.extend(before for before, _ in node.next_functions)
    return len(seen)


def main():
    torch.manual_seed(0)
    model = nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    running_loss, history = 0.0, []
    lengths, alive = [], []
    for _ in range(5):
        data = torch.randn(16, 8)
        optimizer.zero_grad()
        loss = (model(data) - 1).square().mean()
        loss.backward()
        optimizer.step()
        running_loss += loss
        history.append(loss)
        del loss
        lengths.append(length(running_loss))
        alive.append(graphs_alive())
    weights = [value for weight in model.parameters() for value in weight.flatten().tolist()]
    print(json.dumps({"lengths": lengths, "alive": alive, "sum": float(running_loss), "weights": weights}))


if __name__ == "__main__":
    main()
