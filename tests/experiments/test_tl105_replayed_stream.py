"""TL105: every worker plays a stream that is not split. There is no fix, so the cure is written out."""

from __future__ import annotations

from typing import Any

SCRIPT = """
import json
from itertools import islice
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

class Whole(IterableDataset):
    def __iter__(self):
        yield from range(4)

class Split(IterableDataset):
    def __iter__(self):
        worker = get_worker_info()
        first, step = (worker.id, worker.num_workers) if worker is not None else (0, 1)
        yield from islice(range(4), first, None, step)

def samples(dataset, workers):
    loader = DataLoader(dataset, batch_size=None, num_workers=workers, multiprocessing_context="fork" if workers else None)
    return sorted(loader)

if __name__ == "__main__":
    print(json.dumps({
        "one process": samples(Whole(), 0), "whole": samples(Whole(), 2), "split": samples(Split(), 2),
        "split, one process": samples(Split(), 0),
    }))
"""


def test_samples_come_once_a_worker_unless_the_stream_is_split(lab: Any) -> None:
    once = [0, 1, 2, 3]
    assert lab.succeed(SCRIPT) == {
        "one process": once,
        "whole": [0, 0, 1, 1, 2, 2, 3, 3],
        "split": once,
        "split, one process": once,
    }
