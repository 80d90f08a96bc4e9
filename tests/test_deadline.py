"""A block that takes too long is left, whatever it does meanwhile."""

from __future__ import annotations

import re
import signal
import threading
import time

import pytest

from torchlint.deadline import TimeLimitReached, time_limit

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="the system has no timers")


def spin() -> None:
    while True:
        pass


def guarded() -> None:
    """What no exception ends."""
    while True:
        try:
            spin()
        except Exception:
            continue


def backtrack() -> None:
    re.match(r"(a|aa)+$", "a" * 60 + "b")


@pytest.mark.parametrize("hang", [spin, guarded, backtrack])
def test_a_hang_ends(hang):
    with pytest.raises(TimeLimitReached), time_limit(0.05):
        hang()


def test_what_is_raised_in_a_finalizer_is_raised_again(monkeypatch):
    class Hanging:
        def __del__(self) -> None:
            end = time.process_time() + 0.1
            while time.process_time() < end:
                pass

    def hang() -> None:
        Hanging()
        spin()

    monkeypatch.setattr("torchlint.deadline._AGAIN_SECONDS", 0.05)
    monkeypatch.setattr("sys.unraisablehook", lambda lost: None)
    with pytest.raises(TimeLimitReached), time_limit(0.05):
        hang()


def test_time_that_others_use_does_not_count():
    with time_limit(0.05):
        time.sleep(0.2)


def test_nothing_stays_behind():
    def ours(number: int, frame: object) -> None:
        raise AssertionError("the timer still runs")

    before = signal.signal(signal.SIGVTALRM, ours)
    try:
        with time_limit(0.05):
            pass
        assert signal.getsignal(signal.SIGVTALRM) is ours
        assert signal.getitimer(signal.ITIMER_VIRTUAL) == (0.0, 0.0)
        with pytest.raises(ZeroDivisionError), time_limit(0.05):
            raise ZeroDivisionError
        assert signal.getsignal(signal.SIGVTALRM) is ours
        assert signal.getitimer(signal.ITIMER_VIRTUAL) == (0.0, 0.0)
    finally:
        signal.signal(signal.SIGVTALRM, before)


def test_other_threads_run_without_a_limit():
    done: list[int] = []

    def run() -> None:
        with time_limit(0.01):
            done.append(sum(range(1_000_000)))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert len(done) == 1
