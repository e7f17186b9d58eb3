"""The bounds of the thesis, each a function of its own.

Costs are integers, see :class:`solver.objective.exact_objective.CostScale`: ``error`` for a unit of
weight in error, ``split`` for a split, which is one more than λ in these units. So of two trees of
equal objective the one of fewer splits costs less, and "no better" means "costs as much or more".

All bounds hold with more than two classes and with row weights: "captured" and "correctly
classified" are then weights, and a leaf predicts the class of greatest weight. Where a proof needs
more, the function says so.

References
----------
Hu, "Optimal Sparse Decision Trees", thesis, Duke University (2019), chapter 3.
"""

from __future__ import annotations

from solver.kernels.jit import helper
from solver.objective.exact_objective import INFINITE
from solver.osdt.state import Params


@helper
def must_stay(params: Params, error: int, floor: int) -> bool:
    """Lower bound on leaf support (Theorem 3): whether a leaf is never worth splitting.

    A split corrects at most the errors of the leaf that some tree avoids (Theorem 9). If these cost
    no more than a split, the leaf is as good. Theorem 3 says so of the support 2λ, because a leaf
    of two classes errs on at most a half. The error itself (Algorithm 3) is sharper and holds for
    any number of classes.
    """
    return params.support and error - floor <= params.split


@helper
def gains_too_little(params: Params, error: int, left: int, right: int) -> bool:
    """Lower bound on incremental classification accuracy (Theorem 4).

    A split that corrects no more than its price must be followed by another one below it: the two
    new leaves cannot both stay. The proof merges the two leaves, so it holds for any number of
    classes.
    """
    return params.incremental_accuracy and error - left - right <= params.split


@helper
def is_right_too_rarely(params: Params, weight: int, error: int) -> bool:
    """Lower bound on classification accuracy (Theorem 5): whether no tree needs this leaf.

    If it classifies no more correctly than the price of a split, its rows may join the sibling's,
    which saves a split. No leaf below it classifies more correctly. So the feature that made it is
    of no use here or further down, for any number of classes.
    """
    return params.accuracy and params.error * weight - error <= params.split


@helper
def floor_of(params: Params, minority: int) -> int:
    """Equivalent points bound (Proposition 8, Theorem 9): a cost that no subtree goes below.

    Rows that no feature distinguishes get one label; all but their greatest class are wrong.
    ``minority`` is the sum of these weights over the leaf.
    """
    return params.error * minority if params.equivalent_points else 0


@helper
def lower_of_split(params: Params, floor: int) -> int:
    """The least cost of a leaf to be split: with one-step lookahead (Lemma 2) that of a split."""
    return floor + params.split if params.lookahead else floor


@helper
def too_dear(params: Params, bound: int, best: int) -> bool:
    """Hierarchical objective lower bound (Theorem 1): whether no child of a tree can be better.

    A tree's bound holds for its children: they keep its unchanged leaves and have no fewer splits.
    """
    return params.hierarchical and bound >= best


@helper
def lower_of_similar(known: int, apart: int) -> int:
    """Similar support bound (Theorem 7): what one split costs at least, given another one.

    Replace a node's feature and keep the trees below: only rows that the two features separate
    differently (``apart``, as a cost) can change sides and become wrong. ``known`` bounds all trees
    that begin with the other feature. The theorem's condition that the features cannot be used
    below each other is not needed, nor two classes; but leaves may get smaller.
    """
    return min(max(known - apart, 0), INFINITE)
