"""The memo: branches of equal literals are one node, whatever the order of the splits."""

from __future__ import annotations

import numpy as np

from solver.branches.paper.state import LITERALS, NODES, Scratch, Space
from solver.kernels.constants import GOLDEN
from solver.kernels.hash_tables import mixed
from solver.kernels.jit import helper


@helper
def branch_hash(scratch: Scratch, n_literals: int) -> np.uint64:
    """Hash of the branch of the literals in ``scratch``."""
    value = np.uint64(n_literals)
    for i in range(n_literals):
        value = mixed(value + np.uint64(scratch.literals[i]) + GOLDEN)
    return value


@helper
def same_branch(s: Space, node: int, n_literals: int) -> bool:
    """Whether a node has exactly the literals in ``scratch``."""
    start, length = s.pool.node_literals[node, 0], s.pool.node_literals[node, 1]
    if length != n_literals:
        return False
    for i in range(length):  # noqa: SIM110  (no generators in compiled code)
        if s.pool.literals[start + i] != s.scratch.literals[i]:
            return False
    return True


@helper
def link(s: Space, child: int, n_literals: int) -> bool:
    """Give a child its node, that of the literals in ``scratch``; is the node new?"""
    value = branch_hash(s.scratch, n_literals)
    last = len(s.pool.memo) - 1
    slot = np.int64(value & np.uint64(last))
    while s.pool.memo[slot] >= 0:
        node = s.pool.memo[slot]
        if s.pool.node_hash[node] == value and same_branch(s, node, n_literals):
            s.pool.child_node[child] = node
            return False
        slot = (slot + 1) & last
    node = s.pool.used[NODES]
    s.pool.used[NODES] += 1
    s.pool.memo[slot] = node
    s.pool.node_hash[node] = value
    start = s.pool.used[LITERALS]
    s.pool.used[LITERALS] += n_literals
    s.pool.node_literals[node, 0] = start
    s.pool.node_literals[node, 1] = n_literals
    for i in range(n_literals):
        s.pool.literals[start + i] = s.scratch.literals[i]
    s.pool.node_actions[node, 0] = -1
    for b in range(s.params.budgets):
        s.pool.node_lower[node, b] = s.pool.child_lower[child, b]
        s.pool.node_upper[node, b] = s.pool.child_leaf[child]
        s.pool.node_best[node, b] = -1
    s.pool.child_node[child] = node
    return True


@helper
def insert_literal(scratch: Scratch, n_literals: int, value: int) -> None:
    """Add a literal to the current branch, keeping the order."""
    i = n_literals
    while i > 0 and scratch.literals[i - 1] > value:
        scratch.literals[i] = scratch.literals[i - 1]
        i -= 1
    scratch.literals[i] = value


@helper
def remove_literal(scratch: Scratch, n_literals: int, value: int) -> None:
    """Take the literal back out."""
    i = 0
    while scratch.literals[i] != value:
        i += 1
    while i < n_literals - 1:
        scratch.literals[i] = scratch.literals[i + 1]
        i += 1
