"""The memo: which branch is the same problem as one that is known."""

from __future__ import annotations

import numpy as np

from solver.branches.paper.layout import Layout
from solver.branches.paper.pool import INFINITE, LITERALS, NODES, Pool, Rules, Scratch
from solver.jit import inlined, kernel


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
    layout: Layout,
    rules: Rules,
    pool: Pool,
    scratch: Scratch,
    node: int,
    n_literals: int,
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
    layout: Layout,
    rules: Rules,
    pool: Pool,
    scratch: Scratch,
    child: int,
    n_literals: int,
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
        if pool.child_stump[child, 1] >= 0 and (b > 0 or rules.budgets == 1):
            pool.node_upper[node, b] = pool.child_stump[child, 0]
            pool.node_best[node, b] = -2 - pool.child_stump[child, 1]
    return node, False


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
def rehash(pool: Pool) -> None:
    """Fill an empty memo table with all nodes."""
    last = len(pool.memo) - 1
    for node in range(pool.used[NODES]):
        slot = np.int64(pool.node_hash[node] & np.uint64(last))
        while pool.memo[slot] >= 0:
            slot = (slot + 1) & last
        pool.memo[slot] = node
