"""The compiled search: select, expand, backpropagate (Algorithm 1 of the BRANCHES paper).

Costs are integers to be minimised, so the paper's upper bound ``R(l)`` on what a branch can gain
is here a lower bound on what it costs; the upper bounds kept beside are costs of known trees and
make the search anytime. With a limit on splits every bound is a row over split budgets and the
sum over children becomes a (min, +) convolution.
"""

from __future__ import annotations

import numpy as np

from solver.branches.layout import Layout
from solver.branches.pool import (
    ACTIONS,
    CHILDREN,
    ITERATIONS,
    LITERALS,
    NODES,
    Ints,
    Pool,
    Rules,
    Scratch,
)
from solver.jit import inlined, kernel, popcount

INFINITE = 2**61
RUNNING, PROVEN, FULL = range(3)


@inlined
def weigh(layout: Layout, word: np.uint64, at: int) -> int:
    """Weight of the rows in a word, in units."""
    planes = layout.planes.shape[0]
    if planes == 0:
        return popcount(word)
    total = 0
    for plane in range(planes):
        total += popcount(word & layout.planes[plane, at]) << plane
    return total


@inlined
def pack(layout: Layout, scratch: Scratch) -> None:
    """Gather the words of the current branch that are not zero, class by class."""
    n = 0
    for k in range(len(layout.segments) - 1):
        scratch.packed_segments[k] = n
        for at in range(layout.segments[k], layout.segments[k + 1]):
            if scratch.bits[at] != 0:
                scratch.packed[n] = scratch.bits[at]
                scratch.packed_at[n] = at
                n += 1
    scratch.packed_segments[len(layout.segments) - 1] = n


@inlined
def count_children(layout: Layout, scratch: Scratch, feature: int) -> None:
    """Class weights of every child of a split of the packed branch."""
    first = layout.offsets[feature]
    arity = layout.offsets[feature + 1] - first
    for k in range(len(layout.segments) - 1):
        begin, end = scratch.packed_segments[k], scratch.packed_segments[k + 1]
        rest = 0
        for i in range(begin, end):
            rest += weigh(layout, scratch.packed[i], scratch.packed_at[i])
        for code in range(1, arity):
            total = 0
            for i in range(begin, end):
                at = scratch.packed_at[i]
                total += weigh(layout, scratch.packed[i] & layout.masks[first + code, at], at)
            scratch.counts[code, k] = total * layout.unit
            rest -= total
        scratch.counts[0, k] = rest * layout.unit


@inlined
def unavoidable(layout: Layout, scratch: Scratch, value: int) -> int:
    """Errors that no tree avoids on a child of the packed branch (equivalent points)."""
    total = 0
    for i in range(scratch.packed_segments[len(layout.segments) - 1]):
        at = scratch.packed_at[i]
        word = scratch.packed[i] & layout.masks[value, at] & layout.minority[at]
        total += weigh(layout, word, at)
    return total * layout.unit


@inlined
def rank(scratch: Scratch, code: int) -> int:
    """Sort the positive class weights of a child, largest first; their number."""
    n = 0
    for k in range(scratch.counts.shape[1]):
        value = scratch.counts[code, k]
        if value > 0:
            i = n
            while i > 0 and scratch.ranked[i - 1] < value:
                scratch.ranked[i] = scratch.ranked[i - 1]
                i -= 1
            scratch.ranked[i] = value
            n += 1
    return n


