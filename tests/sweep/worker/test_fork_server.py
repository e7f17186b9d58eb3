"""Worker processes are forked from one that has imported what they need."""

from __future__ import annotations

import os

import dask
import pytest

from sweep.clusters.local import Local
from sweep.clusters.open_cluster import open_cluster
from sweep.worker.fork_server import METHOD, SETTINGS, start_fork_server
from tests.helpers import PATIENCE

pytestmark = pytest.mark.skipif(METHOD != "forkserver", reason="workers are forked on Linux only")


def test_workers_have_one_parent_that_is_not_the_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREESWEEP_TEST", "of today")
    with open_cluster(Local(workers=2)) as client:
        client.wait_for_workers(2, timeout=PATIENCE)
        (parent,) = set(client.run(os.getppid).values())
        assert parent != os.getpid()
        assert set(client.run(os.getenv, "TREESWEEP_TEST").values()) == {"of today"}
        assert set(client.run(os.getenv, "OMP_NUM_THREADS").values()) == {
            os.environ.get("OMP_NUM_THREADS", "1")
        }


def test_the_variables_of_the_driver_stay_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    before = dict(os.environ)
    with dask.config.set(SETTINGS):
        start_fork_server()
    assert dict(os.environ) == before
