"""Bounds on the cost of rules at the root of a region, from the cost of another rule.

Replacing a rule by another one costs at most what the rows cost that they send to different sides:
in classification their weight, in regression what a prediction as far away as possible would cost.
"""

from __future__ import annotations

from solver.kernels.constants import Words
from solver.kernels.jit import helper, popcount
from solver.kernels.record_dispatch import by_record
from solver.objective.exact_objective import INFINITE
from solver.proper.squared_stumps import (
    begin_sweep,
    far_between,
    far_of,
    price_of_far,
    squared_error,
    squared_error_of_stump,
    sum_next,
    sum_rows,
    sum_shared,
    sweep_squares,
    weight_of,
)
from solver.proper.state import (
    AT,
    DEPTH,
    FAR,
    LEFT,
    NEAR,
    RULES,
    SPLITS,
    WEIGHT,
    AnyRows,
    Levels,
    Params,
    Rows,
    Scratch,
    Squares,
)
from solver.proper.stumps import (
    count_next,
    count_rows,
    leaf_errors,
    stump_errors,
    sweep_stumps,
    total_weight,
)


@helper
def most_splits(splits: int, depth: int) -> int:
    """How many of the given splits a tree of a depth has room for."""
    return min(splits, (1 << depth) - 1) if depth < 30 else splits


@helper
def _weight_between(rows: Rows, one: Words, other: Words) -> int:
    """The weight of the rows that are in one of two masks."""
    moved = 0
    for w in range(len(one)):
        either = one[w] ^ other[w]
        for p in range(len(rows.values)):
            moved += rows.values[p] * popcount(either & rows.planes[p, w])
    return moved


@helper
def _price_of_weight(params: Params, rows: Rows, weight: int) -> int:
    return params.error * weight


@helper
def bound_by(
    params: Params, rows: AnyRows, levels: Levels, at: int, chosen: int, least: int
) -> None:
    """Bound the remaining rules by the cost of a rule."""
    frame, mask, bound = levels.frame[at], levels.masks[at, chosen], levels.bound[at]
    for i in range(frame[LEFT]):
        q = levels.left[at, i]
        moved = moved_between(rows, mask, levels.masks[at, q])
        moved = min(moved, frame[WEIGHT] - moved)
        bound[q] = max(bound[q], least - price_of_moved(params, rows, moved))


@helper
def _bound_near(params: Params, rows: Rows, levels: Levels, scratch: Scratch, at: int) -> None:
    """Bound the remaining rules by the cost of the current rule."""
    frame, bound, inside = levels.frame[at], levels.bound[at], levels.inside[at]
    chosen, least = frame[AT], frame[NEAR]
    if frame[SPLITS] > 2:  # the levels below have used the place of ``shared``
        bound_by(params, rows, levels, at, chosen, least)
        return
    weight = total_weight(rows, inside[chosen])
    for i in range(frame[LEFT]):
        q = levels.left[at, i]
        moved = weight + total_weight(rows, inside[q]) - 2 * levels.shared[q]
        moved = min(moved, frame[WEIGHT] - moved)
        bound[q] = max(bound[q], least - params.error * moved)


@helper
def _no_sides(rows: Rows, levels: Levels, at: int, number: int) -> None:
    pass


@helper
def _begin_sides(rows: Squares, levels: Levels, at: int, number: int) -> None:
    """Nothing is known of the sides of a new region's rules."""
    for q in range(number):
        for s in range(levels.sides.shape[3]):
            levels.sides[at, q, 0, s] = 0
            levels.sides[at, q, 1, s] = 0


@helper
def _bound_by_sides(
    params: Params, rows: Squares, levels: Levels, scratch: Scratch, at: int
) -> None:
    """Bound the remaining rules by the costs of both sides of the current rule.

    Let A be a side of the current rule, and S a side of another rule. Take the best tree of S to
    predict the rows of A: those in S as it did, and the others, A∖S, by whatever leaf they reach.
    A leaf predicts a mean, so each of these rows costs at most what its farthest target would. So
    no tree of S costs less than the best one of A without that: ``cost(A) − far(A∖S)``. Of each
    side and number of splits the largest such bound is kept, of all rules evaluated so far.
    """
    frame, low = levels.frame[at], levels.sub_cost[at]
    chosen, splits, depth = frame[AT], frame[SPLITS], frame[DEPTH] - 1
    if splits > 2:  # the levels below have used the same place
        begin_sweep(rows, levels, scratch, at, chosen)
        for q in range(frame[RULES]):
            sum_shared(rows, levels, scratch, at, q)
    for s in range(splits - 2, -1, -1):  # more splits cost no more
        low[0, s] = max(low[0, s], low[0, s + 1])
        low[1, s] = max(low[1, s], low[1, s + 1])
    above = levels.inside[at, chosen, FAR]
    below = frame[WEIGHT] - above
    for i in range(frame[LEFT]):
        q = levels.left[at, i]
        both, inside = levels.shared[q], levels.inside[at, q, FAR]
        neither = below - (inside - both)
        for side in range(2):  # what is in a side of the current rule, and not in this one
            lost_above = price_of_far(params, rows, above - both if side == 0 else both)
            lost_below = price_of_far(params, rows, neither if side == 0 else inside - both)
            for s in range(splits):
                known = levels.sides[at, q, side, s]
                known = max(known, low[0, s] - lost_above, low[1, s] - lost_below)
                levels.sides[at, q, side, s] = known
        least = INFINITE
        for share in range(splits):
            first, second = most_splits(share, depth), most_splits(splits - 1 - share, depth)
            cost = levels.sides[at, q, 0, first] + levels.sides[at, q, 1, second]
            least = min(least, cost)
        moved = above + inside - 2 * both
        moved = price_of_far(params, rows, min(moved, frame[WEIGHT] - moved))
        least = max(params.split + least, frame[NEAR] - moved)
        levels.bound[at, q] = max(levels.bound[at, q], least)


# Of both kinds of rows.
count_rows_of = by_record({Rows: count_rows, Squares: sum_rows})
count_next_of = by_record({Rows: count_next, Squares: sum_next})
weight_in = by_record({Rows: total_weight, Squares: weight_of})
moving_weight = by_record({Rows: total_weight, Squares: far_of})
leaf_loss = by_record({Rows: leaf_errors, Squares: squared_error})
stump_loss = by_record({Rows: stump_errors, Squares: squared_error_of_stump})
sweep = by_record({Rows: sweep_stumps, Squares: sweep_squares})
moved_between = by_record({Rows: _weight_between, Squares: far_between})
price_of_moved = by_record({Rows: _price_of_weight, Squares: price_of_far})
begin_sides = by_record({Rows: _no_sides, Squares: _begin_sides})
bound_others = by_record({Rows: _bound_near, Squares: _bound_by_sides})
