"""TL101: without workers nothing is loaded while the model trains; with the tool's fix other processes load ahead."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

OWN_INTERPRETER = True  # how one starts workers is what is shown
SCRIPT = "tl101_no_workers.py"


@pytest.fixture
def text(lab: Any) -> str:
    return str(lab.before(SCRIPT))


@pytest.fixture
def fixed(lab: Any, text: str) -> str:
    return str(lab.fix(text, "TL101", unsafe=True))


def marks(tmp_path: Path, name: str) -> Path:
    folder = tmp_path / name
    folder.mkdir()
    return folder


def test_batches_are_loaded_ahead_only_after_the_fix(lab: Any, text: str, fixed: str, tmp_path: Path) -> None:
    # Before, no patience is long enough: the one process is waiting itself. After, the wait ends with the first mark.
    before = lab.succeed(text, marks(tmp_path, "before"), "1", "plain")
    after = lab.succeed(fixed, marks(tmp_path, "after"), "120", "plain")
    assert (before["ahead"], before["in_training_process"]) == (False, True)
    assert (after["ahead"], after["in_training_process"]) == (True, False)
    assert before["samples"] == after["samples"], "the samples and their order stay"


def test_the_fix_is_unsafe_because_random_samples_change(lab: Any, text: str, fixed: str, tmp_path: Path) -> None:
    before = lab.succeed(text, marks(tmp_path, "before"), "0", "noisy")
    again = lab.succeed(text, marks(tmp_path, "again"), "0", "noisy")
    after = lab.succeed(fixed, marks(tmp_path, "after"), "0", "noisy")
    assert before["samples"] == again["samples"], "the seed fixes the samples"
    assert before["samples"] != after["samples"], "but workers draw from streams of their own"


def test_the_fix_is_not_offered_as_safe(lab: Any, text: str) -> None:
    with pytest.raises(AssertionError, match="TL101 fixes nothing"):
        lab.fix(text, "TL101", unsafe=False)


STREAM = """
import json
from torch.utils.data import DataLoader, IterableDataset

class Stream(IterableDataset):
    def __iter__(self):
        return iter(range(4))

if __name__ == "__main__":
    print(json.dumps({"samples": sorted(int(x) for x in DataLoader(Stream(), batch_size=None, num_workers=WORKERS))}))
"""

SPAWNED = """
import json
from torch.utils.data import DataLoader

if __name__ == "__main__":
    loader = DataLoader(range(4), num_workers=2, collate_fn=lambda batch: batch, multiprocessing_context="spawn")
    print(json.dumps({"batches": len(list(loader))}))
"""

UNGUARDED = """
import json
import torch
from torch.utils.data import DataLoader

loader = DataLoader(torch.arange(4), num_workers=2, multiprocessing_context="spawn")
print(json.dumps({"batches": len(list(loader))}))
"""


CROWDED = """
import json, os, warnings
from torch.utils.data import DataLoader

cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
warned = {}
for extra in (0, 1):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        DataLoader(range(4), num_workers=cores + extra)
    warned[str(extra)] = any("suggested max number of worker" in str(each.message) for each in caught)
print(json.dumps(warned))
"""


def test_torch_warns_of_more_workers_than_cores(lab: Any) -> None:
    assert lab.succeed(CROWDED) == {"0": False, "1": True}


def test_why_it_is_withheld_for_streams_without_shards(lab: Any) -> None:
    alone = lab.succeed(STREAM.replace("WORKERS", "0"))
    shared = lab.succeed(STREAM.replace("WORKERS", "2"))
    assert alone["samples"] == [0, 1, 2, 3]
    assert shared["samples"] == [0, 0, 1, 1, 2, 2, 3, 3], "each worker gives every sample"


def test_why_it_is_withheld_for_lambdas(lab: Any) -> None:
    run = lab.run(SPAWNED)
    assert run.status != 0
    assert "pickle" in run.errors


def test_why_it_is_withheld_without_a_main_guard(lab: Any) -> None:
    run = lab.run(UNGUARDED)
    assert run.status != 0
    assert "exited unexpectedly" in run.errors
