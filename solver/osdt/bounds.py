"""The bounds of the thesis, each a function of its own.

Costs are integers, see :class:`solver.objective.exact.CostScale`: ``error`` for a unit of weight in
error, ``split`` for a split, which is one more than λ in these units. So of two trees of equal
objective the one of fewer splits costs less, and "no better" may be read as "costs as much or
more".

With more than two classes and with row weights all of them hold as they stand once "captured"
and "correctly classified" are read as weights, and the label of a leaf as the class of greatest
weight; where a proof needs more, the function says so.

References
----------
Hu, "Optimal Sparse Decision Trees", thesis, Duke University (2019), chapter 3.
"""

from __future__ import annotations

from solver.kernels.jit import inlined
from solver.objective.exact import INFINITE
from solver.osdt.state import Params


@inlined
def must_stay(params: Params, error: int, floor: int) -> bool:
    """Lower bound on leaf support (Theorem 3): whether a leaf is never worth splitting.

    A split sets right at most what the leaf gets wrong, less what every tree gets wrong there
    (Theorem 9). If that is no more than its price, the leaf is as good. Theorem 3 says so of the
    support 2λ, of which a leaf of two classes gets at most a half wrong, and Algorithm 3 of the
    error itself, which is sharper and holds for any number of classes.
    """
    return params.support and error - floor <= params.split


@inlined
def gains_too_little(params: Params, error: int, left: int, right: int) -> bool:
    """Lower bound on incremental classification accuracy (Theorem 4).

    A split that sets right no more than its price has to be followed by another below it: not
    both new leaves may stay. The proof merges the two leaves, whatever their labels, so it holds
    for any number of classes.
    """
    return params.incremental_accuracy and error - left - right <= params.split


@inlined
def is_right_too_rarely(params: Params, weight: int, error: int) -> bool:
    """Lower bound on classification accuracy (Theorem 5): whether no tree needs this leaf.

    If it gets right no more than the price of a split, its rows may go with its sibling's, and a
    split is saved. Below it every leaf gets right at most as much, since no class has more weight
    in a part than in the whole: so the feature that made it is of no use here or further down.
    That argument is the same for any number of classes.
    """
    return params.accuracy and params.error * weight - error <= params.split


@inlined
def floor_of(params: Params, minority: int) -> int:
    """Equivalent points bound (Proposition 8, Theorem 9): a cost that no subtree goes below.

    Rows that no feature tells apart get one label; all but the greatest class among them are
    wrong. Summed over the sets of such rows in a leaf, for any number of classes.

    Parameters
    ----------
    minority : int
        The weight in the leaf that is not of the greatest class among its equals.
    """
    return params.error * minority if params.equivalent_points else 0


@inlined
def lower_of_split(params: Params, floor: int) -> int:
    """What a leaf that is to be split costs at least: with one-step lookahead (Lemma 2) a split."""
    return floor + params.split if params.lookahead else floor


@inlined
def too_dear(params: Params, bound: int, best: int) -> bool:
    """Hierarchical objective lower bound (Theorem 1): whether no child of a tree can be better.

    A tree's bound holds for all its children, since they keep its unchanged leaves and have no
    fewer splits.
    """
    return params.hierarchical and bound >= best


@inlined
def lower_of_similar(known: int, apart: int) -> int:
    """Similar support bound (Theorem 7): what one split costs at least, by another one.

    Put another feature in the place of a node's, and leave the trees below as they are: only rows
    that the two features send to different sides can change sides, and no more than all of them
    can become wrong. This needs neither the condition of the theorem that the features cannot be
    used below each other, nor two classes; but leaves may get smaller.

    Parameters
    ----------
    known : int
        A bound on the cost of all trees that begin with the other feature.
    apart : int
        Cost of the weight that the two part differently.
    """
    return min(max(known - apart, 0), INFINITE)
