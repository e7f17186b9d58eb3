"""What workers that leave were at: it is no fault of theirs, and goes on elsewhere."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterable
from contextlib import suppress

import pyarrow.compute as pc
from distributed import Client

from solver.solution import Status
from sweep.graph.backlog import Backlog
from sweep.graph.worker_slots import Seat
from sweep.plan.plan import Task
from sweep.rows.rows import Finished

MOST_SPARED = 3
"""So many times a task may be at work when its worker's time ends; then it is a suspect."""


class Leavers:
    """Workers whose time is about to end, and tasks that wait to go on from where they stood.

    Searches that a leaving worker has stopped are kept, as a checkpoint and often as a state that
    is on its way here: they wait for it.

    Parameters
    ----------
    client : Client
    backlog : Backlog
        Tasks go back to it.
    """

    def __init__(self, client: Client, backlog: Backlog) -> None:
        self._client, self._backlog = client, backlog
        self._stopped: list[Task] = []
        self._spared: dict[int, int] = {}
        self._seen_off: set[str] = set()
        self._any = False

    def __bool__(self) -> bool:
        return self._any

    @property
    def n_tasks(self) -> int:
        """Tasks that wait for their states."""
        return len(self._stopped)

    def see(self, tasks: Iterable[Task], finished: Finished) -> None:
        """Keep those tasks of a bundle that were stopped; rows are in the order of the tasks."""
        stopped = pc.equal(finished.rows["status"], Status.STOPPED.value)
        if pc.any(stopped).as_py():
            self._stopped += [*itertools.compress(tasks, stopped.to_pylist())]
            self._any = True

    def release(self, seats: Iterable[Seat], coming: int) -> None:
        """Let tasks go on, and end workers of which nothing is needed any more.

        Parameters
        ----------
        coming : int
            How many states are still on their way here.
        """
        if coming:
            return
        self._give_back(self._stopped)
        self._stopped = []
        for seat in seats:
            if seat.leaving and not seat.bundles and seat.address not in self._seen_off:
                self._seen_off.add(seat.address)
                seat.prepared.clear()  # else Dask would copy them to other workers
                seat.tables.clear()
                self._see_off(seat.address)

    def _see_off(self, address: str) -> None:
        def retire() -> None:
            with suppress(OSError, RuntimeError):  # it ends by itself when its time is over
                self._client.retire_workers([address])

        threading.Thread(target=retire, name="see-off", daemon=True).start()

    def spares(self, seat: Seat) -> bool:
        """Whether what a lost worker had is no suspect, because its time was over.

        It waits again then.
        """
        if not seat.leaving:
            return False
        tasks = [task for bundle in seat.bundles.values() for task in bundle.tasks]
        for task in tasks:
            self._spared[task.number] = self._spared.get(task.number, 0) + 1
        if any(self._spared[task.number] > MOST_SPARED for task in tasks):
            return False
        self._give_back(tasks)
        self._any = True
        return True

    def _give_back(self, tasks: Iterable[Task]) -> None:
        by_node: dict[int, list[int]] = {}
        for task in tasks:
            by_node.setdefault(task.node.number, []).append(task.number)
        for node, numbers in by_node.items():
            self._backlog.give_back(node, numbers)
