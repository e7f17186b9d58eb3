"""What becomes of tasks whose worker has died.

The task that a worker was at is run once more, alone; if that kills another worker, it is recorded
as ``killed``, with what is known of both ends. Bystanders wait again. So do all tasks of a worker
that was well when somebody asked it to end.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from distributed import Client

from sweep.graph.backlog import Backlog
from sweep.graph.failure_attribution import Inquests, Verdict
from sweep.graph.retirement import MOST_SPARED
from sweep.graph.worker_exits import End
from sweep.graph.worker_slots import Seat
from sweep.plan.plan import Plan, Task
from sweep.worker.process import TIME_EXIT

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
    tell : callable
        Told what is worth a line.
    """

    def __init__(
        self,
        client: Client,
        run: str,
        plan: Plan,
        backlog: Backlog,
        on_unknown: Callable[[Task], None],
        tell: Callable[[str], None],
    ) -> None:
        self._plan, self._backlog = plan, backlog
        self._on_unknown, self._tell = on_unknown, tell
        self.suspects: deque[Task] = deque()
        self._inquests = Inquests(client, run)
        self._deaths: dict[int, list[str]] = {}
        self._node_deaths: dict[int, list[str]] = {}
        self._spared: dict[int, int] = {}
        self._ends: dict[str, End] = {}
        self._memory: dict[str, int] = {}
        self._overdue: dict[str, float] = {}

    def __bool__(self) -> bool:
        return bool(self._deaths or self._spared)

    @property
    def n_tasks(self) -> int:
        """Suspects, and tasks of which it is not known yet what is to become."""
        return len(self.suspects) + self._inquests.n_tasks

    def deaths(self, task: Task) -> int:
        """How often a task was on a worker that died for its sake."""
        return len(self._deaths.get(task.number, ()))

    def used_memory(self, key: str, used: int) -> None:
        """A worker ends itself because a task has used so many bytes."""
        self._memory[key] = used

    def ran_late(self, key: str, seconds: float) -> None:
        """A worker ends itself, or is ended, because a task has run for so long."""
        self._overdue[key] = seconds

    def end_of(self, address: str) -> End:
        """What is known of how a worker ended, for others to add to."""
        return self._ends.setdefault(address, End())

    def lost(self, seat: Seat) -> None:
        """A worker has died; what becomes of its tasks is known later, see :meth:`judge`."""
        self._inquests.begin(seat)

    def judge(self, workers: Mapping[str, str]) -> list[Death]:
        """Tell suspects from bystanders, where it is known by now what dead workers were at.

        Parameters
        ----------
        workers : mapping
            Of each host a worker.
        """
        found: list[Death] = []
        for seat, verdict in self._inquests.end(workers, self._is_told):
            end = self._ends.pop(seat.address, End())
            spared = end.is_foreign and self._spares(seat)
            found += [] if spared else self._judge(seat, verdict, end)
            then = "its tasks wait again" if spared else "what it was at is run again alone"
            note = f"worker {seat.address} is gone: it {end}"
            self._tell(f"{note}; {then}" if seat.n_tasks else note)
        return found

    def _is_told(self, address: str) -> bool:
        return address in self._ends and self._ends[address].code is not None

    def _spares(self, seat: Seat) -> bool:
        """Whether no task is blamed for the end of a worker; if so, its tasks wait again."""
        for task in seat.tasks:
            self._spared[task.number] = self._spared.get(task.number, 0) + 1
        if any(self._spared[task.number] > MOST_SPARED for task in seat.tasks):
            return False
        for bundle in seat.bundles.values():
            if bundle.alone:
                self.suspects += bundle.tasks
            else:
                self._give_back(bundle.tasks)
        if seat.reserved is not None:
            self.suspects.append(seat.reserved)
        return True

    def _judge(self, seat: Seat, verdict: Verdict, end: End) -> list[Death]:
        found = [] if seat.reserved is None else self._lost_data(seat.reserved, end)
        culprits = [task for b in seat.bundles.values() if b.alone for task in b.tasks]
        handed = [] if verdict.suspect is None else [verdict.suspect, *verdict.bystanders]
        # Of a task that took too long it is known that its worker was ended for its sake.
        late = [task for task in handed if task.key in self._overdue]
        if not late and verdict.is_known and end.code == TIME_EXIT:
            late = [verdict.suspect]
        blamed = [*culprits, *late]
        if verdict.suspect is not None and not late:
            if not verdict.is_known:
                self._on_unknown(verdict.suspect)
            blamed.append(verdict.suspect)
            self.suspects.append(verdict.suspect)
        for task in blamed:
            self._deaths.setdefault(task.number, []).append(str(end))
        self._give_back(task for task in handed if task not in blamed)
        return found + [self._death(task) for task in [*culprits, *late]]

    def _give_back(self, bystanders: Iterable[Task]) -> None:
        by_node: dict[int, list[int]] = {}
        for task in bystanders:
            by_node.setdefault(task.node.number, []).append(task.number)
        for node, numbers in by_node.items():
            self._backlog.give_back(node, numbers)

    def _lost_data(self, task: Task, end: End) -> list[Death]:
        """A worker died while it prepared the data of a suspect, with nothing else on it.

        If that happens again it was the data, and no task of this node can be run.
        """
        number = task.node.number
        ends = self._node_deaths.setdefault(number, [])
        ends.append(str(end))
        if len(ends) < _NODE_DEATHS:
            self.suspects.append(task)
            return []
        others = [self._plan.task(n) for n in self._backlog.remove_node(number)]
        others += [t for t in self.suspects if t.node.number == number]
        self.suspects = deque(t for t in self.suspects if t.node.number != number)
        why = f"killed: while its dataset was read or encoded, {_story(ends, 'again')}"
        return [Death(t, why) for t in [task, *others]]

    def _death(self, task: Task) -> Death:
        used, ran = self._memory.get(task.key), self._overdue.get(task.key)
        if used is not None:
            limit = task.solver.limits.get("bytes", 0)
            why = f"it used {_mib(used)} of memory and the memory limit is {_mib(limit)}"
        elif ran is not None:
            why = f"it ran {ran:.0f} s, its limit is {task.solver.limits['seconds']:g} s"
        else:
            why = _story(self._deaths[task.number], "again with this task alone")
        return Death(task, f"killed: {why}")


def _story(ends: Sequence[str], again: str) -> str:
    """How the workers of a task ended, one after the other."""
    first, last = ends[0], ends[-1]
    if len(ends) == 1:
        return f"the worker {first}"
    if first == last:
        return f"the worker {first}, and {again}"
    return f"the worker {first}; then, {again}, it {last}"


def _mib(size: int) -> str:
    return f"{size / 2**20:,.0f} MiB"
