"""A scan on a cluster of two workers gives what a scan here gives, also when one of them is killed on the way."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from torchlint import workers
from torchlint.cluster import ClusterError, cluster
from torchlint.rules.tl501_unmapped_load import UnmappedLoad
from torchlint.runner import run
from torchlint.tasks import Plan, Task

distributed = pytest.importorskip("distributed", reason="the extra `cluster` is not installed")
BAD = "import torch\nstate = torch.load('x')\n"


def test_nothing_is_lost_or_doubled_when_a_worker_is_killed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(workers, "CHUNK_BYTES", 1)
    given = []
    for number in range(150):
        path = tmp_path / f"f{number:03}.py"
        path.write_text(BAD * (1 + number % 3))
        given.append(Task(str(path), Plan((UnmappedLoad,))))
    expected = list(run(given))
    assert sum(len(result.findings) for result in expected) == 300
    with (
        distributed.LocalCluster(2, threads_per_worker=1, dashboard_address=None) as local,
        cluster(local.scheduler_address) as executor,
    ):
        results = run(given, executor=executor)
        seen = [next(results)]
        with distributed.Client(local.scheduler_address, set_as_default=False) as client:
            doomed = next(iter(client.run(os.getpid).values()))
        for task in given[:60]:
            os.unlink(task.path)  # sent already, as bytes: the paths are no longer needed
        os.kill(doomed, signal.SIGKILL)
        seen.extend(results)
    assert seen == expected


def test_a_scheduler_that_does_not_answer_is_one_sentence() -> None:
    with pytest.raises(ClusterError, match="no scheduler answers at tcp://127"), cluster("tcp://127.0.0.1:9", 1):
        pass
