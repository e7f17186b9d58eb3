"""What one more split would make of every child, from counts of pairs of features."""

from __future__ import annotations

from solver.branches.paper.bounds import refresh, two_splits
from solver.branches.paper.counting import count_pair, gather_children
from solver.branches.paper.layout import Layout
from solver.branches.paper.pool import INFINITE, Pool, Rules, Scratch
from solver.jit import inlined, kernel


@inlined
def offer_stump(layout: Layout, rules: Rules, scratch: Scratch, f: int, g: int, flip: bool) -> None:
    """Let ``g`` split the children of ``f``; ``flip``: the pair was counted as (g, f)."""
    first, arity = layout.offsets[f], layout.offsets[f + 1] - layout.offsets[f]
    for code in range(arity):
        errors, allowed = 0, True
        for u in range(layout.offsets[g + 1] - layout.offsets[g]):
            weight, most = 0, 0
            for k in range(scratch.joint.shape[2]):
                count = scratch.joint[u, code, k] if flip else scratch.joint[code, u, k]
                weight += count
                most = max(most, count)
            allowed &= weight == 0 or weight >= rules.min_leaf
            errors += weight - most
        if allowed and errors < scratch.stump[first + code, 0]:
            scratch.stump[first + code, 0] = errors
            scratch.stump[first + code, 1] = g


@inlined
def find_stumps(layout: Layout, rules: Rules, scratch: Scratch) -> None:
    """The best single split of every child of the packed branch."""
    n_features = len(layout.offsets) - 1
    gather_children(layout, scratch)
    for value in range(layout.offsets[n_features]):
        scratch.stump[value, 0] = INFINITE
        scratch.stump[value, 1] = -1
    for f in range(n_features):
        if scratch.usable[f] == 0:
            continue
        for g in range(f + 1, n_features):
            if scratch.usable[g] == 0:
                continue
            count_pair(layout, scratch, f, g)
            offer_stump(layout, rules, scratch, f, g, False)
            offer_stump(layout, rules, scratch, g, f, True)


@kernel
def look_ahead(
    layout: Layout, rules: Rules, pool: Pool, scratch: Scratch, node: int, depth: int
) -> None:
    """Bound the children of all splits by what one more split would make of them.

    A child costs its leaf, its best single split, or at least two splits: a purification bound of
    two steps. All single splits of all children are known from the counts of pairs of features,
    before any child is created.
    """
    find_stumps(layout, rules, scratch)
    last = rules.budgets - 1
    begin = pool.node_actions[node, 0]
    for action in range(begin, begin + pool.node_actions[node, 1]):
        first = layout.offsets[pool.action_feature[action]]
        arity = layout.offsets[pool.action_feature[action] + 1] - first
        for code in range(arity):
            child = pool.action_children[action] + code
            leaf, cost = pool.child_leaf[child], INFINITE
            if pool.child_lower[child, last] == leaf:
                continue
            if scratch.stump[first + code, 1] >= 0:
                cost = rules.split + rules.error * scratch.stump[first + code, 0]
            if cost < leaf:
                pool.child_stump[child, 0] = cost
                pool.child_stump[child, 1] = scratch.stump[first + code, 1]
            deeper = INFINITE
            if depth + 2 < rules.depth:
                deeper = two_splits(layout, rules, scratch, first + code)
            for b in range(rules.budgets):
                best = min(leaf, cost)
                if b != 1:
                    best = min(best, deeper)
                if b > 0 or last == 0:
                    pool.child_lower[child, b] = max(pool.child_lower[child, b], best)
        refresh(layout, rules, pool, scratch, node, action)
