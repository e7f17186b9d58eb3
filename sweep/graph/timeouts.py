"""Work that has been out for far longer than its limits allow.

A worker ends itself when a search is overdue, see :class:`sweep.worker.process.TimeGuard`. It
cannot if the search holds the interpreter's lock: then no other thread of the worker runs, and the
driver has to see to it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Hashable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from distributed import Client

from sweep.plan.plan import Task
from sweep.spec.task_options import asks_proof
from sweep.worker.process import PATIENCE

_STRIDE = 5.0
_KILL_SECONDS = 20.0


@dataclass(eq=False)
class _Stay:
    """A piece of work on a worker."""

    work: Hashable
    seen: float
    ran: float = 0.0
    ended: bool = False


class Overdue:
    """Watches how long each worker has been at the same piece of work.

    Parameters
    ----------
    client : Client
    grace : float
        See :class:`sweep.worker.run_settings.Run`.
    """

    def __init__(self, client: Client, grace: float) -> None:
        self._client, self._grace = client, grace
        self._stays: dict[str, _Stay] = {}

    def check(self, address: str, work: Hashable, tasks: Iterable[Task]) -> float | None:
        """Look at a worker, and end it if its work is overdue.

        Parameters
        ----------
        work : hashable
            What it is at: something that differs from its next piece of work.
        tasks : iterable of Task
            Of these it does one after the other, and begins none once it has taken long.

        Returns
        -------
        float or None
            The seconds that the work has been out, if the worker is ended for that now.
        """
        now = time.monotonic()
        stay = self._stays.get(address)
        if stay is None or stay.work != work:
            self._stays[address] = _Stay(work, now)
            return None
        stay.ran += min(now - stay.seen, _STRIDE)  # a driver that was stopped has not looked
        stay.seen = now
        most = self._most(tasks)
        if stay.ended or most is None or stay.ran <= most:
            return None
        stay.ended = True
        threading.Thread(target=_end, args=(self._client, address), daemon=True).start()
        return stay.ran

    def forget(self, address: str) -> None:
        """The worker is at nothing, or gone."""
        self._stays.pop(address, None)

    def _most(self, tasks: Iterable[Task]) -> float | None:
        """Seconds that one task may take and a worker's own guard needs; None: no limit."""
        longest = 0.0
        for task in tasks:
            seconds = task.solver.limits.get("seconds")
            if seconds is None or asks_proof(task.solver.options):
                return None
            longest = max(longest, seconds)
        return PATIENCE * longest + 2 * self._grace


def _end(client: Client, address: str) -> Any:
    """Have the worker's nanny kill it, or have the scheduler forget one that has none."""
    with suppress(Exception):  # it is gone already, or the scheduler is, which others will notice
        client.restart_workers([address], timeout=_KILL_SECONDS, raise_for_error=False)
