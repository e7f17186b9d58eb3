"""Scheduling policies: which tree of the queue is split next."""

from __future__ import annotations

import math

from solver.kernels.constants import Ints
from solver.kernels.jit import helper
from solver.osdt.state import Params

POLICIES = (
    "curiosity",
    "lower_bound",
    "objective",
    "entropy",
    "gini",
    "breadth_first",
    "depth_first",
)
CURIOSITY, LOWER_BOUND, OBJECTIVE, ENTROPY, GINI, BREADTH_FIRST, DEPTH_FIRST = range(7)

_NOTHING = 0.01  # weight that a tree without an unchanged leaf is taken to have in them


def rank(
    params: Params,
    number: int,
    splits: int,
    closed: int,
    bound: int,
    objective: int,
    weight: int,
    impure: float,
) -> float:
    """The key of a tree in the queue; the least comes first, then the oldest.

    ``number`` counts trees in the order found. ``splits``, ``closed``, ``weight`` and ``impure``
    are the tree's splits, and the cost, weight and impurity of its unchanged leaves. ``objective``
    is its cost if it stays as it is.

    Notes
    -----
    ``curiosity`` is the thesis's (section 5.2): the lower bound of Theorem 1, divided by the
    support of the unchanged leaves. ``entropy`` and ``gini`` are the mean impurity of the rows in
    unchanged leaves. ``depth_first`` takes the tree of most splits.
    """
    if params.policy == LOWER_BOUND:
        return float(bound)
    if params.policy == OBJECTIVE:
        return float(objective)
    if params.policy == BREADTH_FIRST:
        return float(number)
    if params.policy == DEPTH_FIRST:
        return -float(splits)
    support = float(weight) if weight > 0 else _NOTHING
    if params.policy == CURIOSITY:
        return float(closed + params.split) / support
    return impure / support


def impurity(params: Params, counts: Ints, row: int, classes: int) -> float:
    """Entropy (in bits) or Gini impurity of a leaf, times its weight; 0 for other policies."""
    if params.policy != ENTROPY and params.policy != GINI:
        return 0.0
    total = 0
    for c in range(classes):
        total += counts[row, c]
    result = 0.0
    for c in range(classes):
        share = counts[row, c] / total
        if params.policy == GINI:
            result += share * (1.0 - share)
        elif share > 0.0:
            result -= share * math.log2(share)
    return result * total


priority = helper(rank)
impurity_of = helper(impurity)
"""The same for kernels."""
