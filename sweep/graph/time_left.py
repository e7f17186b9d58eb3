"""How long the rest of a sweep will take, learnt from the tasks that are finished."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sweep.plan.plan import Plan

_LEAST_SHARE = 0.05
"""The share of tasks before which nothing is said: the longest come first, so a guess from the
first of them is far too high."""

_OVERHEAD = 1e-3
"""Seconds that a task costs besides its search, which may take no time that a clock shows."""

Group = tuple[str, ...]


def _groups(dataset: str, solver: str) -> tuple[Group, ...]:
    """The tasks that take about as long as some do: those most like them first, all at last."""
    return (solver, dataset), (solver,), ()


class TimeLeft:
    """Knows how many tasks of each solver and dataset are left, and what the others took.

    Parameters
    ----------
    plan : Plan
    remaining : array of int64
        The numbers of the tasks that are left, in ascending order.
    """

    def __init__(self, plan: Plan, remaining: NDArray[np.int64]) -> None:
        self._left: Counter[tuple[str, str]] = Counter()
        self._done: Counter[Group] = Counter()
        self._seconds: defaultdict[Group, float] = defaultdict(float)
        for block in plan.blocks:
            first, last = np.searchsorted(remaining, (block.start, block.start + len(block)))
            self._left[block.node.info.dataset, block.solver.name] += int(last - first)

    def take(self, rows: pa.RecordBatch) -> None:
        """Learn from finished tasks."""
        columns = (rows[name].to_pylist() for name in ("dataset", "solver", "seconds"))
        for dataset, solver, seconds in zip(*columns, strict=True):
            self._left[dataset, solver] -= 1
            for group in _groups(dataset, solver):
                self._done[group] += 1
                self._seconds[group] += (seconds or 0.0) + _OVERHEAD

    def estimate(self, elapsed: float) -> float | None:
        """Seconds to the end, after ``elapsed`` seconds; None if too few tasks are done.

        A task takes as long as those of its dataset and solver took on average, else as those of
        its solver, else as all. Tasks that are done say how much work is done in a second.
        """
        done, left = self._done[()], self._left.total()
        if not done or done < _LEAST_SHARE * (done + left):
            return None
        work = 0.0
        for (dataset, solver), number in self._left.items():
            group = next(group for group in _groups(dataset, solver) if self._done[group])
            work += number * self._seconds[group] / self._done[group]
        return work * elapsed / self._seconds[()]
