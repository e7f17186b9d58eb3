"""Worker processes on this machine."""

from __future__ import annotations

import logging
import os
from contextlib import ExitStack
from typing import ClassVar, Literal

from distributed import Client, LocalCluster
from pydantic import Field

from solver.errors import InputError
from sweep.clusters.base import Cluster
from sweep.clusters.checks import Memory
from sweep.clusters.runkeys import security_in_memory
from sweep.worker import LocalWorker


class Local(Cluster):
    """Worker processes on this machine, reachable from this machine only."""

    kind: Literal["local"] = "local"
    workers: int | None = Field(default=None, ge=1, le=4096)
    memory_limit: Memory = None

    is_here: ClassVar[bool] = True

    @property
    def wanted(self) -> int:
        """How many workers there should be."""
        return self.workers or cores()

    def open(self, stack: ExitStack) -> Client:
        """Start the workers."""
        try:
            cluster = stack.enter_context(self._start())
        except (OSError, RuntimeError, TimeoutError) as error:
            why = " ".join(f"{type(error).__name__}: {error}".split())[:120]
            raise InputError(
                f"the workers of this machine could not be started ({why}); they may have been "
                "ended from outside, or lack memory; try again, or with fewer 'workers'"
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
            # Without it every user of this machine could run code as this one.
            protocol="tls://",
            security=security_in_memory(),
            # Not None: then the scheduler takes port 8787 and complains if it is not free.
            dashboard_address="127.0.0.1:0",
            memory_limit=self.memory_limit or "auto",
            silence_logs=logging.CRITICAL,
        )

    def dry_run(self) -> str:
        """What would be started."""
        memory = "an equal share of the machine's memory"
        if self.memory_limit is not None:
            memory = f"{self.memory_limit / 2**20:,.0f} MiB"
        return (
            f"{self.wanted} worker processes of one thread on this machine, each with {memory}; "
            "all listen on 127.0.0.1 only"
        )

    def keep(self, client: Client, workers: int, tasks: int) -> list[str]:
        """Replace workers that died while they were started: Dask's nanny replaces the others."""
        if workers < self.wanted and client.cluster is not None:
            client.cluster.scale(self.wanted)
        return []


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
