"""Candidate splits of a subproblem: features that may pay, and their children, in a frame."""

from __future__ import annotations

from solver.kernels.constants import ZERO
from solver.kernels.jit import helper
from solver.objective.exact_objective import INFINITE
from solver.rashomon.kernels.bounds import bound_by_classes, bound_by_splits, child_depth
from solver.rashomon.kernels.class_counts import (
    children_of,
    pair_columns,
    select,
    weigh,
    weigh_branch,
    weight_of,
)
from solver.rashomon.kernels.memo import enter, find
from solver.rashomon.kernels.state import Space


@helper
def bound_split(s: Space, level: int, feature: int, left: int, most: int) -> int:
    """Lower bound on the cost of a split of a branch; the children's weights are in ``parts``.

    The largest number if it is none: only one child has points, or one of them is too small. The
    children's bounds are in the frame. Those of pairs are used while that of the split is at most
    ``most``.
    """
    value, deeper = s.points.first[feature], child_depth(left)
    arity = s.points.first[feature + 1] - value
    bound, children = s.split, 0
    for code in range(arity):
        weight = weight_of(s.parts[code])
        s.frames.lower[level, value + code] = 0
        if weight > 0:
            if weight < s.min_leaf:
                return INFINITE
            children += 1
            s.frames.lower[level, value + code] = bound_by_classes(s, s.parts[code], deeper)
            bound += s.frames.lower[level, value + code]
    if children < 2:
        return INFINITE
    if bound > most or deeper == 0 or s.pairs.shape[0] == 0:
        return bound
    for code in range(1, arity):
        pair_columns(s, s.frames.node[level], value + code, value - feature + code - 1)
    for code in range(arity):
        if bound <= most and weight_of(s.parts[code]) > 0:
            lower = bound_by_splits(s, feature, code, deeper)
            bound += lower - s.frames.lower[level, value + code]
            s.frames.lower[level, value + code] = lower
    return bound


@helper
def bound_by_memo(s: Space, level: int, feature: int, left: int, bound: int, most: int) -> int:
    """The same, raised by what is known of the children."""
    value, node = s.points.first[feature], s.frames.node[level]
    for code in range(s.points.first[feature + 1] - value):
        if bound <= most and weight_of(s.parts[code]) > 0:
            child = find(s, node, value + code, child_depth(left))
            if child >= 0 and s.memo.lower[child] > s.frames.lower[level, value + code]:
                bound += s.memo.lower[child] - s.frames.lower[level, value + code]
                s.frames.lower[level, value + code] = s.memo.lower[child]
    return bound


@helper
def rank_features(s: Space, level: int, node: int, most: int) -> int:
    """Fill a frame with the features whose split may cost ``most`` or less; return the least bound
    of the others."""
    s.frames.node[level] = node
    s.frames.ranked[level] = 0
    s.frames.place[level] = 0
    s.frames.entered[level] = 0
    skipped, left = INFINITE, s.memo.left[node]
    if left == 0:
        return skipped
    weigh_branch(s, node)
    for feature in range(len(s.points.first) - 1):
        children_of(s, feature)
        bound = bound_split(s, level, feature, left, most)
        bound = bound_by_memo(s, level, feature, left, bound, most)
        if bound > most:
            skipped = min(skipped, bound)
            continue
        place = s.frames.ranked[level]
        while place > 0 and s.frames.bound[level, place - 1] > bound:
            s.frames.bound[level, place] = s.frames.bound[level, place - 1]
            s.frames.order[level, place] = s.frames.order[level, place - 1]
            place -= 1
        s.frames.bound[level, place] = bound
        s.frames.order[level, place] = feature
        s.frames.ranked[level] += 1
    return skipped


@helper
def least_shallow(s: Space, level: int, node: int, most: int, depth: int) -> int:
    """The least cost of a split in a tree of depth ``depth``, 1 or 2, exact up to ``most``."""
    s.frames.node[level] = node
    s.frames.ranked[level] = 0
    s.frames.place[level] = 0
    least = INFINITE
    weigh_branch(s, node)
    for feature in range(len(s.points.first) - 1):
        children_of(s, feature)
        least = min(least, bound_split(s, level, feature, depth, min(most, least)))
    return least


@helper
def enter_children(s: Space, level: int, node: int, feature: int) -> bool:
    """Put the children of a split into a frame; False if the memo is full."""
    value, left = s.points.first[feature], child_depth(s.memo.left[node])
    for code in range(s.points.first[feature + 1] - value):
        some = ZERO
        for w in range(s.memo.sets.shape[1]):
            some |= s.memo.sets[node, w] & s.points.masks[value + code, w]
        s.frames.children[level, code] = -1
        if some != ZERO:
            child = enter(s, node, value + code, left)
            if child < 0:
                return False
            s.frames.children[level, code] = child
            lower = s.frames.lower[level, value + code]
            s.memo.lower[child] = max(s.memo.lower[child], lower)
            paired = left == 1 and s.pairs.shape[0] > 0
            s.memo.exact[child] |= paired or lower == s.memo.leaf[child]
    s.frames.entered[level] = 1
    return True


@helper
def cost_of_split(s: Space, level: int, feature: int) -> int:
    """Lower bound on a split whose children are in a frame."""
    total = s.split
    for code in range(s.points.first[feature + 1] - s.points.first[feature]):
        if s.frames.children[level, code] >= 0:
            total += s.memo.lower[s.frames.children[level, code]]
    return total


@helper
def cheapest_open(s: Space, level: int, feature: int) -> int:
    """The cheapest child in a frame whose minimum is not known; −1 if there is none."""
    best = -1
    for code in range(s.points.first[feature + 1] - s.points.first[feature]):
        child = s.frames.children[level, code]
        if child >= 0 and not s.memo.exact[child]:
            if best < 0 or s.memo.leaf[child] < s.memo.leaf[best]:
                best = child
    return best


@helper
def learn_from(s: Space, level: int, feature: int) -> None:
    """Raise the bounds of the features that follow in a frame, by those of this one's children.

    Two branches that differ in rows of weight ``w`` differ in their least costs by ``error·w`` at
    most: the first one's tree misclassifies no more rows of the other than that (OSDT's bound on
    similar support). That needs leaves of any size: where they have a smallest weight, the tree may
    be forbidden on fewer rows.
    """
    arity = s.points.first[feature + 1] - s.points.first[feature]
    for code in range(arity):
        child = s.frames.children[level, code]
        if child < 0:
            continue
        n, lower = select(s, child, -1), s.memo.lower[child]
        weigh(s, n, -1, s.below[0])
        weight = weight_of(s.below[0])
        for place in range(s.frames.place[level] + 1, s.frames.ranked[level]):
            other = s.frames.order[level, place]
            for value in range(s.points.first[other], s.points.first[other + 1]):
                if s.frames.lower[level, value] < lower:
                    weigh(s, n, value, s.below[0])
                    least = lower - s.error * (weight - weight_of(s.below[0]))
                    if least > s.frames.lower[level, value]:
                        s.frames.bound[level, place] += least - s.frames.lower[level, value]
                        s.frames.lower[level, value] = least
