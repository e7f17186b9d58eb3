"""A quick first regression tree: grown greedily, then pruned optimally for the price of a split."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from solver.engine.driver import Greedy
from solver.engine.tree_constraints import TreeConstraints
from solver.objective.exact_objective import SquaredCostScale
from solver.problem.problem import Problem
from solver.quantbnb.regression.stumps import best_stump, leaf_of, nearest_middle
from solver.quantbnb.regression.target_scaling import new_targets
from solver.trees.tree import Shape


def greedy_tree(
    problem: Problem,
    cost_scale: SquaredCostScale,
    constraints: TreeConstraints,
    out_of_time: Callable[[], bool],
) -> Shape:
    """Take the split of the least squared error at every node, and undo those that do not pay.

    ``out_of_time`` is called before every node; once it is true only leaves are added.
    """
    assert problem.values is not None
    targets = new_targets(problem.values, problem.counts[:, 0])
    price = float(np.ldexp(cost_scale.split, 2 * targets.exponent)) + 4 * targets.error
    first_cut = np.concatenate(([0], np.cumsum(problem.arities - 1)))

    def grow(rows: NDArray[np.int64], depth: int) -> tuple[float, Shape]:
        leaf = leaf_of(targets.sums[rows])
        if leaf <= price or depth >= constraints.depth or out_of_time():
            return leaf, -1
        codes = problem.codes[rows]
        _, feature, code = best_stump(codes, targets.sums[rows], constraints.min_leaf)
        if feature < 0:
            return leaf, -1
        code = nearest_middle(codes[:, feature], code)
        left = codes[:, feature] <= code
        halves = grow(rows[left], depth + 1), grow(rows[~left], depth + 1)
        cost = price + halves[0][0] + halves[1][0]
        if cost >= leaf:
            return leaf, -1
        return cost, (int(first_cut[feature]) + code, (halves[0][1], halves[1][1]))

    return grow(np.arange(len(problem.codes)), 0)[1]


GREEDY_SQUARES = Greedy(lambda: 0.0, greedy_tree)
