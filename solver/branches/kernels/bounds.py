"""Bounds: on a branch from its class counts, and on a split from its children.

Costs are integers to be minimised. So the paper's upper bound ``R(l)`` on the gain of a branch is
a lower bound on its cost here; the upper bounds are costs of known trees and make the search
anytime. With a limit on splits every bound is a row over split budgets, and the sum over children
is a (min, +) convolution.
"""

from __future__ import annotations

from solver.branches.kernels import stack_frame
from solver.branches.kernels.state import Scratch, Space
from solver.kernels.constants import Ints
from solver.kernels.jit import helper
from solver.objective.exact_objective import INFINITE


@helper
def rank(scratch: Scratch, n_classes: int) -> int:
    """Sort the positive ``scratch.counts``, largest first; their number."""
    n = 0
    for k in range(n_classes):
        value = scratch.counts[k]
        if value > 0:
            i = n
            while i > 0 and scratch.ranked[i - 1] < value:
                scratch.ranked[i] = scratch.ranked[i - 1]
                i -= 1
            scratch.ranked[i] = value
            n += 1
    return n


@helper
def first_bounds(
    s: Space, n_classes: int, weight: int, errors: int, floor: int, lower: Ints
) -> None:
    """Lower bounds, one per split budget, of a branch with the class weights ``scratch.counts``.

    Proposition 4.2: a split costs its price and purifies at best. Beyond the paper: errors on
    equivalent points (``floor``) stay. A tree of ``s`` splits with at most ``A`` children each has
    at most ``s·(A − 1) + 1`` leaves and so predicts no more classes than that.
    """
    leaf = errors * s.params.error
    for b in range(s.params.budgets):
        lower[b] = leaf
    if weight < 2 * s.params.min_leaf or errors <= floor:
        return
    if not s.params.class_counts:
        for b in range(s.params.budgets):
            if b > 0 or s.params.budgets == 1:
                lower[b] = min(leaf, s.params.split + s.params.error * floor)
        return
    n = rank(s.scratch, n_classes)
    kept, covered, splits, best = 0, 0, 0, leaf
    while True:
        splits += 1
        if s.params.budgets > 1 and splits >= s.params.budgets:
            break
        most = min(n, splits * (s.params.max_arity - 1) + 1)
        while covered < most:
            kept += s.scratch.ranked[covered]
            covered += 1
        best = min(best, splits * s.params.split + s.params.error * max(floor, weight - kept))
        if s.params.budgets > 1:
            lower[splits] = best
        elif covered == n:
            lower[0] = best
            break


@helper
def convolve_budgets(budgets: int, sums: Ints, bounds: Ints, first: int, end: int) -> None:
    """Sum the bounds of several branches, with the best division of a number of splits among them.

    It sums rows ``first`` to ``end`` of ``bounds``, (values, budgets); the sum of the first ``c``
    of them goes to ``sums[c]``.
    """
    for b in range(budgets):
        sums[0, b] = 0
    for value in range(first, end):
        c = value - first
        for b in range(budgets):
            sums[c + 1, b] = INFINITE
        for share in range(budgets):
            for b in range(share, budgets):
                sums[c + 1, b] = min(sums[c + 1, b], sums[c, b - share] + bounds[value, share])


@helper
def convolve(s: Space, bounds: Ints, feature: int, out: Ints) -> None:
    """Sum the bounds of the children of a split, budgets shared out at best; add the split."""
    first, end = s.table.values[feature], s.table.values[feature + 1]
    if s.params.budgets == 1:
        total = s.params.split
        for value in range(first, end):
            total += bounds[value, 0]
        out[0] = total
        return
    convolve_budgets(s.params.budgets, s.scratch.sums, bounds, first, end)
    out[0] = INFINITE
    for b in range(1, s.params.budgets):
        out[b] = s.params.split + s.scratch.sums[end - first, b - 1]


@helper
def share_out(s: Space, bounds: Ints, feature: int, budget: int) -> None:
    """The budgets of the children at which :func:`convolve` finds its sum."""
    first, left = s.table.values[feature], budget - 1
    for c in range(s.table.values[feature + 1] - first):
        s.scratch.shares[c] = 0
    if s.params.budgets == 1:
        return
    convolve(s, bounds, feature, s.scratch.lower)
    for c in range(s.table.values[feature + 1] - first - 1, -1, -1):
        for share in range(left + 1):
            cost = bounds[first + c, share]
            if s.scratch.sums[c + 1, left] == s.scratch.sums[c, left - share] + cost:
                s.scratch.shares[c] = share
                left -= share
                break


@helper
def supported(s: Space, d: int, feature: int) -> bool:
    """Whether a split can pay compared with one of its subtrees for all rows (support bound).

    Without the split, the subtree of child ``j`` errs at most on all rows of the others. So a split
    is only worth its price if for every ``j`` the others gain more than it:
    ``Σ_{i≠j} (weight(i) − lower bound(i)) > λ``. No subset of a branch's rows gains more than the
    branch, so a split that is not worth its price here is not worth it in any branch below.
    """
    total, largest = 0, 0
    for value in range(s.table.values[feature], s.table.values[feature + 1]):
        gain = (
            s.stack.child_weight[d, value] * s.params.error
            - s.stack.child_lower[d, value, s.params.budgets - 1]
        )
        total += gain
        largest = max(largest, gain)
    return total - largest > s.params.split


@helper
def raise_split(s: Space, d: int, feature: int) -> None:
    """Bring the lower bound of a split up to date with those of its children."""
    convolve(s, s.stack.child_lower[d], feature, s.scratch.lower)
    low = s.scratch.lower[s.stack.head[d, stack_frame.BUDGET]]
    if s.params.support and not supported(s, d, feature):
        low = INFINITE
    s.stack.split_lower[d, feature] = max(s.stack.split_lower[d, feature], low)


@helper
def refresh_split(s: Space, d: int, feature: int) -> bool:
    """Bring all bounds of a split up to date; whether the branch has a better tree now."""
    raise_split(s, d, feature)
    convolve(s, s.stack.child_upper[d], feature, s.scratch.upper)
    node, improved = s.stack.head[d, stack_frame.NODE], False
    for b in range(s.params.budgets):
        if s.scratch.upper[b] < s.memo.node_upper[node, b]:
            s.memo.node_upper[node, b] = s.scratch.upper[b]
            s.memo.node_best[node, b] = feature
            improved = True
    return improved


@helper
def settle(s: Space, d: int) -> None:
    """Lower bound of a frame's branch from its splits (Bellman equation, Proposition 4.1)."""
    node, budget = s.stack.head[d, stack_frame.NODE], s.stack.head[d, stack_frame.BUDGET]
    low = s.memo.node_upper[node, budget]
    for i in range(s.stack.head[d, stack_frame.N_CANDIDATES]):
        low = min(low, s.stack.split_lower[d, s.stack.candidates[d, i]])
    # What fewer splits reach costs no less; what they reach, more splits reach as well.
    for b in range(budget + 1):
        s.memo.node_lower[node, b] = max(s.memo.node_lower[node, b], low)
    for b in range(1, s.params.budgets):
        if s.memo.node_upper[node, b - 1] < s.memo.node_upper[node, b]:
            s.memo.node_upper[node, b] = s.memo.node_upper[node, b - 1]
            s.memo.node_best[node, b] = s.memo.node_best[node, b - 1]
