"""The least cost of a subproblem, by depth-first branch and bound over the memo."""

from __future__ import annotations

from solver.kernels.constants import FULL, PROVEN, RUNNING
from solver.kernels.jit import helper
from solver.objective.exact_objective import INFINITE
from solver.rashomon.kernels.candidate_splits import (
    cheapest_open,
    cost_of_split,
    enter_children,
    learn_from,
    least_shallow,
    rank_features,
)
from solver.rashomon.kernels.state import EXPANDED, SLICE_END, Space


@helper
def open_frame(s: Space, level: int, node: int, most: int) -> bool:
    """Begin the search of a subproblem; False if the slice is over.

    It ends at once if the trees that cost so little have a depth of two at most: their costs
    follow from the weights of pairs of columns.
    """
    if s.used[EXPANDED] >= s.used[SLICE_END]:
        return False
    s.used[EXPANDED] += 1
    s.frames.most[level] = most
    s.frames.best[level] = s.memo.leaf[node]
    allowed, left = min(most, s.memo.leaf[node] - 1), s.memo.left[node]
    third = 3 * s.split + s.error * s.memo.unavoidable[node]
    if s.pairs.shape[0] > 0 and (0 <= left <= 2 or allowed < third):
        depth = left if 0 <= left <= 2 else 2
        least = least_shallow(s, level, node, allowed, depth) if depth else INFINITE
        if least <= allowed:
            s.frames.best[level] = least
        s.frames.failed[level] = least if depth == left else min(least, third)
    else:
        s.frames.failed[level] = rank_features(s, level, node, allowed)
    return True


@helper
def close_frame(s: Space, level: int) -> None:
    """Store what is proven: the minimum, or that it exceeds the most that it may cost."""
    node, best = s.frames.node[level], s.frames.best[level]
    if best <= s.frames.most[level]:
        s.memo.lower[node] = best
        s.memo.exact[node] = 1
        return
    s.memo.lower[node] = max(s.memo.lower[node], min(best, s.frames.failed[level]))


@helper
def find_minimum(s: Space, node: int, most: int, base: int) -> int:
    """Find the least cost of a subproblem, or prove that it exceeds ``most``: PROVEN.

    RUNNING where the slice is over, and FULL where the memo is: then all frames, which begin at
    level ``base``, are given up. The memo keeps what was proven.
    """
    if s.memo.exact[node] or s.memo.lower[node] > most:
        return PROVEN
    if not open_frame(s, base, node, most):
        return RUNNING
    level = base
    while level >= base:
        allowed = min(s.frames.most[level], s.frames.best[level] - 1)
        place = s.frames.place[level]
        if place >= s.frames.ranked[level]:
            close_frame(s, level)
            level -= 1
            continue
        if s.frames.bound[level, place] > allowed:
            s.frames.failed[level] = min(s.frames.failed[level], s.frames.bound[level, place])
            s.frames.place[level] += 1
            continue
        feature = s.frames.order[level, place]
        if not s.frames.entered[level]:
            if not enter_children(s, level, s.frames.node[level], feature):
                return FULL
        total = cost_of_split(s, level, feature)
        child = cheapest_open(s, level, feature)
        if total <= allowed and child >= 0:
            rest = total - s.memo.lower[child]
            if not open_frame(s, level + 1, child, allowed - rest):
                return RUNNING
            level += 1
            continue
        if total <= allowed:
            s.frames.best[level] = total
        else:
            s.frames.failed[level] = min(s.frames.failed[level], total)
            if s.min_leaf == 1:
                learn_from(s, level, feature)
        s.frames.place[level] += 1
        s.frames.entered[level] = 0
    return PROVEN
