"""The compiled search: select, expand, backpropagate (Algorithm 1 of the BRANCHES paper)."""

from __future__ import annotations

from solver.branches.paper.bounds import child_bounds, first_bounds, refresh, settle, share_out
from solver.branches.paper.class_counts import count_children, pack, weigh
from solver.branches.paper.memo import insert_literal, link, remove_literal
from solver.branches.paper.state import (
    ACTIONS,
    CHILDREN,
    EVALUATIONS,
    EXPANSIONS,
    ITERATIONS,
    LITERALS,
    NODES,
    Pool,
    Space,
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
def choose_child(s: Space, action: int, arity: int) -> int:
    """The open child of least known gain: that of least weight classified correctly."""
    first, chosen, least = s.pool.action_children[action], -1, 0
    for c in range(arity):
        low, high = child_bounds(s.pool, first + c, s.scratch.shares[c])
        gain = s.pool.child_weight[first + c] * s.params.error - high
        if low < high and (chosen < 0 or gain < least):
            chosen, least = c, gain
    return chosen


@helper
def next_child(s: Space, node: int, budget: int, n_literals: int) -> tuple[int, int]:
    """The action and the code to go on with, put into ``scratch.literals``; −1 if complete.

    A child that is a known branch may bring better bounds; then the choice is made again.
    """
    while True:
        action = most_promising(s.pool, node, budget)
        if action < 0:
            return -1, -1
        if refresh(s, node, action):
            continue
        first = s.layout.offsets[s.pool.action_feature[action]]
        arity = s.layout.offsets[s.pool.action_feature[action] + 1] - first
        share_out(s, action, arity, budget)
        code = choose_child(s, action, arity)
        child = s.pool.action_children[action] + code
        insert_literal(s.scratch, n_literals, first + code)
        if s.pool.child_node[child] >= 0 or link(s, child, n_literals + 1):
            return action, code
        remove_literal(s.scratch, n_literals + 1, first + code)


@kernel
def select(s: Space) -> tuple[int, bool]:
    """Walk from the root along the most promising splits to an unexpanded branch.

    It returns the number of nodes on ``scratch.path``, and whether the last of them is to be
    expanded. Otherwise its fresh bounds have completed it.
    """
    node, length, budget = 0, 0, s.params.budgets - 1
    for at in range(len(s.scratch.bits)):
        s.scratch.bits[at] = s.layout.rows[at]
    while True:
        s.scratch.path[length, 0] = node
        s.scratch.path[length, 1] = -1
        if s.pool.node_actions[node, 0] < 0:
            return length + 1, s.pool.node_lower[node, budget] < s.pool.node_upper[node, budget]
        action, code = next_child(s, node, budget, length)
        if action < 0:
            settle(s, node)
            return length + 1, False
        s.scratch.path[length, 1] = action
        length += 1
        value = s.layout.offsets[s.pool.action_feature[action]] + code
        for at in range(len(s.scratch.bits)):
            s.scratch.bits[at] &= s.layout.masks[value, at]
        node, budget = (
            s.pool.child_node[s.pool.action_children[action] + code],
            s.scratch.shares[code],
        )


@helper
def bound_children(s: Space, first: int, arity: int, splittable: bool) -> bool:
    """First bounds of the children from their class counts; return whether their split is of use.

    A split that keeps all rows together only costs its price, as do features that the branch has
    already used.
    """
    occupied, allowed = 0, True
    for code in range(arity):
        weight, most = 0, 0
        for k in range(s.scratch.counts.shape[1]):
            weight += s.scratch.counts[code, k]
            most = max(most, s.scratch.counts[code, k])
        occupied += weight > 0
        allowed &= weight == 0 or weight >= s.params.min_leaf
        child, errors = first + code, weight - most
        s.pool.child_node[child] = -1
        s.pool.child_leaf[child] = errors * s.params.error
        s.pool.child_weight[child] = weight
        first_bounds(s.params, s.pool.child_lower[child], weight, errors, splittable)
    return allowed and occupied >= 2


@kernel
def expand(s: Space, node: int, depth: int) -> None:
    """Bound every split of the current branch from the class counts of its children."""
    pack(s)
    begin, splittable = s.pool.used[ACTIONS], depth + 1 < s.params.depth
    s.pool.node_actions[node, 0] = begin
    for feature in range(len(s.layout.offsets) - 1):
        arity = s.layout.offsets[feature + 1] - s.layout.offsets[feature]
        child, action = s.pool.used[CHILDREN], s.pool.used[ACTIONS]
        count_children(s, feature)
        if not bound_children(s, child, arity, splittable):
            continue
        s.pool.action_feature[action] = feature
        s.pool.action_children[action] = child
        for b in range(s.params.budgets):
            s.pool.action_lower[action, b] = 0
        refresh(s, node, action)
        hopeful = s.pool.action_lower[action, 0] < s.pool.node_upper[node, 0]
        if hopeful or s.pool.node_best[node, 0] == action or s.params.budgets > 1:
            s.pool.used[ACTIONS] += 1
            s.pool.used[CHILDREN] += arity
    s.pool.node_actions[node, 1] = s.pool.used[ACTIONS] - begin
    settle(s, node)
    count_evaluations(s, depth)


@helper
def count_evaluations(s: Space, depth: int) -> None:
    """Count the children of all features that the current path has not used: the paper's Γ."""
    evaluated = len(s.layout.masks)
    for i in range(depth):
        feature = s.pool.action_feature[s.scratch.path[i, 1]]
        evaluated -= s.layout.offsets[feature + 1] - s.layout.offsets[feature]
    s.pool.used[EXPANSIONS] += 1
    s.pool.used[EVALUATIONS] += evaluated


@kernel
def backpropagate(s: Space, length: int) -> None:
    """Carry the new bounds up the path."""
    for i in range(length - 2, -1, -1):
        node, action = s.scratch.path[i, 0], s.scratch.path[i, 1]
        refresh(s, node, action)
        settle(s, node)


@kernel
def init_root(s: Space) -> None:
    """Make the root."""
    weight, most = 0, 0
    for k in range(len(s.layout.segments) - 1):
        total = 0
        for at in range(s.layout.segments[k], s.layout.segments[k + 1]):
            total += weigh(s.layout, s.layout.rows[at], at)
        weight += total * s.layout.unit
        most = max(most, total * s.layout.unit)
    errors, splittable = weight - most, s.params.depth > 0 and len(s.layout.offsets) > 1
    s.pool.child_leaf[0] = errors * s.params.error
    first_bounds(s.params, s.pool.child_lower[0], weight, errors, splittable)
    link(s, 0, 0)


@helper
def has_room(s: Space) -> bool:
    """Whether the pool can take what one iteration adds at most."""
    nodes, actions, children = s.pool.used[NODES], s.pool.used[ACTIONS], s.pool.used[CHILDREN]
    return bool(
        nodes + 1 <= len(s.pool.node_hash)
        and actions + len(s.layout.offsets) - 1 <= len(s.pool.action_feature)
        and children + len(s.layout.masks) <= len(s.pool.child_node)
        and s.pool.used[LITERALS] + len(s.scratch.literals) <= len(s.pool.literals)
    )


@kernel
def step(s: Space, iterations: int, target_cost: int, known_cost: int) -> int:
    """Run one slice of at most ``iterations``; return RUNNING, PROVEN, or FULL when the pool must
    grow.

    It stops at a tree that costs ``target_cost`` or less; −1: it goes on to the proof. It stops
    early when the root's best tree costs less than ``known_cost``.
    """
    end = s.pool.used[ITERATIONS] + iterations
    while True:
        lower, upper = (
            s.pool.node_lower[0, s.params.budgets - 1],
            s.pool.node_upper[0, s.params.budgets - 1],
        )
        if lower == upper or upper <= target_cost:
            return PROVEN
        if s.pool.used[ITERATIONS] >= end or upper < known_cost:
            return RUNNING
        if not has_room(s):
            return FULL
        length, is_open = select(s)
        if is_open:
            expand(s, s.scratch.path[length - 1, 0], length - 1)
        backpropagate(s, length)
        s.pool.used[ITERATIONS] += 1
