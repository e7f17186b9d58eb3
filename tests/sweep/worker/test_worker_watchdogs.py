"""The guards of a worker process."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest

from sweep.worker import worker_watchdogs
from sweep.worker.worker_watchdogs import MEMORY_EXIT, SLACK, TIME_EXIT, MemoryGuard, TimeGuard
from tests.helpers import PATIENCE, environment

GUARDED = """
import sys, time
from sweep.worker.worker_watchdogs import TIME_GUARD
limit, grace, naps, length = map(float, sys.argv[1:])
limit = None if limit < 0 else limit
for _ in range(int(naps)):
    with TIME_GUARD.limit(limit, grace, lambda ran: print("timeout", ran, flush=True)):
        end = time.monotonic() + length
        print("begun", flush=True)  # the process may be stopped from here on
        time.sleep(max(0.0, end - time.monotonic()))
print("done")
"""


def start(*numbers: float) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", GUARDED, *map(str, numbers)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment())


def test_a_process_whose_search_times_out_ends_and_says_so() -> None:
    process = start(0.5, 0.25, 1, 60)
    out, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == TIME_EXIT
    assert "timeout" in out
    assert float(out.split()[-1]) > 1.0


@pytest.mark.parametrize("limit", [-1, 0.5])
def test_each_search_has_its_own_time_and_without_a_limit_all_of_it(limit: float) -> None:
    process = start(limit, 1.25, 10, 0.3)
    out, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, out
    assert out.split() == ["begun"] * 10 + ["done"]


def test_time_in_which_the_process_was_stopped_does_not_count() -> None:
    process = start(1.0, 1.0, 1, 3.5)
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    process.send_signal(signal.SIGSTOP)
    time.sleep(3)
    process.send_signal(signal.SIGCONT)
    out, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, out


def test_what_a_guarded_search_raises_passes_and_its_time_is_over() -> None:
    guard = TimeGuard()
    with pytest.raises(ValueError, match="on purpose"), guard.limit(0.0, 0.0, lambda ran: None):
        raise ValueError("on purpose")
    time.sleep(0.6)  # this process would have ended


class Eater:
    """A process as psutil sees it. A real one may take from memory that was freed before."""

    def __init__(self) -> None:
        self.rss = 2**30

    def memory_info(self) -> Eater:
        return self


def test_the_memory_guard_reports_and_ends_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[int] = []
    told: list[int] = []
    eater = Eater()
    monkeypatch.setattr(worker_watchdogs.os, "_exit", ended.append)
    monkeypatch.setattr(worker_watchdogs.psutil, "Process", lambda: eater)
    guard = MemoryGuard()
    with guard.limit(None, told.append):
        eater.rss += 2**40
    with guard.limit(2**20, told.append):
        eater.rss += 2**20  # within the limit and its slack
        time.sleep(0.2)
        assert not told
        eater.rss += 2**20 + SLACK
        deadline = time.monotonic() + PATIENCE
        while not ended and time.monotonic() < deadline:
            time.sleep(0.01)
    assert set(ended) == {MEMORY_EXIT}
    assert told[0] == 2 * 2**20 + SLACK


def test_the_memory_guard_leaves_the_modest_alone() -> None:
    guard, told = MemoryGuard(), []
    for _ in range(3):
        with guard.limit(2**30, told.append):
            time.sleep(0.06)
    assert not told
