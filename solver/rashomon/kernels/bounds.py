"""Lower bounds on the cost of every tree of a branch, from weights alone."""

from __future__ import annotations

from solver.kernels.constants import Ints
from solver.kernels.jit import helper
from solver.rashomon.kernels.class_counts import grandchildren_of, leaf_cost, weight_of
from solver.rashomon.kernels.state import NO_LIMIT, Space


@helper
def bound_by_classes(s: Space, counts: Ints, left: int) -> int:
    """Lower bound on the cost of every tree for points with these weights.

    A tree of ``k`` splits predicts at most ``1 + k·(arity − 1)`` classes.
    """
    n_classes, lower = len(counts) - 1, leaf_cost(s, counts)
    unavoidable: int = s.error * counts[n_classes]
    if left == 0 or lower <= s.split + unavoidable:
        return lower
    if n_classes == 2:
        return s.split + unavoidable
    weight = 0
    for k in range(n_classes):
        weight += counts[k]
        place = k
        while place > 0 and s.ranked[place - 1] < counts[k]:
            s.ranked[place] = s.ranked[place - 1]
            place -= 1
        s.ranked[place] = counts[k]
    kept, predicted, splits = s.ranked[0], 1, 0
    while True:
        splits += 1
        while predicted < min(n_classes, 1 + splits * (s.parts.shape[0] - 1)):
            kept += s.ranked[predicted]
            predicted += 1
        errors: int = s.error * (weight - kept)
        lower = min(lower, splits * s.split + max(unavoidable, errors))
        if predicted == n_classes or errors <= unavoidable:
            return lower


@helper
def child_depth(left: int) -> int:
    """The depth that is left to the children of a subproblem."""
    return left - 1 if left > 0 else NO_LIMIT


@helper
def most_right(s: Space, counts: Ints) -> int:
    """The most weight that one split can get right: that of as many classes as it has children."""
    n_classes, arity = len(counts) - 1, s.parts.shape[0]
    if n_classes <= arity:
        return weight_of(counts)
    total: int = 0
    for k in range(n_classes):
        larger = 0
        for other in range(n_classes):
            larger += counts[other] > counts[k] or (counts[other] == counts[k] and other < k)
        total += counts[k] if larger < arity else 0
    return total


@helper
def best_stump(s: Space, feature: int, code: int) -> int:
    """Fill ``cells`` with the weight of a child's children by every feature, the errors of a leaf
    there, and errors that one split and any tree leaves there at least; return the least errors of
    the child with one split or none."""
    unavoidable = len(s.totals) - 1
    least = leaf_cost(s, s.parts[code]) // s.error
    for second in range(len(s.points.first) - 1):
        grandchildren_of(s, feature, code, second)
        value, errors = s.points.first[second], 0
        for c in range(s.points.first[second + 1] - value):
            weight = weight_of(s.below[c])
            s.cells[value + c, 0] = weight
            s.cells[value + c, 1] = leaf_cost(s, s.below[c]) // s.error
            s.cells[value + c, 2] = max(s.below[c, unavoidable], weight - most_right(s, s.below[c]))
            s.cells[value + c, 3] = s.below[c, unavoidable]
            errors += s.cells[value + c, 1]
        least = min(least, errors)
    return least


@helper
def bound_cell(s: Space, value: int, saved: int, left: int) -> int:
    """Lower bound on the cost of a cell, a child of a child.

    ``saved`` is the weight that the best stump of the child has right. Whatever one split gets
    right in the cell, it gets right in the child as well, so it is no more than that.
    """
    leaf: int = s.error * s.cells[value, 1]
    if left == 0:
        return leaf
    one: int = s.split + s.error * max(s.cells[value, 2], s.cells[value, 0] - saved)
    if left != 1:
        one = min(one, 2 * s.split + s.error * s.cells[value, 3])
    return min(leaf, one)


@helper
def least_stump(s: Space, feature: int, code: int, simple: int, leaf: int) -> int:
    """The least cost of a child of a branch as a leaf, of cost ``leaf``, or with one split.

    Only for two classes. ``simple`` is a lower bound, which ends the search.
    """
    first, arity = s.points.first[feature] - feature - 1, s.parts.shape[0]
    least: int = leaf
    column = 0
    columns = s.points.first[feature + 1] - s.points.first[feature]
    for second in range(len(s.points.first) - 1):
        rest0, rest1 = s.parts[code, 0], s.parts[code, 1]
        errors, children = 0, 0
        for _ in range(s.points.first[second + 1] - s.points.first[second] - 1):
            if code > 0:
                weight0, weight1 = (
                    s.pairs[first + code, column, 0],
                    s.pairs[first + code, column, 1],
                )
            else:
                weight0, weight1 = s.singles[column, 0], s.singles[column, 1]
                for other in range(1, columns):
                    weight0 -= s.pairs[first + other, column, 0]
                    weight1 -= s.pairs[first + other, column, 1]
            if weight0 + weight1 > 0:
                children += 1 if weight0 + weight1 >= s.min_leaf else -arity
            errors += min(weight0, weight1)
            rest0 -= weight0
            rest1 -= weight1
            column += 1
        if rest0 + rest1 > 0:
            children += 1 if rest0 + rest1 >= s.min_leaf else -arity
        if children >= 2:
            cost: int = s.split + s.error * (errors + min(rest0, rest1))
            least = min(least, cost)
            if least <= simple:
                return least
    return least


@helper
def bound_by_splits(s: Space, feature: int, code: int, left: int) -> int:
    """Lower bound on the cost of every tree for a child of a branch: it is a leaf, or has a split
    with children as :func:`bound_cell` has them.

    It is the minimum if ``left``, the depth that is left to the child, is 1 or 0.
    """
    counts = s.parts[code]
    simple, least = bound_by_classes(s, counts, left), leaf_cost(s, counts)
    if simple == least:
        return least
    if left == 1 and len(counts) == 3:
        return least_stump(s, feature, code, simple, least)
    deeper, saved = child_depth(left), weight_of(counts) - best_stump(s, feature, code)
    for second in range(len(s.points.first) - 1):
        value, bound, children = s.points.first[second], s.split, 0
        for c in range(s.points.first[second + 1] - value):
            if s.cells[value + c, 0] > 0:
                children += 1 if s.cells[value + c, 0] >= s.min_leaf else -s.below.shape[0]
                bound += bound_cell(s, value + c, saved, deeper)
        if children >= 2 and bound < least:
            least = bound
            if least <= simple:
                return simple
    return least
