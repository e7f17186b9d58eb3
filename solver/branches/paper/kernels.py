"""The compiled search: select, expand, backpropagate (Algorithm 1 of the BRANCHES paper)."""

from __future__ import annotations

from solver.branches.paper.bit_vectors import Layout
from solver.branches.paper.bounds import child_bounds, first_bounds, refresh, settle, share_out
from solver.branches.paper.class_counts import count_children, pack, weigh
from solver.branches.paper.memo import insert_literal, link, remove_literal
from solver.branches.paper.state import (
    ACTIONS,
    CHILDREN,
    ITERATIONS,
    LITERALS,
    NODES,
    Params,
    Pool,
    Scratch,
)
from solver.kernels.constants import FULL, PROVEN, RUNNING
from solver.kernels.jit import helper, kernel


@helper
def most_promising(pool: Pool, node: int, budget: int) -> int:
    """The action of least lower bound that could still beat the node's tree; −1 if none."""
    best, least = -1, pool.node_upper[node, budget]
    begin = pool.node_actions[node, 0]
    for action in range(begin, begin + pool.node_actions[node, 1]):
        if pool.action_lower[action, budget] < least:
            best, least = action, pool.action_lower[action, budget]
    return best


@helper
def choose_child(params: Params, pool: Pool, scratch: Scratch, action: int, arity: int) -> int:
    """The open child of least known gain: that of least weight classified correctly."""
    first, chosen, least = pool.action_children[action], -1, 0
    for c in range(arity):
        low, high = child_bounds(pool, first + c, scratch.shares[c])
        gain = pool.child_weight[first + c] * params.error - high
        if low < high and (chosen < 0 or gain < least):
            chosen, least = c, gain
    return chosen


@helper
def next_child(
    layout: Layout,
    params: Params,
    pool: Pool,
    scratch: Scratch,
    node: int,
    budget: int,
    n_literals: int,
) -> tuple[int, int]:
    """The action and the code to go on with, put into ``scratch.literals``; −1 if complete.

    A child that is a known branch may bring better bounds; then the choice is made again.
    """
    while True:
        action = most_promising(pool, node, budget)
        if action < 0:
            return -1, -1
        if refresh(layout, params, pool, scratch, node, action):
            continue
        first = layout.offsets[pool.action_feature[action]]
        arity = layout.offsets[pool.action_feature[action] + 1] - first
        share_out(pool, params, scratch, action, arity, budget)
        code = choose_child(params, pool, scratch, action, arity)
        child = pool.action_children[action] + code
        insert_literal(scratch, n_literals, first + code)
        if pool.child_node[child] >= 0 or link(params, pool, scratch, child, n_literals + 1):
            return action, code
        remove_literal(scratch, n_literals + 1, first + code)


@kernel
def select(layout: Layout, params: Params, pool: Pool, scratch: Scratch) -> tuple[int, bool]:
    """Walk from the root along the most promising splits to an unexpanded branch.

    It returns the number of nodes on ``scratch.path``, and whether the last of them is to be
    expanded. Otherwise its fresh bounds have completed it.
    """
    node, length, budget = 0, 0, params.budgets - 1
    for at in range(len(scratch.bits)):
        scratch.bits[at] = layout.rows[at]
    while True:
        scratch.path[length, 0] = node
        scratch.path[length, 1] = -1
        if pool.node_actions[node, 0] < 0:
            return length + 1, pool.node_lower[node, budget] < pool.node_upper[node, budget]
        action, code = next_child(layout, params, pool, scratch, node, budget, length)
        if action < 0:
            settle(params, pool, node)
            return length + 1, False
        scratch.path[length, 1] = action
        length += 1
        value = layout.offsets[pool.action_feature[action]] + code
        for at in range(len(scratch.bits)):
            scratch.bits[at] &= layout.masks[value, at]
        node, budget = pool.child_node[pool.action_children[action] + code], scratch.shares[code]