@inlined
def first_bounds(
    rules: Rules, scratch: Scratch, lower: Ints, code: int, weight: int, errors: int, floor: int
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
def child_bounds(pool: Pool, rules: Rules, child: int, b: int) -> tuple[int, int]:
    """What is known of a child: lower and upper bound for a budget."""
    node = pool.child_node[child]
    if node >= 0:
        return pool.node_lower[node, b], pool.node_upper[node, b]
    return pool.child_lower[child, b], pool.child_leaf[child]


@inlined
def convolve(
    pool: Pool, rules: Rules, scratch: Scratch, action: int, arity: int, upper: bool, out: Ints
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
    pool: Pool, rules: Rules, scratch: Scratch, action: int, arity: int, budget: int, upper: bool
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


@inlined
def most_promising(pool: Pool, node: int, budget: int) -> int:
    """The action of least lower bound that could still beat the node's tree; −1 if none."""
    best, least = -1, pool.node_upper[node, budget]
    begin = pool.node_actions[node, 0]
    for action in range(begin, begin + pool.node_actions[node, 1]):
        if pool.action_lower[action, budget] < least:
            best, least = action, pool.action_lower[action, budget]
    return best


@inlined
def choose_child(
    layout: Layout, rules: Rules, pool: Pool, scratch: Scratch, action: int, arity: int
) -> int:
    """The open child to walk into.

    The paper takes the one of least known gain, which is the one that has least weight classified
    correctly; ours the one of smallest gap, which is soonest closed.
    """
    first, chosen, least = pool.action_children[action], -1, INFINITE
    for c in range(arity):
        low, high = child_bounds(pool, rules, first + c, scratch.shares[c])
        if low == high:
            continue
        measure = high - low
        if rules.paper:
            measure = pool.child_weight[first + c] * rules.error - high
        if chosen < 0 or measure < least:
            chosen, least = c, measure
    return chosen


@inlined
def mixed(value: np.uint64) -> np.uint64:
    """Scramble a word (the finaliser of splitmix64)."""
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


@inlined
def branch_hash(rules: Rules, scratch: Scratch, n_literals: int) -> np.uint64:
    """Hash of a child: of its literals (the paper's memo), or of its rows and depth."""
    value = np.uint64(n_literals)
    if rules.paper:
        for i in range(n_literals):
            value = mixed(value + np.uint64(scratch.literals[i]) + np.uint64(0x9E3779B97F4A7C15))
        return value
    if rules.depth >= INFINITE:
        value = np.uint64(0)
    for at in range(len(scratch.child_bits)):
        value = mixed((value ^ scratch.child_bits[at]) + np.uint64(0x9E3779B97F4A7C15))
    return value


@inlined
def same_branch(
    layout: Layout, rules: Rules, pool: Pool, scratch: Scratch, node: int, n_literals: int
) -> bool:
    """Whether a node of equal hash really is the child: compares literals, or rows bit by bit.

    Two branches of equal rows are the same problem only if equally many splits may follow, so
    with a depth limit their depths must agree (the trap of Appendix B.1).
    """
    start, length = pool.node_literals[node, 0], pool.node_literals[node, 1]
    if (rules.paper or rules.depth < INFINITE) and length != n_literals:
        return False
    if rules.paper:
        for i in range(length):  # noqa: SIM110  (no generators in compiled code)
            if pool.literals[start + i] != scratch.literals[i]:
                return False
        return True
    for at in range(len(scratch.child_bits)):
        word = layout.rows[at]
        for i in range(length):
            word &= layout.masks[pool.literals[start + i], at]
        if word != scratch.child_bits[at]:
            return False
    return True


@inlined
def find_or_add(
    layout: Layout, rules: Rules, pool: Pool, scratch: Scratch, child: int, n_literals: int
) -> tuple[int, bool]:
    """The node of a child, from the memo or new; was it there?"""
    value = branch_hash(rules, scratch, n_literals)
    last = len(pool.memo) - 1
    slot = np.int64(value & np.uint64(last))
    while pool.memo[slot] >= 0:
        node = pool.memo[slot]
        if pool.node_hash[node] == value and same_branch(
            layout, rules, pool, scratch, node, n_literals
        ):
            return node, True
        slot = (slot + 1) & last
    node = pool.used[NODES]
    pool.used[NODES] += 1
    pool.memo[slot] = node
    pool.node_hash[node] = value
    start = pool.used[LITERALS]
    pool.node_literals[node, 0] = start
    pool.node_literals[node, 1] = n_literals
    for i in range(n_literals):
        pool.literals[start + i] = scratch.literals[i]
    pool.used[LITERALS] += n_literals
    pool.node_actions[node, 0] = -1
    for b in range(rules.budgets):
        pool.node_lower[node, b] = pool.child_lower[child, b]
        pool.node_upper[node, b] = pool.child_leaf[child]
        pool.node_best[node, b] = -1
    return node, False


@kernel
def rehash(pool: Pool) -> None:
    """Fill an empty memo table with all nodes."""
    last = len(pool.memo) - 1
    for node in range(pool.used[NODES]):
        slot = np.int64(pool.node_hash[node] & np.uint64(last))
        while pool.memo[slot] >= 0:
            slot = (slot + 1) & last
        pool.memo[slot] = node


@inlined
def insert_literal(scratch: Scratch, n_literals: int, value: int) -> None:
    """Add a literal to the current branch, keeping the order."""
    i = n_literals
    while i > 0 and scratch.literals[i - 1] > value:
        scratch.literals[i] = scratch.literals[i - 1]
        i -= 1
    scratch.literals[i] = value


@inlined
def remove_literal(scratch: Scratch, n_literals: int, value: int) -> None:
    """Take the literal back out."""
    i = 0
    while scratch.literals[i] != value:
        i += 1
    while i < n_literals - 1:
        scratch.literals[i] = scratch.literals[i + 1]
        i += 1


@kernel
def select(layout: Layout, rules: Rules, pool: Pool, scratch: Scratch) -> tuple[int, bool]:
    """Walk from the root along the most promising splits to a branch not expanded yet.

    Returns
    -------
    length : int
        Nodes on ``scratch.path``.
    open : bool
        Whether the last of them is to be expanded; else the walk ended at a branch that its fresh
        bounds have completed.
    """
    node, length, n_literals, budget = 0, 0, 0, rules.budgets - 1
    for at in range(len(scratch.bits)):
        scratch.bits[at] = layout.rows[at]
    while True:
        scratch.path[length, 0] = node
        scratch.path[length, 1] = -1
        scratch.path[length, 2] = budget
        length += 1
        if pool.node_actions[node, 0] < 0:
            return length, pool.node_lower[node, budget] < pool.node_upper[node, budget]
        while True:
            action = most_promising(pool, node, budget)
            if action < 0:
                settle(rules, pool, node)
                return length, False
            if refresh(layout, rules, pool, scratch, node, action):
                continue
            feature = pool.action_feature[action]
            arity = layout.offsets[feature + 1] - layout.offsets[feature]
            share_out(pool, rules, scratch, action, arity, budget, False)
            code = choose_child(layout, rules, pool, scratch, action, arity)
            child = pool.action_children[action] + code
            value = layout.offsets[feature] + code
            for at in range(len(scratch.bits)):
                scratch.child_bits[at] = scratch.bits[at] & layout.masks[value, at]
            insert_literal(scratch, n_literals, value)
            if pool.child_node[child] < 0:
                known, was_there = find_or_add(layout, rules, pool, scratch, child, n_literals + 1)
                pool.child_node[child] = known
                if was_there:
                    remove_literal(scratch, n_literals + 1, value)
                    continue
            break
        scratch.path[length - 1, 1] = action
        for at in range(len(scratch.bits)):
            scratch.bits[at] = scratch.child_bits[at]
        node, budget = pool.child_node[child], scratch.shares[code]
        n_literals += 1


@kernel
def expand(
    layout: Layout, rules: Rules, pool: Pool, scratch: Scratch, node: int, depth: int
) -> None:
    """Bound every split of the current branch from the class counts of its children."""
    pack(layout, scratch)
    n_features, n_classes = len(layout.offsets) - 1, len(layout.segments) - 1
    begin = pool.used[ACTIONS]
    pool.node_actions[node, 0] = begin
    for feature in range(n_features):
        first = layout.offsets[feature]
        arity = layout.offsets[feature + 1] - first
        count_children(layout, scratch, feature)
        child = pool.used[CHILDREN]
        occupied, allowed = 0, True
        for code in range(arity):
            weight, most = 0, 0
            for k in range(n_classes):
                weight += scratch.counts[code, k]
                most = max(most, scratch.counts[code, k])
            occupied += weight > 0
            allowed &= weight == 0 or weight >= rules.min_leaf
            errors = weight - most
            pool.child_node[child + code] = -1
            pool.child_leaf[child + code] = errors * rules.error
            pool.child_weight[child + code] = weight
            floor = 0
            if depth + 1 >= rules.depth:
                floor = errors
            elif not rules.paper and errors > 0:
                floor = unavoidable(layout, scratch, first + code)
            first_bounds(
                rules, scratch, pool.child_lower[child + code], code, weight, errors, floor
            )
        # A split that leaves all rows together costs its price for nothing; features that the
        # branch has used already are of this kind.
        if occupied < 2 or not allowed:
            continue
        action = pool.used[ACTIONS]
        pool.action_feature[action] = feature
        pool.action_children[action] = child
        for b in range(rules.budgets):
            pool.action_lower[action, b] = 0
        refresh(layout, rules, pool, scratch, node, action)
        hopeful = False
        for b in range(rules.budgets):
            hopeful |= pool.action_lower[action, b] < pool.node_upper[node, b]
        if hopeful or pool.node_best[node, rules.budgets - 1] == action or rules.budgets > 1:
            pool.used[ACTIONS] += 1
            pool.used[CHILDREN] += arity
    pool.node_actions[node, 1] = pool.used[ACTIONS] - begin
    settle(rules, pool, node)


@kernel
def backpropagate(layout: Layout, rules: Rules, pool: Pool, scratch: Scratch, length: int) -> None:
    """Carry the new bounds up the path."""
    for i in range(length - 2, -1, -1):
        node, action = scratch.path[i, 0], scratch.path[i, 1]
        refresh(layout, rules, pool, scratch, node, action)
        settle(rules, pool, node)


@kernel
def plant(layout: Layout, rules: Rules, pool: Pool, scratch: Scratch, floor: int) -> None:
    """Make the root. ``floor`` are the unavoidable errors of all rows."""
    weight, most = 0, 0
    for k in range(len(layout.segments) - 1):
        total = 0
        for at in range(layout.segments[k], layout.segments[k + 1]):
            total += weigh(layout, layout.rows[at], at)
        scratch.counts[0, k] = total * layout.unit
        weight += total * layout.unit
        most = max(most, total * layout.unit)
    errors = weight - most
    if rules.depth == 0 or len(layout.offsets) == 1:
        floor = errors
    elif rules.paper:
        floor = 0
    pool.child_leaf[0] = errors * rules.error
    first_bounds(rules, scratch, pool.child_lower[0], 0, weight, errors, floor)
    for at in range(len(scratch.bits)):
        scratch.child_bits[at] = layout.rows[at]
    find_or_add(layout, rules, pool, scratch, 0, 0)


@kernel
def step(
    layout: Layout, rules: Rules, pool: Pool, scratch: Scratch, budget: int, enough: int
) -> int:
    """Run at most ``budget`` iterations.

    Parameters
    ----------
    budget : int
        Iterations of this slice.
    enough : int
        Stop as soon as a tree of at most this cost is known (λ = 0 only; else −1).

    Returns
    -------
    int
        RUNNING, PROVEN, or FULL when the pool must grow first.
    """
    n_features, values = len(layout.offsets) - 1, layout.offsets[-1]
    last = rules.budgets - 1
    for _ in range(budget):
        if pool.node_lower[0, last] == pool.node_upper[0, last]:
            return PROVEN
        if pool.node_upper[0, last] <= enough:
            return PROVEN
        if (
            pool.used[NODES] + 1 > len(pool.node_hash)
            or pool.used[ACTIONS] + n_features > len(pool.action_feature)
            or pool.used[CHILDREN] + values > len(pool.child_node)
            or pool.used[LITERALS] + len(scratch.literals) > len(pool.literals)
        ):
            return FULL
        length, is_open = select(layout, rules, pool, scratch)
        if is_open:
            node = scratch.path[length - 1, 0]
            expand(layout, rules, pool, scratch, node, length - 1)
        backpropagate(layout, rules, pool, scratch, length)
        pool.used[ITERATIONS] += 1
    if pool.node_lower[0, last] == pool.node_upper[0, last]:
        return PROVEN
    return RUNNING


@kernel
def split_counts(layout: Layout, scratch: Scratch, out: Ints) -> None:
    """Class weights (values, classes) of every code of every feature in the current branch."""
    pack(layout, scratch)
    for feature in range(len(layout.offsets) - 1):
        first = layout.offsets[feature]
        count_children(layout, scratch, feature)
        for code in range(layout.offsets[feature + 1] - first):
            for k in range(len(layout.segments) - 1):
                out[first + code, k] = scratch.counts[code, k]
