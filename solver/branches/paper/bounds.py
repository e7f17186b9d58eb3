"""Bounds: on a branch from its counts, and on a split from its children.

Costs are integers to be minimised, so the paper's upper bound ``R(l)`` on what a branch can gain
is here a lower bound on what it costs; the upper bounds kept beside are costs of known trees and
make the search anytime. With a limit on splits every bound is a row over split budgets and the
sum over children becomes a (min, +) convolution.
"""

from __future__ import annotations

from solver.branches.paper.counting import rank, unavoidable
from solver.branches.paper.layout import Layout
from solver.branches.paper.pool import INFINITE, Ints, Pool, Rules, Scratch
from solver.jit import inlined


@inlined
def first_bounds(
    rules: Rules,
    scratch: Scratch,
    lower: Ints,
    code: int,
    weight: int,
    errors: int,
    floor: int,
) -> None:
    """Lower bounds of a branch nobody has looked into, one per split budget.

    Proposition 4.2: a split costs its price and purifies at best. Beyond the paper: errors on
    equivalent points (``floor``) stay, and a tree of ``s`` splits with at most ``A`` children
    each has at most ``s·(A − 1) + 1`` leaves and so predicts no more classes than that.
    """
    leaf = errors * rules.error
    for b in range(rules.budgets):
        lower[b] = leaf
    if weight < 2 * rules.min_leaf or errors <= floor:
        return
    if rules.paper:
        for b in range(rules.budgets):
            if b > 0 or rules.budgets == 1:
                lower[b] = min(leaf, rules.split)
        return
    n = rank(scratch, code)
    kept, covered, splits, best = 0, 0, 0, leaf
    while True:
        splits += 1
        if rules.budgets > 1 and splits >= rules.budgets:
            break
        most = min(n, splits * (rules.max_arity - 1) + 1)
        while covered < most:
            kept += scratch.ranked[covered]
            covered += 1
        best = min(best, splits * rules.split + rules.error * max(floor, weight - kept))
        if rules.budgets > 1:
            lower[splits] = best
        elif covered == n:
            lower[0] = best
            break


@inlined
def two_splits(layout: Layout, rules: Rules, scratch: Scratch, value: int) -> int:
    """Least cost of a child with two splits or more."""
    weight = 0
    for k in range(scratch.singles.shape[1]):
        weight += scratch.singles[value, k]
        scratch.counts[0, k] = scratch.singles[value, k]
    n = rank(scratch, 0)
    floor = unavoidable(layout, scratch, value)
    kept, covered, splits, best = 0, 0, 1, INFINITE
    while True:
        splits += 1
        most = min(n, splits * (rules.max_arity - 1) + 1)
        while covered < most:
            kept += scratch.ranked[covered]
            covered += 1
        best = min(best, splits * rules.split + rules.error * max(floor, weight - kept))
        if covered == n:
            return best


@inlined
def child_bounds(pool: Pool, rules: Rules, child: int, b: int) -> tuple[int, int]:
    """What is known of a child: lower and upper bound for a budget."""
    node = pool.child_node[child]
    if node >= 0:
        return pool.node_lower[node, b], pool.node_upper[node, b]
    if pool.child_stump[child, 1] >= 0 and (b > 0 or rules.budgets == 1):
        return pool.child_lower[child, b], pool.child_stump[child, 0]
    return pool.child_lower[child, b], pool.child_leaf[child]


@inlined
def convolve(
    pool: Pool,
    rules: Rules,
    scratch: Scratch,
    action: int,
    arity: int,
    upper: bool,
    out: Ints,
) -> None:
    """Sum the bounds of the children of an action, budgets shared out at best; add the split."""
    first, budgets = pool.action_children[action], rules.budgets
    if budgets == 1:
        total = rules.split
        for c in range(arity):
            low, high = child_bounds(pool, rules, first + c, 0)
            total += high if upper else low
        out[0] = total
        return
    sums = scratch.sums
    for b in range(budgets):
        sums[0, b] = 0
    for c in range(arity):
        for b in range(budgets):
            sums[c + 1, b] = INFINITE
        for share in range(budgets):
            low, high = child_bounds(pool, rules, first + c, share)
            cost = high if upper else low
            for b in range(share, budgets):
                sums[c + 1, b] = min(sums[c + 1, b], sums[c, b - share] + cost)
    out[0] = INFINITE
    for b in range(1, budgets):
        out[b] = rules.split + sums[arity, b - 1]


@inlined
def share_out(
    pool: Pool,
    rules: Rules,
    scratch: Scratch,
    action: int,
    arity: int,
    budget: int,
    upper: bool,
) -> None:
    """The budgets of the children at which :func:`convolve` finds its sum."""
    if rules.budgets == 1:
        for c in range(arity):
            scratch.shares[c] = 0
        return
    first, left = pool.action_children[action], budget - 1
    for c in range(arity - 1, -1, -1):
        for share in range(left + 1):
            low, high = child_bounds(pool, rules, first + c, share)
            cost = high if upper else low
            if scratch.sums[c + 1, left] == scratch.sums[c, left - share] + cost:
                scratch.shares[c] = share
                left -= share
                break


@inlined
def supported(pool: Pool, rules: Rules, action: int, arity: int) -> bool:
    """Whether a split can pay against one of its subtrees serving all rows (support bound).

    Without the split, the subtree of child ``j`` errs at worst on all rows of the others. So a
    split is only worth its price if for every ``j`` the others gain more than it:
    ``Σ_{i≠j} (weight(i) − lower bound(i)) > λ``.
    """
    first, last = pool.action_children[action], rules.budgets - 1
    total, largest = 0, 0
    for c in range(arity):
        low, _ = child_bounds(pool, rules, first + c, last)
        gain = pool.child_weight[first + c] * rules.error - low
        total += gain
        largest = max(largest, gain)
    return total - largest > rules.split


@inlined
def refresh(
    layout: Layout, rules: Rules, pool: Pool, scratch: Scratch, node: int, action: int
) -> bool:
    """Bring the bounds of an action, and the node's upper bound, up to date; did it change?"""
    feature = pool.action_feature[action]
    arity = layout.offsets[feature + 1] - layout.offsets[feature]
    convolve(pool, rules, scratch, action, arity, True, scratch.upper)
    convolve(pool, rules, scratch, action, arity, False, scratch.lower)
    changed = False
    for b in range(rules.budgets):
        if scratch.lower[b] > pool.action_lower[action, b]:
            pool.action_lower[action, b] = scratch.lower[b]
            changed = True
        if scratch.upper[b] < pool.node_upper[node, b]:
            pool.node_upper[node, b] = scratch.upper[b]
            pool.node_best[node, b] = action
            changed = True
    if not rules.paper and pool.action_lower[action, 0] < INFINITE:
        if not supported(pool, rules, action, arity):
            for b in range(rules.budgets):
                pool.action_lower[action, b] = INFINITE
            changed = True
    return changed


@inlined
def settle(rules: Rules, pool: Pool, node: int) -> None:
    """Lower bounds of a node from its actions (Bellman equation, Proposition 4.1)."""
    begin = pool.node_actions[node, 0]
    for b in range(rules.budgets):
        low = pool.node_upper[node, b]
        for action in range(begin, begin + pool.node_actions[node, 1]):
            low = min(low, pool.action_lower[action, b])
        pool.node_lower[node, b] = max(pool.node_lower[node, b], low)
