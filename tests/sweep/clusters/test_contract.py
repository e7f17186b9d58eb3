"""What the engine may rely on, whatever kind of cluster it is."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import dask
import pandas as pd
import psutil
import pyarrow as pa
import pytest
from distributed import Client, Scheduler, Worker

from solver.errors import InputError
from sweep.clusters import Address, Cluster, Local, open_cluster, reach_cluster
from sweep.clusters.dask_settings import NEEDED
from sweep.clusters.slurm_config import Slurm
from sweep.clusters.ssh_config import Ssh
from sweep.graph.engine import run_sweep
from sweep.rows.schema import SCHEMA
from sweep.store.read_results import read_results
from tests.helpers import wait_until, without_dask
from tests.helpers.dask_processes import Lab
from tests.helpers.drivers import alike


def started_by_hand(folder: Path) -> Iterator[Cluster]:
    """A scheduler and workers, started with Dask's own commands."""
    settings = {"ALLOWED_FAILURES": "0", "WORKER_SATURATION": "1.0"}
    lab = Lab(
        folder, settings={f"DASK_DISTRIBUTED__SCHEDULER__{k}": v for k, v in settings.items()}
    )
    for name in ("one", "two"):
        lab.worker(name)
    yield lab.config()
    lab.close()


@pytest.fixture(
    scope="class",
    params=[
        "local",
        "address",
        pytest.param("ssh", marks=pytest.mark.slow),
        pytest.param("ssh, scheduler here", marks=pytest.mark.slow),
        pytest.param("slurm", marks=pytest.mark.slow),
    ],
)
def cluster(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cluster]:
    """A cluster of each kind that can be run here, for two workers."""
    if request.param == "local":
        yield Local(workers=2)
    elif request.param == "address":
        yield from started_by_hand(tmp_path_factory.mktemp("address"))
    elif request.param == "slurm":
        servers = request.getfixturevalue("slurm")
        yield Slurm.model_validate(servers.config(jobs={"minimum": 2, "maximum": 2}))
    else:
        where = "first" if request.param == "ssh" else "here"
        servers = request.getfixturevalue("ssh_servers")
        yield Ssh.model_validate(servers.config(scheduler=where))


@pytest.fixture(scope="class")
def client(cluster: Cluster) -> Iterator[Client]:
    """The cluster when it is open and its workers have come."""
    with open_cluster(cluster) as opened:

        def have_come() -> bool:
            if len(known_workers(opened)) == 2:
                return True
            cluster.maintain(opened, len(known_workers(opened)), 100)
            return False

        wait_until(have_come)
        yield opened


def children() -> set[psutil.Process]:
    """Processes of ours that are Python; SSH servers come and go by themselves."""
    found = set()
    for one in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):  # it has just gone
            if "python" in one.name():
                found.add(one)
    return found


def known_workers(client: Client) -> dict[str, Any]:
    found: dict[str, Any] = client.scheduler_info(n_workers=-1)["workers"]
    return found


def _dashboard_port(dask_scheduler: Scheduler) -> int:
    return int(dask_scheduler.http_server.port)


class TestContract:
    def test_a_dry_run_starts_nothing_and_tells_no_secret(self, cluster: Cluster) -> None:
        before = children()
        text = cluster.dry_run()
        assert len(text) > 40
        assert "PRIVATE KEY" not in text
        assert children() <= before

    def test_it_can_be_reached(self, cluster: Cluster) -> None:
        why = None
        try:
            reach_cluster(cluster)
        except InputError as error:
            why = str(error)
        assert why is None

    def test_a_worker_is_a_process_with_one_thread_and_a_nanny(self, client: Client) -> None:
        workers = known_workers(client)
        assert len(workers) == 2
        assert {worker["nthreads"] for worker in workers.values()} == {1}
        assert all(worker["nanny"] for worker in workers.values())
        assert len(set(client.run(os.getpid).values())) == 2

    def test_the_scheduler_has_the_settings_of_a_sweep(self, client: Client) -> None:
        def read(dask_scheduler: Scheduler) -> dict[str, Any]:
            return {name: dask.config.get(name) for name in NEEDED}

        found = client.run_on_scheduler(read)
        for name in ("allowed-failures", "worker-saturation"):
            full = f"distributed.scheduler.{name}"
            assert found[full] == NEEDED[full]

    def test_workers_have_the_settings_of_a_sweep(self, client: Client, cluster: Cluster) -> None:
        if isinstance(cluster, Address):
            pytest.skip("who starts the workers by hand chooses their settings")

        def read(dask_worker: Worker) -> tuple[Any, ...]:
            names = ("target", "spill", "pause", "terminate")
            return tuple(dask.config.get(f"distributed.worker.memory.{name}") for name in names)

        assert set(client.run(read).values()) == {(False, False, False, 0.95)}

    def test_dashboards_listen_on_this_machine_only(self, client: Client) -> None:
        def of_scheduler(dask_scheduler: Scheduler) -> str:
            return str(dask_scheduler.http_server.address)

        def of_worker(dask_worker: Worker) -> str:
            return str(dask_worker.http_server.address)

        assert client.run_on_scheduler(of_scheduler) == "127.0.0.1"
        assert set(client.run(of_worker).values()) == {"127.0.0.1"}

    def test_the_dashboard_is_told_where_bokeh_is_installed(
        self, client: Client, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def missing(name: str) -> str:
            raise PackageNotFoundError(name)

        monkeypatch.setattr("sweep.clusters.base.version", missing)
        if isinstance(cluster, Address):
            assert cluster.dashboard(client) == client.dashboard_link
            return
        assert cluster.dashboard(client) is None
        monkeypatch.setattr("sweep.clusters.base.version", lambda name: "3.1")
        told = cluster.dashboard(client)
        if isinstance(cluster, Ssh) and cluster.scheduler == "first":
            assert told is None
            return
        port = client.run_on_scheduler(_dashboard_port)
        assert told == f"http://127.0.0.1:{port}/status"

    def test_a_worker_that_is_killed_is_replaced(self, cluster: Cluster, client: Client) -> None:
        def is_whole() -> bool:
            n_workers = len(known_workers(client))
            cluster.maintain(client, n_workers, 100)  # as the engine does: a job may end meanwhile
            return n_workers == 2

        before = client.run(os.getpid)
        address, pid = next(iter(before.items()))
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: address not in known_workers(client))
        wait_until(is_whole)
        assert pid not in client.run(os.getpid).values()

    def test_a_sweep_gives_the_rows_it_gives_here(
        self, cluster: Cluster, tmp_path: Path, small_rows: list[dict[str, Any]]
    ) -> None:
        outcome = run_sweep(without_dask.small_sweep(), tmp_path / "out", cluster)
        assert (outcome.ran, outcome.failed) == (24, 0)
        found = read_results(tmp_path / "out")
        expected = pa.Table.from_pylist(small_rows, schema=SCHEMA).to_pandas()
        pd.testing.assert_frame_equal(alike(found), alike(expected))
        assert 1 <= found["worker"].nunique() <= 2
