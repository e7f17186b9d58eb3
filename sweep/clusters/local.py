"""Worker processes on this machine."""

from __future__ import annotations

import logging
import os
from contextlib import ExitStack
from typing import Any, ClassVar, Literal

from distributed import Client, LocalCluster, Security, Status
from pydantic import Field

from solver.errors import InputError, one_line
from solver.features.number_format import count
from sweep.clusters.base import Cluster
from sweep.clusters.dask_settings import flatten
from sweep.clusters.main_guard import NO_GUARD, check_main, watched_main
from sweep.clusters.validators import Memory
from sweep.worker.fork_server import SETTINGS, start_fork_server
from sweep.worker.stop_requests import LocalWorker

_NEVER = "365d"


class Local(Cluster):
    """Worker processes on this machine. Only this machine can connect to them.

    Examples
    --------
    >>> import treesweep
    >>> cluster = treesweep.Local(workers=2)
    >>> print(cluster.dry_run()[:40])
    2 worker processes of one thread on this
    """

    kind: Literal["local"] = "local"
    workers: int | None = Field(default=None, ge=1, le=4096)  #: by default one per core
    memory_limit: Memory = None
    """Memory of each worker: bytes, or e.g. ``4GiB``; by default an equal share. A worker that
    reaches 95 % of it is killed and replaced."""

    is_here: ClassVar[bool] = True

    @property
    def wanted(self) -> int:
        """How many workers there should be."""
        return self.workers or cores()

    def reach(self) -> None:
        """Refuse a process that cannot start workers."""
        check_main()

    def open(self, stack: ExitStack) -> Client:
        """Start the workers."""
        check_main()
        visitors = stack.enter_context(watched_main())
        try:
            start_fork_server()
            cluster = stack.enter_context(self._start())
        except (OSError, RuntimeError, TimeoutError) as error:
            if visitors():
                raise InputError(NO_GUARD) from None
            why = one_line(f"{type(error).__name__}: {error}", 120)
            raise InputError(
                f"the workers of this machine could not be started ({why}); if they said why, it "
                "stands above"
            ) from None
        client: Client = stack.enter_context(Client(cluster, set_as_default=False))
        client.register_plugin(LocalWorker())
        return client

    def _start(self) -> LocalCluster:
        return LocalCluster(
            n_workers=self.wanted,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            # Without TLS every user of this machine could run code as this user.
            protocol="tls://",
            security=Security.temporary(),
            # With None the scheduler takes port 8787, and complains if it is in use.
            dashboard_address="127.0.0.1:0",
            memory_limit=self.memory_limit or "auto",
            silence_logs=logging.CRITICAL,
            # A process that was forked has the variables of its fork server.
            env=dict(os.environ),
        )

    def dry_run(self) -> str:
        """Show what would be started."""
        memory = "an equal share of the machine's memory"
        if self.memory_limit is not None:
            memory = f"{self.memory_limit / 2**20:,.0f} MiB"
        return (
            f"{count(self.wanted, 'worker process')} of one thread on this machine, each with "
            f"{memory}; all listen on 127.0.0.1 only"
        )

    def settings(self) -> dict[str, Any]:
        """As for any cluster, but Dask never replaces a nanny: :meth:`maintain` does.

        On a busy machine a new worker may start slowly. Dask would take it for lost, kill it
        together with its nanny, and begin again.
        """
        timeout = {"distributed.deploy.lost-worker-timeout": _NEVER}
        return {**super().settings(), **timeout, **SETTINGS, **dict(flatten(self.dask))}

    def maintain(self, client: Client, workers: int, tasks: int) -> list[str]:
        """Replace nannies that have ended. A running nanny replaces its own worker."""
        cluster = client.cluster
        if workers < self.wanted and cluster is not None:
            for name, nanny in list(cluster.workers.items()):
                if nanny.status in (Status.closed, Status.failed):
                    cluster.workers.pop(name, None)
            cluster.scale(self.wanted)
        return []


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
