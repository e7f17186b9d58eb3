"""Workers whose time is known to end: they stop their searches in time to be kept."""

from __future__ import annotations

import os
import random
import time

from distributed import Worker, WorkerPlugin

from sweep.worker.process import LEAVING, request_leave

LEAVE_AT = "TREESWEEP_LEAVE_AT"
"""The variable of a worker's environment that holds when it must leave, in seconds since 1970."""


class LeaveInTime(WorkerPlugin):
    """Tells the driver that a worker is about to leave, and lets its search stop.

    The driver gives it nothing more; what it was at goes on elsewhere.

    Parameters
    ----------
    stagger : float
        A worker leaves up to so many seconds early, so that not all go at the same time.
    """

    name = "treesweep-leave"

    def __init__(self, stagger: float) -> None:
        self._stagger = stagger

    def setup(self, worker: Worker) -> None:
        """Called in every worker when it starts."""
        until = os.environ.get(LEAVE_AT)
        if until is None or not until.isdigit():
            return
        left = int(until) - time.time() - random.uniform(0, self._stagger)
        worker.io_loop.call_later(max(0.0, left), leave, worker)


def leave(worker: Worker) -> None:
    """Tell that this worker is about to leave."""
    worker.log_event("all", {"kind": LEAVING, "worker": worker.address})
    request_leave()