@helper
def bound_children(
    params: Params, pool: Pool, scratch: Scratch, first: int, arity: int, splittable: bool
) -> bool:
    """First bounds of the children from their class counts; return whether their split is of use.

    A split that keeps all rows together only costs its price, as do features that the branch has
    already used.
    """
    occupied, allowed = 0, True
    for code in range(arity):
        weight, most = 0, 0
        for k in range(scratch.counts.shape[1]):
            weight += scratch.counts[code, k]
            most = max(most, scratch.counts[code, k])
        occupied += weight > 0
        allowed &= weight == 0 or weight >= params.min_leaf
        child, errors = first + code, weight - most
        pool.child_node[child] = -1
        pool.child_leaf[child] = errors * params.error
        pool.child_weight[child] = weight
        first_bounds(params, pool.child_lower[child], weight, errors, splittable)
    return allowed and occupied >= 2


@kernel
def expand(
    layout: Layout, params: Params, pool: Pool, scratch: Scratch, node: int, depth: int
) -> None:
    """Bound every split of the current branch from the class counts of its children."""
    pack(layout, scratch)
    begin, splittable = pool.used[ACTIONS], depth + 1 < params.depth
    pool.node_actions[node, 0] = begin
    for feature in range(len(layout.offsets) - 1):
        arity = layout.offsets[feature + 1] - layout.offsets[feature]
        child, action = pool.used[CHILDREN], pool.used[ACTIONS]
        count_children(layout, scratch, feature)
        if not bound_children(params, pool, scratch, child, arity, splittable):
            continue
        pool.action_feature[action] = feature
        pool.action_children[action] = child
        for b in range(params.budgets):
            pool.action_lower[action, b] = 0
        refresh(layout, params, pool, scratch, node, action)
        hopeful = pool.action_lower[action, 0] < pool.node_upper[node, 0]
        if hopeful or pool.node_best[node, 0] == action or params.budgets > 1:
            pool.used[ACTIONS] += 1
            pool.used[CHILDREN] += arity
    pool.node_actions[node, 1] = pool.used[ACTIONS] - begin
    settle(params, pool, node)


@kernel
def backpropagate(
    layout: Layout, params: Params, pool: Pool, scratch: Scratch, length: int
) -> None:
    """Carry the new bounds up the path."""
    for i in range(length - 2, -1, -1):
        node, action = scratch.path[i, 0], scratch.path[i, 1]
        refresh(layout, params, pool, scratch, node, action)
        settle(params, pool, node)


@kernel
def init_root(layout: Layout, params: Params, pool: Pool, scratch: Scratch) -> None:
    """Make the root."""
    weight, most = 0, 0
    for k in range(len(layout.segments) - 1):
        total = 0
        for at in range(layout.segments[k], layout.segments[k + 1]):
            total += weigh(layout, layout.rows[at], at)
        weight += total * layout.unit
        most = max(most, total * layout.unit)
    errors, splittable = weight - most, params.depth > 0 and len(layout.offsets) > 1
    pool.child_leaf[0] = errors * params.error
    first_bounds(params, pool.child_lower[0], weight, errors, splittable)
    link(params, pool, scratch, 0, 0)


@helper
def has_room(layout: Layout, pool: Pool, scratch: Scratch) -> bool:
    """Whether the pool can take what one iteration adds at most."""
    nodes, actions, children = pool.used[NODES], pool.used[ACTIONS], pool.used[CHILDREN]
    return bool(
        nodes + 1 <= len(pool.node_hash)
        and actions + len(layout.offsets) - 1 <= len(pool.action_feature)
        and children + len(layout.masks) <= len(pool.child_node)
        and pool.used[LITERALS] + len(scratch.literals) <= len(pool.literals)
    )


@kernel
def step(
    layout: Layout, params: Params, pool: Pool, scratch: Scratch, iterations: int, target_cost: int
) -> int:
    """Run one slice of at most ``iterations``; return RUNNING, PROVEN, or FULL when the pool must
    grow.

    It stops at a tree that costs ``target_cost`` or less; −1: it goes on to the proof.
    """
    end = pool.used[ITERATIONS] + iterations
    while True:
        lower, upper = (
            pool.node_lower[0, params.budgets - 1],
            pool.node_upper[0, params.budgets - 1],
        )
        if lower == upper or upper <= target_cost:
            return PROVEN
        if pool.used[ITERATIONS] >= end:
            return RUNNING
        if not has_room(layout, pool, scratch):
            return FULL
        length, is_open = select(layout, params, pool, scratch)
        if is_open:
            expand(layout, params, pool, scratch, scratch.path[length - 1, 0], length - 1)
        backpropagate(layout, params, pool, scratch, length)
        pool.used[ITERATIONS] += 1
