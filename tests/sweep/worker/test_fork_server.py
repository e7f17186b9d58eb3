"""Worker processes are forked from one that has imported what they need."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.context import ForkServerProcess
from time import sleep

import dask
import pytest

from sweep.clusters.local import Local
from sweep.clusters.open_cluster import open_cluster
from sweep.worker.fork_server import (
    METHOD,
    SETTINGS,
    let_one_thread_read_each_exit_code,
    start_fork_server,
)
from tests.helpers import PATIENCE

pytestmark = pytest.mark.skipif(METHOD != "forkserver", reason="workers are forked on Linux only")


def test_workers_have_one_parent_that_is_not_the_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREESWEEP_TEST", "of today")
    with open_cluster(Local(workers=2)) as client:
        client.wait_for_workers(2, timeout=PATIENCE)
        (parent,) = set(client.run(os.getppid).values())
        assert parent != os.getpid()
        assert set(client.run(os.getenv, "TREESWEEP_TEST").values()) == {"of today"}
        assert set(client.run(gc.isenabled).values()) == {True}
        assert min(client.run(gc.get_freeze_count).values()) > 100_000
        assert set(client.run(os.getenv, "OMP_NUM_THREADS").values()) == {
            os.environ.get("OMP_NUM_THREADS", "1")
        }


def test_the_variables_of_the_driver_stay_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    before = dict(os.environ)
    with dask.config.set(SETTINGS):
        start_fork_server()
    assert dict(os.environ) == before


def test_an_exit_code_is_not_lost_when_several_threads_ask_for_it() -> None:
    """Without the lock 255 comes in most runs of this test."""
    let_one_thread_read_each_exit_code()
    forked = multiprocessing.get_context("forkserver")

    def exit_code(process: ForkServerProcess) -> int | None:
        process.join(PATIENCE)
        return process.exitcode

    with ThreadPoolExecutor(8) as threads:
        for _ in range(50):
            process = forked.Process(target=sleep, args=(PATIENCE,))
            process.start()
            asked = [threads.submit(exit_code, process) for _ in range(8)]
            os.kill(process.pid or 0, signal.SIGKILL)
            assert {code.result() for code in asked} == {-signal.SIGKILL}
