"""Know which workers a sweep has, and check that it still has a scheduler and some."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Container, Mapping
from contextlib import suppress
from typing import Any

from distributed import Client

from solver.errors import InputError
from sweep.clusters.base import Cluster, connected_workers
from sweep.events import Listener
from sweep.plan.software_versions import difference
from sweep.worker.dask_steps import REFUSED
from sweep.worker.stop_requests import LEAVING

_KEEP_SECONDS = 5.0


def start(call: Callable[..., Any], *arguments: Any, **options: Any) -> None:
    """Ask something of the cluster, of which some may not answer."""

    def ask() -> None:
        with suppress(Exception):
            call(*arguments, **options)

    threading.Thread(target=ask, daemon=True).start()


class ClusterWatch:
    """Has lost workers replaced, and ends the sweep when no worker comes back.

    Workers whose time is over are retired, and those with other versions get no work.

    Parameters
    ----------
    client : Client
    cluster : Cluster
        What the client is connected to.
    listener : Listener
        Told what becomes of workers.

    Attributes
    ----------
    n_workers, threads, memory : int
        Connected workers, their threads, and the bytes of memory that they use.
    """

    def __init__(self, client: Client, cluster: Cluster, listener: Listener) -> None:
        self.client, self.cluster, self._listener = client, cluster, listener
        self._connection = client.scheduler_comm
        self._without_since: float | None = None
        self._kept = -math.inf
        self.n_workers = self.threads = self.memory = 0
        self._leaving: dict[str, bool] = {}
        self._refused: set[str] = set()

    @property
    def n_willing(self) -> int:
        """Workers that get work."""
        return self.n_workers - len(self._refused)

    def hear(self, event: Mapping[str, Any]) -> None:
        """Learn from an event which workers leave, or have other versions than the driver."""
        kind, address = event.get("kind"), event.get("worker", "")
        if event.get("action") == "retire-workers":
            for left in self._leaving.keys() & event["could-not-retire"]:
                self._leaving[left] = False
        elif kind == LEAVING and address not in self._leaving:
            self._leaving[address] = False
            self._listener.note(f"worker {address} leaves, its time is over")
        elif kind == REFUSED and address not in self._refused:
            self._refused.add(address)
            self._listener.note(
                f"worker {address} has another version: {difference(event['fingerprint'])}; "
                "install the same on both; until then it gets no work"
            )
            # The scheduler gives no more work to it.
            options = {"close_workers": False, "remove": False}
            start(self.client.retire_workers, [address], **options)

    def look(self, needed: Container[str] | None) -> set[str]:
        """See which workers there are, and retire those that leave.

        Parameters
        ----------
        needed : container of str or None
            The workers that are not to be retired yet; None for all.

        Returns
        -------
        set of str
            The keys of steps that the scheduler gave to a worker just before it refused them.
            There Dask leaves them, neither run nor given to others.
        """
        workers = connected_workers(self.client)
        if workers is None:  # the scheduler does not answer, see check
            return set()
        self.n_workers = len(workers)
        self.threads = sum(worker["nthreads"] for worker in workers.values())
        self.memory = sum(w.get("metrics", {}).get("memory", 0) for w in workers.values())
        # Dask refuses while no other worker can take their data; then they are asked again.
        if needed is not None and not self._leaving.keys() >= workers.keys():
            for address, is_asked in self._leaving.items():
                if not is_asked and address not in needed:
                    self._leaving[address] = True
                    start(self.client.retire_workers, [address])
        self._refused &= workers.keys()
        if not self._refused:
            return set()
        stuck = self.client.processing(workers=[*self._refused])
        return {str(key) for keys in stuck.values() for key in keys}

    def check(self, workers: int, tasks: int) -> None:
        """Replace lost workers; raise an error if there has been none for too long.

        Raises InputError if the scheduler is lost, or there has been no worker for too long.

        Parameters
        ----------
        workers : int
            How many workers are connected.
        tasks : int
            How many tasks are left, including running ones.
        """
        # When Dask reconnects, the futures of the old connection are lost.
        is_same = self.client.scheduler_comm is self._connection
        if self.client.status != "running" or not is_same:
            raise InputError(
                "the connection to the Dask scheduler is lost; what was finished is stored, and "
                "'treesweep resume' goes on from there"
            )
        now = time.monotonic()
        if now - self._kept > _KEEP_SECONDS:
            self._kept = now
            for note in self.cluster.maintain(self.client, workers, tasks):
                self._listener.note(note)
        timeout = self.cluster.worker_timeout
        if workers:
            self._without_since = None
        elif self._without_since is None:
            self._without_since = now
            self._listener.note("there is no worker at the moment; waiting for one")
        elif now - self._without_since > timeout:
            raise InputError(
                f"the Dask scheduler has had no worker for {timeout:g} s; start workers and "
                "resume the sweep (what was finished is stored)"
            )
