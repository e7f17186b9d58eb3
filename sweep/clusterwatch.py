"""Whether there is still somebody to work for a sweep."""

from __future__ import annotations

import time

from distributed import Client

from solver.errors import InputError
from sweep.cluster import Address, Local, cores
from sweep.events import Listener

_REPLACE_SECONDS = 5.0


class ClusterWatch:
    """Gives up when there is nobody to work for us, and replaces lost workers of a local cluster.

    Parameters
    ----------
    client : Client
    config : Local or Address
    listener : Listener
        Told when there is no worker.
    """

    def __init__(self, client: Client, config: Local | Address, listener: Listener) -> None:
        self._client, self._listener = client, listener
        self._patience = config.worker_timeout
        self._wanted = (config.workers or cores()) if isinstance(config, Local) else 0
        self._without_since: float | None = None
        self._asked = time.monotonic()

    def check(self, n_workers: int) -> None:
        """See to it that there are workers.

        Raises
        ------
        InputError
            If the scheduler is lost, or no worker has come for too long.
        """
        if self._client.status not in ("running", "connecting"):
            raise InputError(
                "the connection to the Dask scheduler is lost; what was finished is stored, and "
                "'treesweep resume' goes on from there"
            )
        now = time.monotonic()
        cluster = self._client.cluster
        if cluster and n_workers < self._wanted and now - self._asked > _REPLACE_SECONDS:
            # Dask's nanny replaces a worker that dies, unless it dies while it is being started.
            self._asked = now
            cluster.scale(self._wanted)
        if n_workers:
            self._without_since = None
        elif self._without_since is None:
            self._without_since = now
            self._listener.note("there is no worker at the moment; waiting for one")
        elif now - self._without_since > self._patience:
            raise InputError(
                f"the Dask scheduler has had no worker for {self._patience:g} s; start workers and "
                "resume the sweep (what was finished is stored)"
            )
