"""What is sent of a task to a worker: its cell, with what earlier attempts have reached."""

from __future__ import annotations

import itertools
from dataclasses import replace

from solver.catalogue import SOLVERS
from sweep.graph.shards import Shards
from sweep.plan.plan import Plan, Task
from sweep.plan.task_keys import question_limits
from sweep.rows.result_rows import Cell
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
    has_checkpoints : bool
        Whether tasks may have a checkpoint.
    """

    def __init__(self, plan: Plan, store: Store, shards: Shards, run: str) -> None:
        self._plan, self._store, self._shards, self._run = plan, store, shards, run
        self._numbers = itertools.count()
        self._held: dict[str, Held] = {}
        self.has_checkpoints = store.has_checkpoints()

    def make(self, task: Task, deaths: int) -> Cell:
        """The cell of a task that has killed so many workers in this run."""
        cell = self.plain(task, deaths)
        if cell.question is None or not self._store.states:
            return cell
        block = self._plan.block_of(task.number)
        held = self._store.state(block, cell.lam, cell.key, cell.identity)
        if held is None:
            return cell
        token = f"{self._run}-{next(self._numbers)}"
        self._held[token] = held
        checkpoint = cell.checkpoint
        if checkpoint is None or checkpoint.seconds < held.reached.seconds:
            checkpoint = replace(held.reached, key=cell.key)
        return replace(cell, checkpoint=checkpoint, state=token)

    def plain(self, task: Task, deaths: int) -> Cell:
        """The same without a state."""
        solver, lam = task.solver, str(task.lam.exact)
        checkpoint = question = None
        if self.has_checkpoints and task.shard is None:
            checkpoint = self._store.checkpoint(task.key)
        if SOLVERS[solver.name].capabilities.resumes and task.shard is None:
            block = self._plan.block_of(task.number)
            question = block.maker.key(lam, question_limits(solver.limits))
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
        )

    def held(self, token: str) -> Held | None:
        """The state that a worker asks for."""
        return self._held.get(token)

    def forget(self, cells: list[Cell]) -> None:
        """The states of these cells will not be asked for again."""
        for cell in cells:
            self._held.pop(cell.state or "", None)
