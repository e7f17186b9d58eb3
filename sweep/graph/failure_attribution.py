"""What becomes of tasks whose worker has died.

Dask gives back all tasks that were sent to a dead worker. The one that was running is run again,
its tasks one by one. A task that kills another worker then is recorded as ``killed``. All others
wait again, and so do tasks of workers that were well when somebody asked them to end.
"""

from __future__ import annotations

import time
from collections import defaultdict, deque
from collections.abc import Container, Iterator, Mapping, MutableSequence, Sequence
from dataclasses import dataclass, field
from typing import Any

from sweep.plan.plan import Task
from sweep.worker.dask_steps import AT, SEARCHES
from sweep.worker.exit_reasons import End, told_ends

MOST_SPARED = 3
"""Workers asked to end that may have run a task before it is a suspect."""

EXIT_PATIENCE = 10.0
"""Seconds to wait for the word of a dead worker's nanny, which may have died as well."""

_MOST_DEATHS = 2


@dataclass(eq=False)
class Case:
    """Tasks that may have killed a worker again, themselves or by the data of their nodes."""

    tasks: list[Task]
    nodes: frozenset[int]
    ends: list[End]
    since: float = field(default_factory=time.monotonic)

    @property
    def is_told(self) -> bool:
        last = self.ends[-1]
        return last.is_final or last.code is not None or _is_late(self.since)

    @property
    def is_to_blame(self) -> bool:
        return self.ends[-1].is_final or _blamed(self.ends) >= _MOST_DEATHS

    @property
    def error(self) -> str:
        """Why the tasks are not run again."""
        guards = [end.why for end in self.ends if end.why]
        if self.nodes:
            why = f"while its dataset was read or encoded, {_story(self.ends, 'again')}"
        else:
            why = guards[-1] if guards else _story(self.ends, "again with this task alone")
        return f"killed: {why}"


class Failures:
    """Workers that died, and what they were at.

    Parameters
    ----------
    notes : list of str
        What is worth a line is added to it.

    Attributes
    ----------
    again : deque of list of Task
        Batches of which one task may have killed a worker.
    spared : list of Task
        Tasks that wait again.
    """

    def __init__(self, notes: MutableSequence[str]) -> None:
        self.again: deque[list[Task]] = deque()
        self.spared: list[Task] = []
        self.notes = notes
        self._ends: defaultdict[str, End] = defaultdict(End)
        self._at: dict[str, str] = {}
        self._searches: dict[str, str] = {}
        self._deaths: defaultdict[int, list[End]] = defaultdict(list)
        self._data_deaths: defaultdict[int, list[End]] = defaultdict(list)
        self._cases: list[Case] = []
        self._unsaid: dict[str, float] = {}

    @property
    def n_tasks(self) -> int:
        """Suspects that wait, and those of which is not known yet what is to become."""
        return sum(map(len, self.again)) + sum(len(case.tasks) for case in self._cases)

    def deaths(self, task: Task) -> int:
        """How many workers a task has run on that died and were not asked to end."""
        return _blamed(self._deaths[task.number]) if task.number in self._deaths else 0

    # What is heard

    def hear(self, event: Mapping[str, Any]) -> None:
        """Learn what workers are at, and how they end."""
        if event.get("kind") == AT:
            self._at.pop(event["worker"], None)
            self._searches.pop(event["worker"], None)
            if event["key"] is not None:
                self._at[event["worker"]] = event["key"]
        if event.get("kind") == SEARCHES:
            self._searches[event["worker"]] = event["key"]
        for address, known in told_ends(event).items():
            vars(self._ends[address]).update(known)
        if event.get("action") == "remove-worker" and not event.get("expected"):
            self._unsaid[event["worker"]] = time.monotonic()

    @property
    def running(self) -> set[str]:
        """The keys of the steps that workers are at."""
        return {*self._at.values()}

    @property
    def searching(self) -> set[str]:
        """Those of them that search tasks which may be divided, with all code compiled."""
        return {*self._searches.values()}

    def workers_of(self, keys: Container[str]) -> set[str]:
        """The workers at one of these steps."""
        return {worker for worker, key in self._at.items() if key in keys}

    # What becomes of it

    def wait_again(self, tasks: Sequence[Task], suspect: bool) -> None:
        """Let tasks wait that have not run; suspects stay suspects."""
        if suspect:
            self.again.append([*tasks])
        else:
            self.spared += tasks

    def killed(self, tasks: Sequence[Task], suspect: bool, key: str, worker: str) -> None:
        """A batch has ended with its worker.

        Parameters
        ----------
        tasks : sequence of Task
        suspect : bool
            Whether one of them may have killed a worker before.
        key : str
            The key of the batch.
        worker : str
        """
        if not self._may_have_run(key, worker):
            self.wait_again(tasks, suspect)
            return
        end = self._ends[worker]
        # A guard names the task for whose sake it ended the worker.
        suspects = [task for task in tasks if task.key == end.task] or [*tasks]
        self.spared += [task for task in tasks if task not in suspects]
        for task in suspects:
            self._deaths[task.number].append(end)
        if end.is_final or (suspect and len(tasks) == 1 and worker in self._at):
            self._cases += [Case([t], frozenset(), self._deaths[t.number]) for t in suspects]
        else:
            self.again.append(suspects)

    def killed_data(self, nodes: Sequence[int], key: str, worker: str) -> bool:
        """A step that loads or encodes has ended with its worker; whether it was running.

        After its second death all tasks that need these data belong to a :class:`Case`, unless
        another worker has read the data since the first.
        """
        if not self._may_have_run(key, worker):
            return False
        deaths, end = [self._data_deaths[node] for node in nodes], self._ends[worker]
        for ends in deaths:
            if end not in ends:  # else another batch has told
                ends.append(end)
        fewest = min(deaths, key=len)
        if len(fewest) >= _MOST_DEATHS and worker in self._at and not self.case_of(nodes[0]):
            self._cases.append(Case([], frozenset(nodes), fewest))
        return True

    def data_were_read(self, node: int) -> None:
        """A task of this node has run, so its data did not kill the workers that died before.

        Otherwise two of the workers that a long sweep loses would be enough to end it, if they
        were just starting.
        """
        self._data_deaths.pop(node, None)

    def _may_have_run(self, key: str, worker: str) -> bool:
        return self._at.get(worker, key) == key  # also if nothing was heard of the worker

    def case_of(self, node: int) -> Case | None:
        """The case that all tasks of a node belong to at present."""
        return next((case for case in self._cases if node in case.nodes), None)

    def judge(self) -> Iterator[Case]:
        """The cases of tasks that are to blame, of which enough is known by now."""
        for case in [c for c in self._cases if c.is_told]:
            self._cases.remove(case)
            if case.is_to_blame:
                yield case
            elif case.nodes:
                self.spared += case.tasks
            else:
                self.again.append(case.tasks)
        for address, since in [*self._unsaid.items()]:
            end = self._ends[address]
            if end.code is not None or _is_late(since):
                del self._unsaid[address]
                self.notes.append(f"worker {address} is gone: it {end}")


def _is_late(since: float) -> bool:
    return time.monotonic() - since > EXIT_PATIENCE


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
