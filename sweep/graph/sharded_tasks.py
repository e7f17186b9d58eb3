"""Tasks that are done in shards: what the driver knows of each until its row can be made.

A shard is a part of one search (see :mod:`solver.search_shards`). It travels, fails and is
suspected as a whole task is; its row is made and scored by the worker. Here these rows become one.
A task with ``shards: auto`` begins as a whole; :meth:`Shards.divide` makes shards of it, and later
more of them. What the workers were at before is stopped, and the shards hear what it has proven.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solver.search_shards import Shard
from solver.solution import Status
from sweep.graph.backlog import Backlog
from sweep.plan.plan import Plan, Task
from sweep.rows.result_rows import Checkpoint, Finished, checkpoint_of, of_part
from sweep.rows.shard_rows import Effort, merge_rows, of_shard
from sweep.spec.requested_outputs import asks_division
from sweep.store.shard_files import WORTH
from sweep.store.store import Store
from sweep.worker.shard_messages import Known

Row = dict[str, Any]

MOST_PROVEN = 2**28
"""Bytes of what shards have proven that are kept of a task, for shards that begin."""


@dataclass
class _Divided:
    """A task that workers are at."""

    number: int
    best: Checkpoint | None
    spent: float = 0.0
    before: list[Row] = field(default_factory=list)
    rows: dict[int, Row] = field(default_factory=dict)
    proven: deque[tuple[str, bytes]] = field(default_factory=deque)
    size: int = 0
    untold: list[tuple[str, bytes]] = field(default_factory=list)
    is_better: bool = False
    effort: Effort = field(default_factory=Effort)  # of shards that would be done again
    lost: Effort = field(default_factory=Effort)  # of those that were stopped
    longest: float = 0.0  # seconds of one that has ended since the task was divided last

    def offer(self, reached: Checkpoint) -> bool:
        """Take a tree for the best, if it is better; whether it is.

        The bound and the effort of a whole, which a shard's checkpoint does not tell, are kept.
        """
        known = self.best
        if known is None:
            self.best = reached
        else:
            is_better = Fraction(reached.objective) < Fraction(known.objective)
            self.best = replace(
                reached if is_better else known,
                lower_bound=str(max(Fraction(reached.lower_bound), Fraction(known.lower_bound))),
                seconds=max(reached.seconds, known.seconds),
                iterations=max(reached.iterations, known.iterations),
                nodes=max(reached.nodes, known.nodes),
                elapsed=(reached if reached.seconds > known.seconds else known).elapsed,
            )
            if not is_better:
                return False
        self.is_better = True
        return True

    def count(self, row: Row, is_replaced: bool) -> None:
        """Count the effort of a shard that has ended."""
        self.effort.add(row)
        if is_replaced:
            return
        self.longest = max(self.longest, row["seconds"])
        if row["status"] == Status.STOPPED:
            self.lost.add(row)

    @property
    def kept(self) -> Checkpoint | None:
        """What is worth keeping: the best of all, with the effort of all that was counted."""
        if self.best is None or self.effort.seconds == 0:
            return self.best
        return replace(
            self.best,
            seconds=self.best.seconds + self.effort.seconds,
            iterations=self.best.iterations + self.effort.iterations,
            nodes=self.best.nodes + self.effort.nodes,
            elapsed=self.spent + self.longest,
        )

    def news(self) -> Known:
        """What was not yet told to running shards."""
        tree = self.best.tree if self.best is not None and self.is_better else None
        known = Known(tree, self.untold)
        self.untold, self.is_better = [], False
        return known

    def learn(self, shard: str, proven: bytes) -> None:
        """Take what a shard has proven. Shards that begin are told the latest of it only."""
        self.untold.append((shard, proven))
        self.proven.append((shard, proven))
        self.size += len(proven)
        while self.size > MOST_PROVEN:
            self.size -= len(self.proven.popleft()[1])


class Shards:
    """The tasks in shards of a run.

    Parameters
    ----------
    store : Store
        Asked for attempts, checkpoints and kept shards.

    Attributes
    ----------
    made : list of dict
        Rows that the driver has made.
    kept : deque of (str, Shard, Finished)
        Finished shards that are worth keeping on the disk, with the keys of their tasks.
    waiting : deque of Task
        Shards of tasks that were divided while they ran. They are not in the backlog.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._open: dict[str, _Divided] = {}
        self._ended: set[str] = set()
        self.made: list[Row] = []
        self.kept: deque[tuple[str, Shard, Finished]] = deque()
        self.waiting: deque[Task] = deque()

    @property
    def counts(self) -> tuple[int, int]:
        """Of all tasks that workers are at, the shards that are finished, and all."""
        tasks = self._open.values()
        return sum(len(task.rows) for task in tasks), sum(task.number for task in tasks)

    def is_due(self, task: Task) -> bool:
        """Whether this is still to be done: of a shard, if it is not finished, and no other shard
        of its task has failed."""
        if task.shard is None:
            return True
        if task.key in self._ended:
            return False
        divided = self._open.get(task.key) or self._recall(task, task.shard)
        if len(divided.rows) == divided.number:
            self.made.append(self._merge(task.key))
            return False
        return task.shard.index not in divided.rows

    def divide(self, shards: Sequence[Task], seconds: float) -> None:
        """Let shards of a task wait, which are to replace what workers are at of it.

        Parameters
        ----------
        shards : sequence of Task
        seconds : float
            How long workers have been at it since it was begun or divided.
        """
        key = shards[0].key
        divided = self._open.get(key)
        if divided is None:
            divided = self._open[key] = _Divided(0, self._store.checkpoint(key))
        divided.number, divided.spent = len(shards), divided.spent + seconds
        divided.longest = 0.0
        divided.before += divided.rows.values()
        divided.rows.clear()
        self.waiting += shards

    def take_back(self, tasks: Iterable[Task]) -> list[Task]:
        """Let shards of tasks that were divided while they ran wait; all other tasks."""
        current = [task for task in tasks if not self.is_outdated(task)]
        divided = [t for t in current if t.shard is not None and asks_division(t.solver.options)]
        self.waiting += divided
        return [task for task in current if task not in divided]

    def n_parts(self, task: Task) -> int:
        """How many shards a task is divided into at present; 1 if it is not."""
        divided = self._open.get(task.key)
        return 1 if divided is None else divided.number

    def is_outdated(self, task: Task) -> bool:
        """Whether a task has ended, or was divided into other shards, since this was submitted."""
        if not asks_division(task.solver.options):
            return False
        if task.key in self._ended:
            return True
        return self.n_parts(task) != (1 if task.shard is None else task.shard.number)

    def has_ended(self, task: Task) -> bool:
        """Whether the row of a task that was divided while it ran is there."""
        return task.key in self._ended and asks_division(task.solver.options)

    def spent(self, task: Task) -> float:
        """Seconds of search before a task was divided into the shards of this one."""
        divided = self._open.get(task.key)
        return 0.0 if divided is None else divided.spent

    def end(self, key: str) -> bool:
        """Drop the shards of a task that was done as a whole; False if it has ended before."""
        self._ended.add(key)
        return self._open.pop(key, None) is not None

    def _recall(self, task: Task, shard: Shard) -> _Divided:
        """Begin a task with what earlier drivers have left of it."""
        divided = _Divided(shard.number, self._store.checkpoint(task.key))
        if (best := divided.best) is not None:
            divided.lost = Effort(best.seconds, best.iterations, best.nodes)
        for other, row in self._store.shards.held(task.key).items():
            divided.offer(of_part(checkpoint_of(row)))
            divided.rows[other.index] = row
        self._open[task.key] = divided
        return divided

    def incumbent(self, task: Task) -> str | None:
        """The best tree that is known of a shard's task, as JSON.

        None under a limit of nodes: where such a search stops must not depend on which other shard
        came first.
        """
        divided = self._open.get(task.key)
        if divided is None or divided.best is None or "nodes" in task.solver.limits:
            return None
        return divided.best.tree

    def see(self, reached: Checkpoint) -> Checkpoint | None:
        """Learn what a running search has reached.

        Returns
        -------
        Checkpoint or None
            What is worth keeping of its task; None if a better tree is known.
        """
        divided = self._open.get(reached.key)
        if divided is None:
            return None if reached.key in self._ended else reached
        return divided.kept if divided.offer(reached) else None

    def learn(self, key: str, shard: str, proven: bytes) -> None:
        """Take what a running shard has proven."""
        if key in self._open:
            self._open[key].learn(shard, proven)

    def known(self, key: str) -> Known:
        """All that is known of a task, for a shard that begins."""
        divided = self._open.get(key)
        if divided is None:
            return Known(None, ())
        return Known(None if divided.best is None else divided.best.tree, [*divided.proven])

    def news(self) -> Iterator[tuple[str, Known]]:
        """What running shards have not been told, by the key of their task."""
        for key, divided in self._open.items():
            known = divided.news()
            if known.tree is not None or known.proven:
                yield key, known

    def take(self, task: Task, finished: Finished) -> tuple[list[Row], Checkpoint | None]:
        """Take the row of a shard.

        Returns
        -------
        rows : list of dict
            The row of the task, if this has ended it.
        reached : Checkpoint or None
            What is worth keeping of the task if this was stopped: if a shard has found its best
            tree, or the whole was divided.

        Raises
        ------
        ValueError
            If the rows of the shards are not those of one task.
        """
        (row,) = finished.rows.to_pylist()
        divided, shard = self._open.get(task.key), task.shard
        if divided is None:
            return [], None
        status = Status(row["status"])
        if not status.has_tree:
            self.fail(task)
            error = row["error"] if shard is None else of_shard(row["error"], shard)
            return [{**row, "error": error}], None
        reached, divides = checkpoint_of(row, divided.best), asks_division(task.solver.options)
        is_new = divided.offer(reached if shard is None else of_part(reached)) or shard is None
        is_replaced = shard is None or shard.number != divided.number
        # The others are kept, or done again in any case.
        if shard is not None and (divides or status is Status.STOPPED):
            divided.count(row, is_replaced)
        if shard is None or is_replaced:
            divided.before.append(row)
            return [], divided.kept if is_new else None
        if status is Status.STOPPED:
            return [], divided.kept
        divided.rows[shard.index] = row
        if len(divided.rows) == divided.number:
            return [self._merge(task.key)], None
        if row["seconds"] >= WORTH and not divides:
            self.kept.append((task.key, shard, finished))
        return [], None

    def fail(self, task: Task) -> bool:
        """A shard has failed, and so has its task; whether it is the first one.

        Always true of a whole task.
        """
        if task.shard is None:
            return True
        is_first = task.key not in self._ended
        self._ended.add(task.key)
        self._open.pop(task.key, None)
        return is_first

    def _merge(self, key: str) -> Row:
        self._ended.add(key)
        divided = self._open.pop(key)
        rows = [divided.rows[i] for i in range(divided.number)]
        floor = None if divided.best is None else Fraction(divided.best.lower_bound)
        row = merge_rows(rows, divided.before, floor, divided.lost)
        row["attempt"] = max(row["attempt"], self._store.answers.attempts(key) + 1)
        return row


def backlog_of(plan: Plan, remaining: NDArray[np.int64]) -> Backlog:
    """What waits of some tasks; of those in shards, each shard by itself."""
    pieces = plan.pieces(remaining)
    tasks = pieces % plan.n_tasks
    shares = np.bincount(tasks, minlength=plan.n_tasks)[tasks]
    return Backlog(pieces, plan.node_numbers()[tasks], plan.costs()[tasks] / shares)
