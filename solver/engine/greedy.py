"""A quick first tree: grown greedily, then pruned optimally for λ."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from solver.engine.driver import Greedy
from solver.engine.tree_constraints import TreeConstraints
from solver.kernels.constants import Ints
from solver.kernels.jit import ensure_compiled
from solver.kernels.packed_rows import Table, split_counts, tabulate
from solver.objective.exact_objective import CostScale
from solver.problem.problem import Problem
from solver.trees.tree import Shape


def greedy_tree(
    problem: Problem,
    cost_scale: CostScale,
    constraints: TreeConstraints,
    out_of_time: Callable[[], bool],
) -> Shape:
    """Grow by Gini impurity, as CART does, then replace every subtree that does not pay.

    The tree respects the limits of ``constraints`` on depth, leaf size and splits. ``out_of_time``
    is called before every split; once it is true only leaves are added.
    """
    table, unit = tabulate(problem)
    counter = _Counter(problem, table)
    error = cost_scale.error * unit
    min_leaf = -(-constraints.min_leaf // unit)

    def grow(rows: Ints, depth: int) -> Curve:
        totals = counter.weigh(rows)
        leaf = error * int(totals.sum() - totals.max())
        curve: Curve = [(leaf, -1)]
        if leaf <= cost_scale.split or depth >= min(constraints.depth, _DEEPEST) or out_of_time():
            return curve
        feature = counter.best_split(min_leaf, counter.count(rows))
        if feature < 0:
            return curve
        codes = counter.codes(rows, feature)
        arity = int(problem.arities[feature])
        children = [grow(rows[codes == code], depth + 1) for code in range(arity)]
        return join_curves(cost_scale, constraints, leaf, feature, children)

    return min(grow(np.arange(len(table.labels)), 0), key=lambda entry: entry[0])[1]


_compiled = False


def compile_greedy() -> float:
    """Compile what :func:`greedy_tree` needs, the first time; seconds it took."""
    global _compiled
    if _compiled:
        return 0.0
    table, _ = tabulate(Problem.from_codes([[0], [1]], [0, 1]))
    ints = np.zeros(2, np.int64)
    seconds = ensure_compiled(split_counts, table, ints, 0, ints, np.zeros((2, 1), np.int64))
    _compiled = True
    return seconds


GREEDY = Greedy(compile_greedy, greedy_tree)

_DEEPEST = 300
_LONGEST_CURVE = 64

Curve = list[tuple[int, Shape]]
"""The best pruned subtree (cost, shape) for every number of splits 0, 1, …"""


class _Counter:
    """Class weights of all codes among some rows of a table."""

    def __init__(self, problem: Problem, table: Table) -> None:
        self.table = table
        self.code_of = problem.codes
        self.totals = np.zeros(problem.n_classes, np.int64)
        self.singles = np.zeros((problem.n_classes, int(table.columns[-1])), np.int64)
        # The table has no column for the first code of a feature: its rows are all others.
        self.firsts = table.values[:-1]
        self.others = np.setdiff1d(np.arange(table.values[-1]), self.firsts)
        arities = np.diff(table.values)
        self.of_arity = [
            (features, table.values[features][:, None] + np.arange(arity))
            for arity in np.unique(arities)
            for features in (np.flatnonzero(arities == arity),)
        ]
        compile_greedy()

    def weigh(self, rows: Ints) -> Ints:
        """Class weights (classes,) of the rows."""
        weights = np.zeros(len(self.totals), np.int64)
        np.add.at(weights, self.table.labels[rows], self.table.weights[rows])
        return weights

    def count(self, rows: Ints) -> Ints:
        """Class weights (values, classes) of all codes, for the classes of the rows."""
        table = self.table
        split_counts(table, rows, len(rows), self.totals, self.singles)
        present = np.flatnonzero(self.totals)
        totals, singles = self.totals[present], self.singles[present].T
        before = np.zeros((len(singles) + 1, len(present)), np.int64)
        singles.cumsum(axis=0, out=before[1:])
        counts = np.empty((int(table.values[-1]), len(present)), np.int64)
        counts[self.others] = singles
        ends = before[table.columns]
        counts[self.firsts] = totals - ends[1:] + ends[:-1]
        return counts

    def best_split(self, min_leaf: int, counts: Ints) -> int:
        """The feature of least weighted Gini impurity among the splits allowed; −1 if none."""
        weights = counts.sum(axis=1)
        purity: NDArray[np.float64] = (counts.astype(float) ** 2).sum(axis=1)
        purity /= np.maximum(weights, 1)
        enough, filled = (weights >= min_leaf) | (weights == 0), weights > 0
        gains = np.full(len(self.firsts), -1.0)
        for features, codes in self.of_arity:
            allowed = (filled[codes].sum(axis=1) > 1) & enough[codes].all(axis=1)
            gains[features] = np.where(allowed, purity[codes].sum(axis=1), -1.0)
        best = int(gains.argmax()) if len(gains) else -1
        return best if best >= 0 and gains[best] >= 0 else -1

    def codes(self, rows: Ints, feature: int) -> NDArray[np.int32]:
        """The codes of a feature."""
        return np.asarray(self.code_of[self.table.sources[rows], feature])


def join_curves(
    cost_scale: CostScale,
    constraints: TreeConstraints,
    leaf: int,
    feature: int,
    children: list[Curve],
) -> Curve:
    """The curve of a split from those of its children (or the leaf instead)."""
    if constraints.budgets == 1:
        cheapest = [min(curve, key=lambda entry: entry[0]) for curve in children]
        cost = cost_scale.split + sum(entry[0] for entry in cheapest)
        shape: Shape = (feature, tuple(entry[1] for entry in cheapest))
        return [(cost, shape)] if cost < leaf else [(leaf, -1)]
    longest = min(constraints.budgets, _LONGEST_CURVE)
    sums: list[tuple[int, tuple[Shape, ...]]] = [(0, ())]
    for curve in children:
        merged: dict[int, tuple[int, tuple[Shape, ...]]] = {}
        for a, (cost, shapes) in enumerate(sums):
            for b, (more, shape) in enumerate(curve):
                total = (cost + more, (*shapes, shape))
                if a + b + 1 < longest and (a + b not in merged or total[0] < merged[a + b][0]):
                    merged[a + b] = total
        sums = [merged[n] for n in range(len(merged))]
    return [
        (leaf, -1),
        *((cost_scale.split + cost, (feature, shapes)) for cost, shapes in sums),
    ]
