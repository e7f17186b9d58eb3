"""Bounds: on a branch from its counts, and on a split from its children.

Costs are integers to be minimised. So the paper's upper bound ``R(l)`` on the gain of a branch is
a lower bound on its cost here; the upper bounds are costs of known trees and make the search
anytime. With a limit on splits every bound is a row over split budgets, and the sum over children
is a (min, +) convolution.
"""

from __future__ import annotations

from solver.branches.paper.state import Params, Pool, Space
from solver.kernels.constants import Ints
from solver.kernels.jit import helper
from solver.objective.exact_objective import INFINITE


@helper
def first_bounds(params: Params, lower: Ints, weight: int, errors: int, splittable: bool) -> None:
    """Lower bounds of a branch that has not been expanded, one per split budget.

    Proposition 4.2: it stays a leaf, or a split costs its price and purifies at best.
    """
    leaf = errors * params.error
    split = leaf
    if splittable and weight >= 2 * params.min_leaf:
        split = min(leaf, params.split)
    for b in range(params.budgets):
        lower[b] = leaf if b == 0 and params.budgets > 1 else split


@helper
def child_bounds(pool: Pool, child: int, b: int) -> tuple[int, int]:
    """What is known of a child: lower and upper bound for a budget."""
    node = pool.child_node[child]
    if node >= 0:
        return pool.node_lower[node, b], pool.node_upper[node, b]
    return pool.child_lower[child, b], pool.child_leaf[child]


@helper
def convolve(s: Space, action: int, arity: int, upper: bool, out: Ints) -> None:
    """Sum the bounds of the children of an action, budgets shared out at best; add the split."""
    first, budgets = s.pool.action_children[action], s.params.budgets
    if budgets == 1:
        total = s.params.split
        for c in range(arity):
            low, high = child_bounds(s.pool, first + c, 0)
            total += high if upper else low
        out[0] = total
        return
    sums = s.scratch.sums
    for b in range(budgets):
        sums[0, b] = 0
    for c in range(arity):
        for b in range(budgets):
            sums[c + 1, b] = INFINITE
        for share in range(budgets):
            low, high = child_bounds(s.pool, first + c, share)
            cost = high if upper else low
            for b in range(share, budgets):
                sums[c + 1, b] = min(sums[c + 1, b], sums[c, b - share] + cost)
    out[0] = INFINITE
    for b in range(1, budgets):
        out[b] = s.params.split + sums[arity, b - 1]


@helper
def share_out(s: Space, action: int, arity: int, budget: int) -> None:
    """The budgets of the children at which :func:`refresh`, just called, found its lower bound."""
    if s.params.budgets == 1:
        for c in range(arity):
            s.scratch.shares[c] = 0
        return
    first, left = s.pool.action_children[action], budget - 1
    for c in range(arity - 1, -1, -1):
        for share in range(left + 1):
            low, _ = child_bounds(s.pool, first + c, share)
            if s.scratch.sums[c + 1, left] == s.scratch.sums[c, left - share] + low:
                s.scratch.shares[c] = share
                left -= share
                break


@helper
def refresh(s: Space, node: int, action: int) -> bool:
    """Bring the bounds of an action, and the node's upper bound, up to date; did it change?"""
    feature = s.pool.action_feature[action]
    arity = s.layout.offsets[feature + 1] - s.layout.offsets[feature]
    # The lower bounds come last: share_out reads the sums that they leave.
    convolve(s, action, arity, True, s.scratch.upper)
    convolve(s, action, arity, False, s.scratch.lower)
    changed = False
    for b in range(s.params.budgets):
        if s.scratch.lower[b] > s.pool.action_lower[action, b]:
            s.pool.action_lower[action, b] = s.scratch.lower[b]
            changed = True
        if s.scratch.upper[b] < s.pool.node_upper[node, b]:
            s.pool.node_upper[node, b] = s.scratch.upper[b]
            s.pool.node_best[node, b] = action
            changed = True
    return changed


@helper
def settle(s: Space, node: int) -> None:
    """Lower bounds of a node from its actions (Bellman equation, Proposition 4.1)."""
    begin = s.pool.node_actions[node, 0]
    for b in range(s.params.budgets):
        low = s.pool.node_upper[node, b]
        for action in range(begin, begin + s.pool.node_actions[node, 1]):
            low = min(low, s.pool.action_lower[action, b])
        s.pool.node_lower[node, b] = max(s.pool.node_lower[node, b], low)
