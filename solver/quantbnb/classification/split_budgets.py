"""How the parts of a threshold share the splits that a tree may have.

With at most k splits, a threshold at the root leaves j of the others to its left part, and
k - 1 - j to its right part. For a fixed *allotment* j all bounds of
:mod:`solver.quantbnb.classification.best_first_search` hold as they do for trees of a fixed depth.
So every feature has intervals of thresholds for every allotment; what is known by feature is the
least over them.

A tree of depth d cannot use more than 2^d - 1 splits: without a limit that is k, and there is one
allotment.
"""

from __future__ import annotations

from solver.kernels.jit import helper
from solver.objective.exact_objective import INFINITE
from solver.quantbnb.classification.state import (
    AT,
    BUDGET,
    DEPTH,
    FEATURE,
    LEFT,
    LIMIT,
    NEAR,
    OPENING,
    PHASE,
    Levels,
    Params,
    Part,
    Sweep,
    Table,
)
from solver.quantbnb.classification.stump_pairs import code_holding, leaf_cost, weight_below


@helper
def allotments(s: Levels) -> tuple[int, int]:
    """Fewest and most splits of the left part, such that neither part has more than it can use."""
    most = (1 << (s.frame[DEPTH] - 1)) - 1
    return max(0, s.frame[BUDGET] - 1 - most), min(most, s.frame[BUDGET] - 1)


@helper
def deepens(s: Levels) -> bool:
    """Whether trees of the present allotment may be deeper than those of the next level."""
    most = max(s.frame[LEFT], s.frame[BUDGET] - 1 - s.frame[LEFT])
    return bool(most >= max(1, s.frame[DEPTH] - 1))


@helper
def splits_of(s: Levels, side: int) -> int:
    """How many splits a part of the current threshold may have."""
    if s.frame[PHASE] == OPENING:
        return int(s.frame[BUDGET])
    return int(s.frame[LEFT] if side == 0 else s.frame[BUDGET] - 1 - s.frame[LEFT])


@helper
def leaf_side(s: Levels) -> int:
    """The part that may have no split; -1: both may have some."""
    return 0 if splits_of(s, 0) == 0 else 1 if splits_of(s, 1) == 0 else -1


@helper
def make_leaves(table: Table, params: Params, part: Part, scratch: Sweep, s: Levels) -> None:
    """The parts of a new threshold that may have no split are leaves."""
    at = s.frame[AT]
    for side in range(2):
        if splits_of(s, side) == 0:
            leaf = leaf_cost(table, params, part, scratch, s.frame[FEATURE], s.code[at], side)
            s.least[at, side] = s.paid[at, side] = leaf
            s.each[at, side, :] = INFINITE
            s.halves[side, :, 0] = s.halves[side, :, 1] = -1


@helper
def least_beside(s: Levels, side: int) -> int:
    """A lower bound on the other part of the current threshold.

    Beside a leaf, a part is bounded well enough to rule out thresholds with smaller leaves, too.
    """
    other: int = s.least[s.frame[AT], 1 - side]
    return other if splits_of(s, 1 - side) > 0 else min(other, s.frame[NEAR])


@helper
def beside_leaf(
    table: Table,
    params: Params,
    part: Part,
    scratch: Sweep,
    s: Levels,
    feature: int,
    a: int,
    b: int,
    low: int,
    high: int,
) -> tuple[int, int]:
    """Least and greatest weight below the thresholds of an interval that can cost less than the
    limit, of those between two weights, if one part is a leaf.

    The cost of the leaf is known for each of them; both bounds of the other part are added. Away
    from the end where the leaf is smallest, its cost rises, at most by the price of errors. So the
    sum with the other part's cost at the far end rises, too, and that with its bound from the near
    end falls.
    """
    leaf = leaf_side(s)
    first = code_holding(table, part, feature, low) + 1
    last = code_holding(table, part, feature, high + 1)
    near, far, start, step = (a, b, first, 1) if leaf == 0 else (b, a, last, -1)
    rest = s.frame[LIMIT] - params.split
    since, until = 0, last + 1 - first
    for falls in range(2):
        begin, end = 0, until
        while begin < end:
            middle = (begin + end) // 2
            code = start + step * middle
            cost = leaf_cost(table, params, part, scratch, feature, code, leaf)
            if falls:
                below = weight_below(table, part, feature, code)
                cost += s.least[near, 1 - leaf] - params.error * abs(below - s.below[near])
                is_beyond = cost < rest
            else:
                is_beyond = cost + s.least[far, 1 - leaf] >= rest
            if is_beyond:
                end = middle
            else:
                begin = middle + 1
        if falls:
            since = begin
        else:
            until = begin
    if since >= until:
        return 1, 0
    code, other = start + step * since, start + step * (until - 1)
    s.frame[NEAR] = leaf_cost(table, params, part, scratch, feature, code, leaf)
    one, two = weight_below(table, part, feature, code), weight_below(table, part, feature, other)
    return min(one, two), max(one, two)
