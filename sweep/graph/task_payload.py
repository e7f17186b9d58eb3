"""What is sent of a task to a worker: its cell, with what earlier attempts have reached."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from solver.catalogue import SOLVERS
from sweep.graph.sharded_tasks import Shards
from sweep.plan.plan import Plan, Task
from sweep.rows.result_rows import Cell, Checkpoint
from sweep.store.search_states import Held
from sweep.store.store import Store


class CellMaker:
    """Makes cells of tasks.

    Parameters
    ----------
    plan : Plan
    store : Store
        Asked for attempts, checkpoints and states.
    shards : Shards
        Asked for the best trees of divided tasks.
    run : str
        The run's name.

    Attributes
    ----------
    held : dict of str to Held
        States that tasks were to begin with, by the tasks' keys: their workers will ask for them.
    """

    def __init__(self, plan: Plan, store: Store, shards: Shards, run: str) -> None:
        self._plan, self._store, self._shards, self._run = plan, store, shards, run
        self._numbers = itertools.count()
        self.held: dict[str, Held] = {}

    def make(self, task: Task, deaths: int) -> Cell:
        """The cell of a task that has killed N workers in this run."""
        cell = self.plain(task, deaths)
        if cell.question is None or not self._store.states:
            return cell
        block = self._plan.block_of(task.number)
        held = self._store.state(block, cell.lam, cell.key, cell.identity)
        if held is None:
            return cell
        self.held[cell.key] = held
        checkpoint, better = cell.checkpoint, None
        if checkpoint is None or checkpoint.seconds < held.reached.seconds:
            if checkpoint is not None:  # shards may have found another tree since
                better = _better(checkpoint, held.reached)
            checkpoint = replace(held.reached, key=cell.key)
        token = f"{self._run}-{next(self._numbers)}"
        return replace(cell, checkpoint=checkpoint, state=token, incumbent=better)

    def plain(self, task: Task, deaths: int) -> Cell:
        """The same without a state."""
        solver, lam = task.solver, str(task.lam.exact)
        is_whole = task.shard is None
        checkpoint = self._store.checkpoint(task.key) if is_whole else None
        resumes = is_whole and SOLVERS[solver.name].capabilities.resumes
        question = self._plan.block_of(task.number).question(lam) if resumes else None
        return Cell(
            key=task.key,
            lam=lam,
            lam_label=task.lam.label,
            solver=solver.name,
            solver_version=SOLVERS[solver.name].version,
            options=solver.options,
            limits=solver.limits,
            attempt=self._store.answers.attempts(task.key) + deaths + 1,
            checkpoint=checkpoint,
            question=question,
            shard=task.shard,
            incumbent=self._shards.incumbent(task),
            spent=0.0 if is_whole else self._shards.spent(task),
        )

    def forget(self, tasks: Sequence[Task]) -> None:
        """The states of these tasks will not be asked for again."""
        for task in tasks:
            self.held.pop(task.key, None)


def _better(one: Checkpoint, other: Checkpoint) -> str | None:
    """The tree of a checkpoint, as JSON, if it is better than that of another."""
    return one.tree if Fraction(one.objective) < Fraction(other.objective) else None
