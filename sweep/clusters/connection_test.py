"""Trying a cluster before a sweep depends on it."""

from __future__ import annotations

import time
from dataclasses import dataclass

from solver.errors import InputError
from sweep.clusters.base import Cluster
from sweep.clusters.load import open_cluster
from sweep.plan.versions import difference, fingerprint

_SETTLE_SECONDS = 3.0
_POLL = 0.2


@dataclass(frozen=True)
class CheckedHost:
    """A machine, and what is known of it.

    Parameters
    ----------
    host : str
    workers : int
        How many workers of it have come.
    memory : int
        Bytes that they may use, all together.
    differs : str or None
        What is installed there in another version than here.
    """

    host: str
    workers: int
    memory: int
    differs: str | None


def check_cluster(config: Cluster) -> list[CheckedHost]:
    """Open a cluster, look who comes, and close it.

    Returns
    -------
    list of CheckedHost
        Machines with at least one worker. It is not waited for all of them: those are counted
        that have come a few seconds after the first.

    Raises
    ------
    InputError
        If it cannot be opened, no worker comes, or a worker cannot run treesweep.
    """
    with open_cluster(config) as client:
        deadline = time.monotonic() + config.worker_timeout
        last, since = 0, time.monotonic()
        while not last or time.monotonic() - since < _SETTLE_SECONDS:
            now = len(client.scheduler_info(n_workers=-1).get("workers", {}))
            if now != last:
                last, since = now, time.monotonic()
            if time.monotonic() > deadline:
                raise InputError(f"no worker has come within {config.worker_timeout:g} s")
            config.keep(client, now, 1)
            time.sleep(_POLL)
        workers = client.scheduler_info(n_workers=-1)["workers"]
        names = sorted({worker["host"] for worker in workers.values()})
        found = []
        for host in names:
            there = {a: w for a, w in workers.items() if w["host"] == host}
            first = min(there)
            try:
                print_of = client.run(fingerprint, workers=[first])[first]
            except Exception as error:
                why = " ".join(str(error).split())[:200]
                raise InputError(
                    f"worker {first} cannot run treesweep ({why}); install there what is "
                    "installed here"
                ) from None
            memory = sum(worker["memory_limit"] for worker in there.values())
            found.append(CheckedHost(host, len(there), memory, difference(print_of)))
        return found
