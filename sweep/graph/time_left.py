"""How long the rest of a sweep will take, learnt from the tasks that are finished."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sweep.plan.plan import Plan

_LEAST_SHARE = 0.05
"""The share of tasks before which nothing is said: the longest come first, so a guess from the
first of them is far too high."""

_OVERHEAD = 1e-3
"""Seconds that a task costs besides its search, which may take no time that a clock shows."""


@dataclass
class _Group:
    """The tasks of a dataset and a solver."""

    left: int = 0
    done: int = 0
    seconds: float = 0.0  # of those that are done


class TimeLeft:
    """Knows for each dataset and solver how many tasks are left, and what the others took."""

    def __init__(self) -> None:
        self._groups: dict[tuple[str, str], _Group] = defaultdict(_Group)

    @classmethod
    def of(cls, plan: Plan, remaining: NDArray[np.int64]) -> Self:
        """That of the tasks with these numbers, in ascending order."""
        found = cls()
        for block in plan.blocks:
            first, last = np.searchsorted(remaining, (block.start, block.start + len(block)))
            name = block.node.info.dataset, block.solver.name
            found._groups[name].left += int(last - first)
        return found

    def take(self, rows: pa.RecordBatch) -> None:
        """Learn from finished tasks."""
        columns = (rows[name].to_pylist() for name in ("dataset", "solver", "seconds"))
        for dataset, solver, seconds in zip(*columns, strict=True):
            group = self._groups[dataset, solver]
            group.left -= 1
            group.done += 1
            group.seconds += (seconds or 0.0) + _OVERHEAD

    def estimate(self, elapsed: float) -> float | None:
        """Seconds to the end, after ``elapsed`` seconds; None if too few tasks are done.

        A task takes as long as those of its dataset and solver took on average, else as those of
        its solver, else as all. Tasks that are done say how much work is done in a second.
        """
        groups = self._groups.values()
        done, left = sum(g.done for g in groups), sum(g.left for g in groups)
        if not done or done < _LEAST_SHARE * (done + left):
            return None
        total = sum(g.seconds for g in groups)
        of_solver: dict[str, tuple[int, float]] = {}
        for (_, solver), group in self._groups.items():
            number, seconds = of_solver.get(solver, (0, 0.0))
            of_solver[solver] = number + group.done, seconds + group.seconds
        work = 0.0
        for (_, solver), group in self._groups.items():
            known = ((group.done, group.seconds), of_solver[solver], (done, total))
            number, seconds = next(pair for pair in known if pair[0])
            work += group.left * seconds / number
        return work * elapsed / total
