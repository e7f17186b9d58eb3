"""Whether there is still somebody to work for a sweep."""

from __future__ import annotations

import math
import time

from distributed import Client

from solver.errors import InputError
from sweep.clusters.base import Cluster
from sweep.events import Listener

_KEEP_SECONDS = 5.0


class ClusterWatch:
    """Has lost workers replaced, and gives up when there is nobody to work for us.

    Parameters
    ----------
    client : Client
    config : Cluster
    listener : Listener
        Told when there is no worker.
    """

    def __init__(self, client: Client, config: Cluster, listener: Listener) -> None:
        self._client, self._config, self._listener = client, config, listener
        self._connection = client.scheduler_comm
        self._without_since: float | None = None
        self._kept = -math.inf

    def check(self, workers: int, tasks: int) -> None:
        """See to it that there are workers.

        Parameters
        ----------
        workers : int
            The workers that are there.
        tasks : int
            The tasks that are left, running ones among them.

        Raises
        ------
        InputError
            If the scheduler is lost, or no worker has come for too long.
        """
        # A connection that Dask has made anew does not know what was asked for through the old one.
        is_same = self._client.scheduler_comm is self._connection
        if self._client.status != "running" or not is_same:
            raise InputError(
                "the connection to the Dask scheduler is lost; what was finished is stored, and "
                "'treesweep resume' goes on from there"
            )
        now = time.monotonic()
        if now - self._kept > _KEEP_SECONDS:
            self._kept = now
            for note in self._config.keep(self._client, workers, tasks):
                self._listener.note(note)
        patience = self._config.worker_timeout
        if workers:
            self._without_since = None
        elif self._without_since is None:
            self._without_since = now
            self._listener.note("there is no worker at the moment; waiting for one")
        elif now - self._without_since > patience:
            raise InputError(
                f"the Dask scheduler has had no worker for {patience:g} s; start workers and "
                "resume the sweep (what was finished is stored)"
            )
