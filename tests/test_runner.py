"""Many files at once: order, chunks, executors, workers that die."""

from __future__ import annotations

import gc
import os
import re
import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

from torchlint import tasks as files_to_check
from torchlint import workers
from torchlint.findings import Finding, Severity, Text
from torchlint.rules.rule import Rule
from torchlint.rules.tl501_unmapped_load import UnmappedLoad
from torchlint.runner import run
from torchlint.semantics.program import Program
from torchlint.semantics.project import Project
from torchlint.tasks import FileResult, Plan, Task
from torchlint.workers import chunks, in_processes

BAD = 'import torch\nstate = torch.load("x")\n'
PLAN = Plan((UnmappedLoad,))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def tasks(count: int, plan: Plan = PLAN) -> list[Task]:
    made = []
    for number in range(count):
        path = f"f{number:03}.py"
        Path(path).write_text("" if number % 4 == 1 else BAD)
        made.append(Task(path, plan))
    return made


def test_results_come_in_the_order_of_the_tasks() -> None:
    given = [Task("gone.py", PLAN), *reversed(tasks(9)), Task("last.py", PLAN)]
    results = list(run(given))
    assert [result.path for result in results] == [task.path for task in given]
    assert [len(result.findings) for result in results] == [0, 1, 1, 1, 0, 1, 1, 1, 0, 1, 0]
    assert [bool(result.problems) for result in results] == [True, *[False] * 9, True]


def test_bytes_may_be_given() -> None:
    (result,) = run([Task("nowhere.py", PLAN, BAD.encode())])
    assert len(result.findings) == 1


def test_files_in_which_no_rule_can_report_are_not_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    original = files_to_check.check_file
    monkeypatch.setattr(
        files_to_check, "check_file", lambda task, store=None: seen.append(task.path) or original(task, store)
    )
    list(run(tasks(5)))
    assert seen == ["f000.py", "f002.py", "f003.py", "f004.py"]


def test_progress_counts_every_file_once() -> None:
    counted: list[int] = []
    list(run([*tasks(6), Task("gone.py", PLAN)], progress=counted.append))
    assert sum(counted) == 7


class Inline(Executor):
    """An executor as others write them: it runs at once, and it pickles nothing."""

    def __init__(self) -> None:
        self.calls = 0

    def submit(self, fn, /, *args, **kwargs):  # type: ignore[no-untyped-def]
        self.calls += 1
        future: Future[object] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


def test_any_executor_will_do() -> None:
    given = tasks(10)
    expected = list(run(given))
    inline = Inline()
    assert list(run(given, executor=inline)) == expected
    assert inline.calls == 1
    with ThreadPoolExecutor(2) as threads:
        assert list(run(given, executor=threads)) == expected
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as spawned:
        assert list(run(given, executor=spawned)) == expected


def test_an_executor_is_never_far_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "CHUNK_BYTES", 1)
    inline = Inline()
    results = run(tasks(200), executor=inline)
    next(results)
    assert inline.calls < 100


def test_chunks_hold_neighbours_up_to_a_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "CHUNK_BYTES", 10)
    given = [Task(name, PLAN) for name in "abcde"]
    made = [[task.path for task in chunk.tasks] for chunk in chunks(given, [4, 6, 1, 50, 2], None)]
    assert made == [["a", "b"], ["c"], ["d"], ["e"]]


def test_processes_give_the_same() -> None:
    given = tasks(12)
    assert list(in_processes(given, [100_000] * 12, 3)) == list(run(given))


def test_a_generator_that_is_left_early_leaves_no_process() -> None:
    results = in_processes(tasks(12), [100_000] * 12, 2)
    next(results)
    results.close()


class Killer(Rule):
    """Ends its own process in some files."""

    code = "TL501"
    name = "unmapped-load"
    severity = Severity.ERROR
    screen = re.compile(rb"load")

    def check(self, program: Program) -> Iterator[Finding]:
        assert os.getpid() != int(os.environ["TORCHLINT_TEST_PARENT"])
        if "f002" in program.source.path or ("f006" in program.source.path and not os.path.exists("killed")):
            Path("killed").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        yield from (self.finding(program, call, Text("bad"), Text("good")) for call in program.tree.calls)


def killed(results: Sequence[FileResult]) -> list[str]:
    return [str(problem) for result in results for problem in result.problems]


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="the system has no such signal")
def test_a_killed_worker_is_an_error_that_costs_one_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parent.parent))  # a fresh process imports the rule from here
    monkeypatch.setenv("TORCHLINT_TEST_PARENT", str(os.getpid()))
    given = tasks(9, Plan((Killer,)))
    results = list(in_processes(given, [100_000] * 9, 2))
    assert [result.path for result in results] == [task.path for task in given]
    assert killed(results) == [
        "torchlint: a worker process was killed (out of memory?); its files were checked again one by one",
        "f002.py: the process that checked it was killed",
    ]
    assert [len(result.findings) for result in results] == [1, 0, 0, 1, 1, 0, 1, 1, 1]


class Kept:
    """A store in memory."""

    def __init__(self) -> None:
        self.kept: dict[bytes, FileResult] = {}
        self.asked = 0

    def get(self, task: Task, raw: bytes) -> FileResult | None:
        self.asked += 1
        return self.kept.get(raw)

    def put(self, task: Task, raw: bytes, result: FileResult) -> None:
        self.kept[raw] = result


def test_a_store_is_asked_before_and_told_after(monkeypatch: pytest.MonkeyPatch) -> None:
    store = Kept()
    given = tasks(2)
    first = list(run(given, store=store))
    monkeypatch.setattr(files_to_check, "check_file", None)
    assert list(run(given, store=store)) == first
    assert store.asked == 2  # the screened file needs no store


def test_results_with_problems_are_not_kept() -> None:
    store = Kept()
    list(run([Task("a.py", PLAN, b"torch.load(")], store=store))
    assert store.kept == {}


def test_memory_does_not_grow_with_the_number_of_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files_to_check, "_KEPT_BYTES", 4 * len(BAD))
    monkeypatch.setattr(files_to_check, "_COLLECT_BYTES", 1)
    given = tasks(80)
    alive = 0
    for _ in run(given):
        alive = max(alive, sum(isinstance(each, Program) for each in gc.get_objects()))
    assert 0 < alive <= 6


def test_a_file_that_was_written_is_read_again() -> None:
    project = Project(os.getcwd())
    Path("a.py").write_text("x = 1\n")
    first = project.program("a.py")
    assert first is project.program("a.py")
    Path("a.py").write_text("x = 2\n")
    project.forget("a.py")
    again = project.program("a.py")
    assert again is not None
    assert again.source.text == "x = 2\n"


def test_the_least_recently_used_programs_go_first() -> None:
    project = Project(os.getcwd())
    for name in "abc":
        Path(f"{name}.py").write_text("x = 1\n")
        project.program(f"{name}.py")
    kept = project.program("a.py")
    project.trim(len("x = 1\n") * 2)
    assert project.program("a.py") is kept
    assert [os.path.basename(path) for path in project._programs] == ["c.py", "a.py"]
