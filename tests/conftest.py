"""What holds for all tests: one thread, and a missing dependency is a failure."""

from __future__ import annotations

import os
import re
import signal

import pytest
from hypothesis import HealthCheck, settings

# OpenMP threads spin against each other; with several of them a busy machine is an order slower.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Messages are compared in English, also where the locale is another.
os.environ["TORCHLINT_LANG"] = "en"

# Messages are compared in English, whatever the locale of the machine.
os.environ["TORCHLINT_LANG"] = "en"

# A shell that starts the tests in the background makes them, and all they start, deaf to Ctrl-C.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# No test asserts a time, and a busy machine is no failure.
settings.register_profile("torchlint", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("torchlint")

_MISSING = re.compile(r"could not import|not installed|no module named", re.IGNORECASE)
_skipped: list[str] = []


def _note(report: pytest.TestReport | pytest.CollectReport) -> None:
    if report.skipped and _MISSING.search(str(report.longrepr)):
        _skipped.append(f"{report.nodeid}: {report.longrepr}")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    _note(report)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    _note(report)


def pytest_sessionfinish(session: pytest.Session) -> None:
    if _skipped:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for line in _skipped:
        terminalreporter.write_line(f"a missing dependency is a failure here: {line}", red=True)
