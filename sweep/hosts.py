"""The machines that workers are on: each is made ready once, by one of its workers."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from typing import Any

from distributed import Client, Future, KilledWorker

from solver.errors import InputError
from sweep import tasks
from sweep.versions import versions


class Hosts:
    """Which machines are ready.

    Kernels are compiled and cached once a machine. Cold processes that compile side by side would
    take many times as long.

    Parameters
    ----------
    solvers : sequence of str
        What the plan needs.
    are_here : bool
        Whether there is only this machine: the driver has made it ready, and it sees the data.
    """

    def __init__(self, client: Client, run: str, solvers: Sequence[str], are_here: bool) -> None:
        self._client, self._run, self._solvers = client, run, list(solvers)
        self.are_here = are_here
        self._ready: set[str] = set()
        self._pending: dict[str, tuple[str, Future[Any]]] = {}
        self._workers: dict[str, set[str]] = {}
        self._names = itertools.count()

    def add(self, host: str, address: str) -> None:
        """A worker has come."""
        self._workers.setdefault(host, set()).add(address)
        if self.are_here:
            self._ready.add(host)
        elif host not in self._ready and host not in self._pending:
            self._begin(host, address)

    def _begin(self, host: str, address: str) -> None:
        name = f"ready-{self._run}-{next(self._names)}"
        future = self._client.submit(
            tasks.get_ready, self._solvers, key=name, workers=[address], pure=False
        )
        self._pending[host] = address, future

    def remove(self, host: str, address: str) -> None:
        """A worker has gone; if it was getting the machine ready, another one does."""
        left = self._workers.get(host, set())
        left.discard(address)
        if host in self._pending and self._pending[host][0] == address:
            del self._pending[host]
            if left:
                self._begin(host, min(left))

    def ready(self) -> set[str]:
        """The machines that work can be given to.

        Raises
        ------
        InputError
            If a worker cannot run treesweep, or has another version of it.
        """
        for host, (address, future) in list(self._pending.items()):
            if future.status == "finished":
                _check_version(address, future.result())
            elif future.status == "error":
                error = future.exception()
                if isinstance(error, KilledWorker):
                    self.remove(host, address)
                    continue
                why = " ".join(str(error).split())[:200]
                raise InputError(
                    f"worker {address} cannot run treesweep ({why}); install there what is "
                    "installed here, and run the sweep again"
                )
            else:
                continue
            del self._pending[host]
            self._ready.add(host)
        return self._ready


def _check_version(address: str, found: str | None) -> None:
    own = json.loads(versions()).get("treesweep")
    if found != own:
        raise InputError(
            f"worker {address} has treesweep {found}, this is {own}; install the same on both, and "
            "run the sweep again"
        )
