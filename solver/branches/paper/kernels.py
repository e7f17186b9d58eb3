"""The compiled search: select, expand, backpropagate (Algorithm 1 of the BRANCHES paper)."""

from __future__ import annotations

from solver.branches.paper.bounds import (
    child_bounds,
    first_bounds,
    refresh,
    settle,
    share_out,
)
from solver.branches.paper.counting import count_children, pack, unavoidable, weigh
from solver.branches.paper.layout import Layout
from solver.branches.paper.lookahead import look_ahead
from solver.branches.paper.memo import find_or_add, insert_literal, remove_literal
from solver.branches.paper.pool import (
    ACTIONS,
    CHILDREN,
    INFINITE,
    ITERATIONS,
    LITERALS,
    NODES,
    Pool,
    Rules,
    Scratch,
)
from solver.jit import inlined, kernel

RUNNING, PROVEN, FULL = range(3)


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
            pool.child_stump[child + code, 1] = -1
            for k in range(n_classes):
                scratch.singles[first + code, k] = scratch.counts[code, k]
            floor = 0
            if depth + 1 >= rules.depth:
                floor = errors
            elif not rules.paper and errors > 0:
                floor = unavoidable(layout, scratch, first + code)
            first_bounds(
                rules,
                scratch,
                pool.child_lower[child + code],
                code,
                weight,
                errors,
                floor,
            )
        # A split that leaves all rows together costs its price for nothing; features that the
        # branch has used already are of this kind.
        # A leaf that is too small here may be empty, and so allowed, in a child.
        scratch.usable[feature] = occupied >= 2
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
    if rules.lookahead and depth + 2 <= rules.depth and pool.used[ACTIONS] > begin:
        look_ahead(layout, rules, pool, scratch, node, depth)
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
    pool.child_stump[0, 1] = -1
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
