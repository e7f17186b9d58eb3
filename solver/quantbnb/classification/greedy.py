"""A quick first tree on numbers: grown greedily, then pruned optimally for λ."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from solver.engine.driver import Greedy
from solver.engine.greedy import Curve, join_curves
from solver.engine.tree_constraints import TreeConstraints
from solver.kernels.constants import Ints
from solver.objective.exact_objective import CostScale
from solver.problem.problem import Problem
from solver.trees.tree import Shape

_SPARSE = 8  # as many codes a row make it worth while to leave out those that are not there


@dataclass
class _Grower:
    """Grows by Gini impurity, as CART does, and adds only leaves once ``out_of_time`` is true.

    ``codes`` have the shape (features, rows), ``arities`` (features,), the others (rows,).
    """

    codes: NDArray[np.int32]
    arities: NDArray[np.int32]
    classes: NDArray[np.int64]
    weights: Ints
    first_cut: Ints
    cost_scale: CostScale
    constraints: TreeConstraints
    out_of_time: Callable[[], bool]

    def grow(self, rows: Ints, depth: int) -> Curve:
        """The best pruned subtrees."""
        totals = np.bincount(self.classes[rows], self.weights[rows]).astype(np.int64)
        leaf = self.cost_scale.error * int(totals.sum() - totals.max())
        if leaf <= self.cost_scale.split or depth >= self.constraints.depth:
            return [(leaf, -1)]
        feature, code = self._best_cut(rows, totals)
        if feature < 0:
            return [(leaf, -1)]
        below = self.codes[feature, rows] <= code
        children = [self.grow(rows[side], depth + 1) for side in (below, ~below)]
        cut = int(self.first_cut[feature]) + code
        return join_curves(self.cost_scale, self.constraints, leaf, cut, children)

    def _best_cut(self, rows: Ints, totals: Ints) -> tuple[int, int]:
        """Feature, and the largest code on the left; −1 if there is none."""
        best, found, total = -1.0, (-1, -1), int(totals.sum())
        classes, weights = self.classes[rows], self.weights[rows].astype(float)
        groups = [np.flatnonzero(classes == label) for label in np.flatnonzero(totals)]
        for feature in range(len(self.codes)):
            if self.out_of_time():
                return -1, -1
            codes, size = self.codes[feature, rows], int(self.arities[feature])
            values = None
            if size > _SPARSE * len(rows):
                values, codes = np.unique(codes, return_inverse=True)
                size = len(values)
            held = np.flatnonzero(np.bincount(codes, minlength=size))
            # Sums of whole numbers, which are exact.
            left = np.bincount(codes, weights, size).cumsum()[held[:-1]]
            fits = np.minimum(left, total - left) >= self.constraints.min_leaf
            if not fits.any():
                continue
            purity = np.zeros(len(left))
            for group in groups:
                mine = np.bincount(codes[group], weights[group], size).cumsum()
                rest = mine[-1] - mine[held[:-1]]
                purity += mine[held[:-1]] ** 2 / left + rest**2 / (total - left)
            at = int(np.where(fits, purity, -1.0).argmax())
            if purity[at] > best:
                pair = held[at : at + 2] if values is None else values[held[at : at + 2]]
                best, found = float(purity[at]), (feature, (int(pair.sum()) - 1) // 2)
        return found


def greedy_tree(
    problem: Problem,
    cost_scale: CostScale,
    constraints: TreeConstraints,
    out_of_time: Callable[[], bool],
) -> Shape:
    """Grow by Gini impurity, and replace subtrees that do not pay, or of which there are too many.

    ``out_of_time`` is called before every feature; once it is true only leaves are added.
    """
    rows, classes = np.nonzero(problem.counts)
    grower = _Grower(
        np.ascontiguousarray(problem.codes[rows].T),
        problem.arities,
        classes,
        problem.counts[rows, classes],
        np.concatenate(([0], np.cumsum(problem.arities - 1))),
        cost_scale,
        constraints,
        out_of_time,
    )
    return min(grower.grow(np.arange(len(rows)), 0), key=lambda entry: entry[0])[1]


# The search begins with a tree that is hardly worse, in less time.
GREEDY = Greedy(lambda: 0.0, greedy_tree, at_once=False)
