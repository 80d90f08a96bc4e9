"""A sampler and shuffling, both in one loader; and a validation loader that drops data."""

import json

from torch.utils.data import DataLoader, SequentialSampler


def main():
    data = list(range(5))
    test_loader = DataLoader(data, batch_size=8, drop_last=True)
    seen = [batch.tolist() for batch in test_loader]
    print(json.dumps({"seen": seen}))
    loader = DataLoader(data, batch_size=5, shuffle=True, sampler=SequentialSampler(data))
    print(json.dumps({"seen": seen, "order": next(iter(loader)).tolist()}))


if __name__ == "__main__":
    main()
