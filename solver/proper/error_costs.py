"""What trees cost in the whole numbers that the search counts in: of errors, by class.

:mod:`solver.proper.squared_costs` is its twin for regression.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from solver.kernels.packed_rows import packed
from solver.objective.exact_objective import INFINITE, CostScale
from solver.problem.problem import Problem
from solver.proper.state import Rows


class ErrorCosts:
    """Weights and prices of a classification, as the search has them.

    Attributes
    ----------
    rows : Rows
    first : (rows,)
        A row of the problem for each row of the search: here they are the same.
    unit : int
        The search counts weights in it.
    error, split : int
        Price of a unit in error, and of a split.
    leaf : int
        The cost of the tree without a split.
    surplus : int
        See :class:`solver.proper.state.Params`.
    """

    def __init__(self, problem: Problem, cost_scale: CostScale) -> None:
        counts = problem.counts
        self.cost_scale = cost_scale
        self.unit = int(np.gcd.reduce(counts, axis=None)) or 1
        self.rows = rows_of(counts // self.unit)
        self.first = np.arange(len(counts))
        self.error, self.split = cost_scale.error * self.unit, cost_scale.split
        self.surplus = self.error * max(1, problem.total_weight // self.unit // 32)
        self._weights: NDArray[np.int64] = counts.sum(axis=0)
        self.leaf = cost_scale.error * int(self._weights.sum() - self._weights.max())

    def least(self, splits: int) -> int:
        """No tree of 1 to N splits costs less."""
        return least_with_splits(self.cost_scale, self._weights, splits)

    def inwards(self, cost: float) -> int:
        """A cost of the driver as one of the search."""
        return int(cost)

    def outwards(self, cost: int) -> int:
        """A cost of the search as one of the driver."""
        return cost

    def mask(self, rows: int) -> int:
        """Rows of the search as rows of the problem."""
        return rows


def least_with_splits(cost_scale: CostScale, weights: NDArray[np.int64], splits: int) -> int:
    """A lower bound on the cost of trees of 1 to N splits; that of no tree if there are none.

    Each leaf predicts one class, so a tree of k splits predicts at most k + 1 classes.
    """
    right = np.cumsum(np.sort(weights)[::-1]).tolist()
    costs = (
        cost_scale.cost(right[-1] - right[min(k, len(right) - 1)], k) for k in range(1, splits + 1)
    )
    return min(costs, default=INFINITE)


def rows_of(counts: NDArray[np.int64]) -> Rows:
    """Integer weights, shape (rows, classes), by binary digits."""
    planes, values, starts = [], [], [0]
    for column in counts.T:
        for digit in range(int(column.max(initial=0)).bit_length()):
            has = (column >> digit) & 1 == 1
            if has.any():
                planes.append(packed(has))
                values.append(1 << digit)
        starts.append(len(planes))
    return Rows(np.array(planes), np.array(values, np.int64), np.array(starts, np.int64))
