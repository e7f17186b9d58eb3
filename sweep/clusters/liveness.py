"""Check that a sweep still has a scheduler and workers."""

from __future__ import annotations

import math
import time

from distributed import Client

from solver.errors import InputError
from sweep.clusters.base import Cluster
from sweep.events import Listener

_KEEP_SECONDS = 5.0


class ClusterWatch:
    """Has lost workers replaced, and ends the sweep when no worker comes back.

    Parameters
    ----------
    listener : Listener
        Gets a message when there is no worker.
    """

    def __init__(self, client: Client, config: Cluster, listener: Listener) -> None:
        self._client, self._config, self._listener = client, config, listener
        self._connection = client.scheduler_comm
        self._without_since: float | None = None
        self._kept = -math.inf

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
        is_same = self._client.scheduler_comm is self._connection
        if self._client.status != "running" or not is_same:
            raise InputError(
                "the connection to the Dask scheduler is lost; what was finished is stored, and "
                "'treesweep resume' goes on from there"
            )
        now = time.monotonic()
        if now - self._kept > _KEEP_SECONDS:
            self._kept = now
            for note in self._config.maintain(self._client, workers, tasks):
                self._listener.note(note)
        timeout = self._config.worker_timeout
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
