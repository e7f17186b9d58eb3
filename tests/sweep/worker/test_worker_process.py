"""The guards of a worker process."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest

from sweep.rows import result_rows
from sweep.worker import worker_process as worker
from sweep.worker.worker_process import (
    TimeGuard,
    first_on_machine,
    is_stopped,
    name_run,
    take_over,
)
from tests.helpers import environment

GUARDED = """
import sys, time
from sweep.worker.worker_process import TIME_GUARD
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
    out, _ = process.communicate(timeout=30)
    assert process.returncode == worker.TIME_EXIT
    assert "timeout" in out
    assert float(out.split()[-1]) > 1.0


@pytest.mark.parametrize("limit", [-1, 0.5])
def test_each_search_has_its_own_time_and_without_a_limit_all_of_it(limit: float) -> None:
    process = start(limit, 1.25, 10, 0.3)
    out, _ = process.communicate(timeout=30)
    assert process.returncode == 0, out
    assert out.split() == ["begun"] * 10 + ["done"]


def test_time_in_which_the_process_was_stopped_does_not_count() -> None:
    process = start(1.0, 1.0, 1, 3.5)
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    process.send_signal(signal.SIGSTOP)
    time.sleep(3)
    process.send_signal(signal.SIGCONT)
    out, _ = process.communicate(timeout=30)
    assert process.returncode == 0, out


def test_what_a_guarded_search_raises_passes_and_its_time_is_over() -> None:
    guard = TimeGuard()
    with pytest.raises(ValueError, match="on purpose"), guard.limit(0.0, 0.0, lambda ran: None):
        raise ValueError("on purpose")
    time.sleep(0.6)  # this process would have ended


def test_a_row_lasts_as_long_as_it_took_whatever_the_clock_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    place = result_rows.Provenance("here", None, result_rows.now())
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() - 86_400)
    monkeypatch.setattr(result_rows, "now", lambda: pytest.fail("the clock is read again"))
    time.sleep(0.05)
    assert 0.05 <= (place.finished - place.started).total_seconds() < 3600


def test_a_run_is_stopped_by_a_later_one_of_the_same_store_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(worker, "_latest", {})
    first, second, other = name_run("here:/a"), name_run("here:/a"), name_run("here:/b")
    assert len({first, second, other}) == 3
    take_over(first)
    take_over(other)
    assert not is_stopped(first)
    take_over(second)
    assert is_stopped(first)
    assert not is_stopped(second)
    assert not is_stopped(other)


def test_one_does_it_first_and_then_all_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    told: list[str] = []

    def second() -> None:
        with first_on_machine("compile", "1"):
            told.append("second")

    other = threading.Thread(target=second)
    with first_on_machine("compile", "1"):
        other.start()
        other.join(0.2)
        told.append("first")
    other.join()
    assert told == ["first", "second"]
    with first_on_machine("compile", "1"):
        second()  # waits for nobody, or this would never end
    assert told == ["first", "second", "second"]


def test_what_failed_is_done_first_by_one_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(ZeroDivisionError), first_on_machine("compile", "1"):
        raise ZeroDivisionError
    (file,) = tmp_path.iterdir()
    assert not file.read_bytes()
    with first_on_machine("compile", "1"):
        pass
    assert file.read_bytes()
    with first_on_machine("compile", "2"):
        assert len([*tmp_path.iterdir()]) == 2
