"""What becomes of tasks whose worker has died.

The task that a worker was at is run once more, alone; if that kills another worker, it is recorded
as ``killed``. Bystanders wait again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from distributed import Client

from sweep.backlog import Backlog
from sweep.inquests import Handed, Inquests
from sweep.plan import Plan, Task
from sweep.seats import Seat

_NODE_DEATHS = 2


class Death(NamedTuple):
    """A task that has killed its worker, and what is known of how."""

    task: Task
    error: str


class Casualties:
    """Suspects, and the deaths that are known.

    Parameters
    ----------
    client : Client
    run : str
        The run's name.
    plan : Plan
    backlog : Backlog
        Bystanders go back to it.
    on_unknown : callable
        Told of a task that is suspected only because nobody could say what its worker was at.
    """

    def __init__(
        self,
        client: Client,
        run: str,
        plan: Plan,
        backlog: Backlog,
        on_unknown: Callable[[Task], None],
    ) -> None:
        self._plan, self._backlog, self._on_unknown = plan, backlog, on_unknown
        self.suspects: deque[Task] = deque()
        self._inquests = Inquests(client, run)
        self._deaths: dict[int, int] = {}
        self._node_deaths: dict[int, int] = {}
        self._memory: dict[str, int] = {}
        self._overdue: dict[str, float] = {}

    def __bool__(self) -> bool:
        return bool(self._deaths)

    @property
    def n_tasks(self) -> int:
        """Suspects, and tasks of which it is not known yet what is to become."""
        return len(self.suspects) + self._inquests.n_tasks

    def deaths(self, task: Task) -> int:
        """How often a task was on a worker that died for its sake."""
        return self._deaths.get(task.number, 0)

    def used_memory(self, key: str, used: int) -> None:
        """A worker ends itself because a task has used so many bytes."""
        self._memory[key] = used

    def ran_late(self, key: str, seconds: float) -> None:
        """A worker ends itself, or is ended, because a task has run for so long."""
        self._overdue[key] = seconds

    def lost(self, seat: Seat) -> list[Death]:
        """A worker has died."""
        found = self._lost_data(seat.reserved) if seat.reserved else []
        bundles = [bundle for bundle in seat.bundles.values() if not bundle.alone]
        alone = [task for b in seat.bundles.values() if b.alone for task in b.tasks]
        # Of a task that took too long it is known that its worker was ended for its sake.
        late = [task for b in bundles for task in b.tasks if task.key in self._overdue]
        if late:
            self._give_back(t for b in bundles for t in b.tasks if t.key not in self._overdue)
        else:
            handed = [Handed(bundle.number, bundle.tasks) for bundle in bundles]
            self._inquests.begin(seat.host, seat.address, handed)
        return found + self._culprits([*alone, *late])

    def judge(self, workers: Mapping[str, str]) -> list[Death]:
        """Tell suspects from bystanders, where it is known by now what dead workers were at.

        Parameters
        ----------
        workers : mapping
            Of each host a worker.
        """
        found: list[Death] = []
        for verdict in self._inquests.end(workers):
            task = verdict.suspect
            if not verdict.is_known:
                self._on_unknown(task)
            if task.key in self._overdue:
                found += self._culprits([task])
            else:
                self._deaths[task.number] = self.deaths(task) + 1
                self.suspects.append(task)
            self._give_back(verdict.bystanders)
        return found

    def _give_back(self, bystanders: Iterable[Task]) -> None:
        by_node: dict[int, list[int]] = {}
        for task in bystanders:
            by_node.setdefault(task.node.number, []).append(task.number)
        for node, numbers in by_node.items():
            self._backlog.give_back(node, numbers)

    def _culprits(self, killers: Sequence[Task]) -> list[Death]:
        for task in killers:
            self._deaths[task.number] = self.deaths(task) + 1
        return [self._death(task) for task in killers]

    def _lost_data(self, task: Task) -> list[Death]:
        """A worker died while it prepared the data of a suspect, with nothing else on it.

        If that happens again it was the data, and no task of this node can be run.
        """
        number = task.node.number
        self._node_deaths[number] = self._node_deaths.get(number, 0) + 1
        if self._node_deaths[number] < _NODE_DEATHS:
            self.suspects.append(task)
            return []
        others = [self._plan.task(n) for n in self._backlog.remove_node(number)]
        others += [t for t in self.suspects if t.node.number == number]
        self.suspects = deque(t for t in self.suspects if t.node.number != number)
        return [self._death(t, "while its dataset was read or encoded, ") for t in [task, *others]]

    def _death(self, task: Task, when: str = "") -> Death:
        used, ran = self._memory.get(task.key), self._overdue.get(task.key)
        if used is not None:
            limit = task.solver.limits.get("bytes", 0)
            why = f"it used {_mib(used)} of memory and the memory limit is {_mib(limit)}"
        elif ran is not None:
            why = f"it ran {ran:.0f} s, its limit is {task.solver.limits['seconds']:g} s"
        else:
            why = (
                "the worker process died, and again with this task alone; it may have used up the "
                "worker's memory, or have been killed from outside"
            )
        return Death(task, f"killed: {when}{why}")


def _mib(size: int) -> str:
    return f"{size / 2**20:,.0f} MiB"
