"""Retire workers before their job ends: their searches stop in time to be checkpointed."""

from __future__ import annotations

import os
import random
import time

from distributed import Worker, WorkerPlugin

from sweep.worker.stop_requests import LEAVING, request_leave

RETIRE_AT = "TREESWEEP_RETIRE_AT"
"""The environment variable that says when a worker must retire, in seconds since 1970."""


class RetireInTime(WorkerPlugin):
    """Tells the driver that a worker is about to retire, and stops the worker's search.

    The driver gives it no more tasks. Its search goes on in another worker.

    Parameters
    ----------
    stagger : float
        Each worker retires up to this many seconds early, so that not all retire at once.
    """

    name = "treesweep-retire"

    def __init__(self, stagger: float) -> None:
        self._stagger = stagger

    def setup(self, worker: Worker) -> None:
        """Set the timer when a worker starts."""
        until = os.environ.get(RETIRE_AT)
        if until is None or not until.isdigit():
            return
        left = int(until) - time.time() - random.uniform(0, self._stagger)
        worker.io_loop.call_later(max(0.0, left), retire, worker)


def retire(worker: Worker) -> None:
    """Tell the driver that this worker retires, and stop its search."""
    worker.log_event("all", {"kind": LEAVING, "worker": worker.address})
    request_leave()
