"""What becomes of tasks whose worker has died.

Dask gives back all tasks that were sent to a dead worker. The one that was running is run again,
its tasks one by one. A task that kills another worker then is recorded as ``killed``. All others
wait again, and so do tasks of workers that were well when somebody asked them to end.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Container, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from sweep.plan.plan import Task
from sweep.worker.exits import End

MOST_SPARED = 3
"""So many workers that were asked to end may have run a task; then it is a suspect."""

EXIT_PATIENCE = 10.0
"""Seconds to wait for the word of a dead worker's nanny, which may have died as well."""

_MOST_DEATHS = 2


class Death(NamedTuple):
    """Tasks that have killed their worker, and what is known of how."""

    tasks: list[Task]
    error: str


@dataclass(eq=False)
class Case:
    """Tasks that may have killed a worker again, themselves or by the data of their nodes."""

    tasks: list[Task]
    nodes: frozenset[int]
    ends: list[End]
    since: float = field(default_factory=time.monotonic)

    @property
    def is_told(self) -> bool:
        return self.ends[-1].code is not None or time.monotonic() - self.since > EXIT_PATIENCE

    @property
    def blamed(self) -> int:
        return _blamed(self.ends)


class Failures:
    """Workers that died, and what they were at.

    Attributes
    ----------
    again : deque of list of Task
        Batches of which one task may have killed a worker.
    spared : list of Task
        Tasks that wait again after all.
    notes : list of str
        What is worth a line.
    """

    def __init__(self) -> None:
        self.again: deque[list[Task]] = deque()
        self.spared: list[Task] = []
        self.notes: list[str] = []
        self._ends: dict[str, End] = {}
        self._running: dict[str, str] = {}
        self._deaths: dict[int, list[End]] = {}
        self._data_deaths: dict[int, list[End]] = {}
        self._judged: set[str] = set()
        self._cases: list[Case] = []
        self._unsaid: dict[str, float] = {}
        self._memory: dict[str, int] = {}
        self._overdue: dict[str, float] = {}

    def __bool__(self) -> bool:
        return bool(self._deaths)

    @property
    def n_tasks(self) -> int:
        """Suspects that wait, and those of which is not known yet what is to become."""
        return sum(map(len, self.again)) + sum(len(case.tasks) for case in self._cases)

    def deaths(self, task: Task) -> int:
        """How many workers a task has run on that died and were not asked to end."""
        return _blamed(self._deaths.get(task.number, []))

    # What is heard

    def begun(self, worker: str, key: str) -> None:
        """A worker begins a step."""
        self._running[worker] = key

    def handed_back(self, worker: str) -> None:
        """A worker that is about to end gives a step back without beginning it."""
        self._running[worker] = ""

    def ended(self, key: str) -> None:
        """A step has ended well."""
        for worker in [w for w, running in self._running.items() if running == key]:
            del self._running[worker]

    @property
    def running(self) -> set[str]:
        """The keys of the steps that have begun."""
        return {*self._running.values()}

    def running_on(self, worker: str) -> str | None:
        """The key of the step that a worker began last."""
        return self._running.get(worker)

    def workers_of(self, keys: Container[str]) -> set[str]:
        """The workers at one of these steps."""
        return {worker for worker, key in self._running.items() if key in keys}

    def used_memory(self, key: str, used: int) -> None:
        """A worker ends itself because a task has used so many bytes."""
        self._memory[key] = used

    def ran_late(self, key: str, seconds: float) -> None:
        """A worker ends itself because a task has run for so long."""
        self._overdue[key] = seconds

    def end_of(self, address: str) -> End:
        """What is known of how a worker ended, for others to add to."""
        return self._ends.setdefault(address, End())

    def removed(self, address: str, stimulus: str, expected: bool) -> None:
        """The scheduler has removed a worker."""
        self.end_of(address).stimulus = stimulus
        if not expected:
            self._unsaid[address] = time.monotonic()

    # What becomes of it

    def was_running(self, key: str, worker: str) -> bool:
        """Whether a step may have been running on a worker that died."""
        return self._running.get(worker, key) == key

    def killed(
        self, tasks: Sequence[Task], alone: bool, key: str, worker: str
    ) -> tuple[list[Task], list[Death]]:
        """A batch has ended with its worker.

        Parameters
        ----------
        tasks : sequence of Task
        alone : bool
            Whether this was a suspect, run alone.
        key : str
            The key of the batch.
        worker : str

        Returns
        -------
        bystanders : list of Task
            Tasks that wait again.
        deaths : list of Death
            Tasks of which is known that they have ended the worker.
        """
        if not self.was_running(key, worker):
            return [*tasks], []
        end = self.end_of(worker)
        # A guard names the task for whose sake it ended the worker.
        named = [t for t in tasks if t.key in self._overdue or t.key in self._memory]
        suspects = named or [*tasks]
        for task in suspects:
            self._deaths.setdefault(task.number, []).append(end)
        late = [task for task in named if task.key in self._overdue]
        rest = [task for task in suspects if task not in late]
        if alone and rest and self._running.get(worker) == key:
            self._cases += [Case([t], frozenset(), self._deaths[t.number]) for t in rest]
        elif rest:
            self.again.append(rest)
        bystanders = [task for task in tasks if task not in suspects]
        return bystanders, [self._death([task], self._deaths[task.number]) for task in late]

    def killed_data(self, nodes: Sequence[int], key: str, worker: str) -> bool:
        """A step that loads or encodes has ended with its worker; whether it was running.

        After its second death all tasks that need these data belong to a :class:`Case`.
        """
        if not self.was_running(key, worker):
            return False
        if key not in self._judged:
            self._judged.add(key)
            for node in nodes:
                self._data_deaths.setdefault(node, []).append(self.end_of(worker))
            ends = self._data_deaths[nodes[0]]
            if len(ends) >= _MOST_DEATHS and self._running.get(worker) == key:
                self._cases.append(Case([], frozenset(nodes), ends))
        return True

    def case_of(self, node: int) -> Case | None:
        """The case that all tasks of a node belong to at present."""
        return next((case for case in self._cases if node in case.nodes), None)

    def judge(self) -> list[Death]:
        """The deaths of which enough is known by now."""
        found: list[Death] = []
        for case in [c for c in self._cases if c.is_told]:
            self._cases.remove(case)
            if case.blamed >= _MOST_DEATHS:
                found.append(self._death(case.tasks, case.ends, bool(case.nodes)))
            elif case.nodes:
                self.spared += case.tasks
            else:
                self.again.append(case.tasks)
        now = time.monotonic()
        for address, since in [*self._unsaid.items()]:
            end = self.end_of(address)
            if end.code is not None or now - since > EXIT_PATIENCE:
                del self._unsaid[address]
                self.notes.append(f"worker {address} is gone: it {end}")
        return found

    def _death(self, tasks: list[Task], ends: Sequence[End], of_data: bool = False) -> Death:
        key = tasks[0].key if tasks else ""
        used, ran = self._memory.get(key), self._overdue.get(key)
        if of_data:
            why = f"while its dataset was read or encoded, {_story(ends, 'again')}"
        elif used is not None:
            limit = tasks[0].solver.limits.get("bytes", 0)
            why = f"it used {_mib(used)} of memory and the memory limit is {_mib(limit)}"
        elif ran is not None:
            why = f"it ran {ran:.0f} s, its limit is {tasks[0].solver.limits['seconds']:g} s"
        else:
            why = _story(ends, "again with this task alone")
        return Death(tasks, f"killed: {why}")


def _blamed(ends: Sequence[End]) -> int:
    """How many of the ends may be the task's fault."""
    foreign = sum(end.is_foreign for end in ends)
    return len(ends) - min(foreign, MOST_SPARED)


def _story(ends: Sequence[End], again: str) -> str:
    """How the workers of a task ended, one after the other."""
    first, last = str(ends[0]), str(ends[-1])
    if len(ends) == 1:
        return f"the worker {first}"
    if first == last:
        return f"the worker {first}, and {again}"
    return f"the worker {first}; then, {again}, it {last}"


def _mib(size: int) -> str:
    return f"{size / 2**20:,.0f} MiB"
