"""The memo: which known branch is the same problem."""

from __future__ import annotations

import numpy as np

from solver.branches.kernels.state import LITERALS, NODES, SMALL, Space
from solver.kernels.constants import GOLDEN, ONE, ZERO, Ints
from solver.kernels.hash_tables import free_slot
from solver.kernels.jit import helper
from solver.kernels.packed_rows import Table
from solver.objective.exact_objective import INFINITE


@helper
def branch_hash(s: Space, row_key: np.uint64, depth: int) -> np.uint64:
    """Hash of a branch by its rows (``row_key``, the sum of their keys), and its depth if that is
    limited; or by its literals."""
    value = ZERO
    if s.params.row_memo:
        value = row_key
        if s.params.depth < INFINITE:
            value += np.uint64(depth + 1) * GOLDEN
    else:
        for i in range(depth):
            value += s.table.literal_keys[s.scratch.literals[i]]
    # Slots are chosen by the lowest bits.
    return value ^ (value >> np.uint64(32))


@helper
def feature_of(table: Table, value: int) -> int:
    """The feature that a value belongs to."""
    return int(table.features[value])


@helper
def spell(s: Space, literals: Ints) -> None:
    """Write literals as the bits that a row must have, and where it must have them."""
    for w in range(len(s.scratch.care)):
        s.scratch.care[w], s.scratch.want[w] = ZERO, ZERO
    for i in range(len(literals)):
        f = feature_of(s.table, literals[i])
        code = literals[i] - s.table.values[f]
        begin, end = s.table.columns[f], s.table.columns[f + 1]
        if code > 0:
            begin += code - 1
            end = begin + 1
            s.scratch.want[begin >> 6] |= ONE << np.uint64(begin & 63)
        for column in range(begin, end):
            s.scratch.care[column >> 6] |= ONE << np.uint64(column & 63)


@helper
def spell_literals(s: Space, node: int) -> None:
    """Write a node's literals as the bits that a row must have, and where it must have them."""
    start = s.memo.node_literals[node, 0]
    spell(s, s.memo.literals[start : start + s.memo.node_literals[node, 1]])


@helper
def same_hash(s: Space, n_rows: int, depth: int, value: np.uint64, node: int) -> bool:
    """Whether a node may be the branch."""
    if s.memo.node_hash[node] != value or s.memo.node_rows[node] != n_rows:
        return False
    return (s.params.row_memo and s.params.depth >= INFINITE) or s.memo.node_literals[
        node, 1
    ] == depth


@helper
def same_branch(s: Space, node: int, n_rows: int) -> bool:
    """Whether a node of equal hash, with as many rows, is the branch: a hash is not a proof.

    The branch has as many rows as the node, and each of them obeys the node's literals, so the rows
    are the same. Branches of equal rows are the same problem only if equally many splits may
    follow, so with a depth limit their depths must agree (the trap of Appendix B.1). A limit on
    splits needs no key: bounds are kept for every budget.
    """
    if s.params.row_memo:
        spell_literals(s, node)
        for i in range(n_rows):
            for w in range(len(s.scratch.care)):
                if s.table.bits[s.scratch.rows[i], w] & s.scratch.care[w] != s.scratch.want[w]:
                    return False
        return True
    return same_literals(s, node)


@helper
def same_literals(s: Space, node: int) -> bool:
    """Whether the first of ``scratch.literals``, as many as a node has, are the node's."""
    start, length = s.memo.node_literals[node, 0], s.memo.node_literals[node, 1]
    for i in range(length):
        found = False
        for j in range(length):
            found |= s.memo.literals[start + i] == s.scratch.literals[j]
        if not found:
            return False
    return True


@helper
def has_hash(s: Space, n_rows: int, depth: int, value: np.uint64) -> bool:
    """Whether a node may be the branch of this :func:`branch_hash`."""
    last = len(s.memo.slots) - 1
    slot = np.int64(value & np.uint64(last))
    while s.memo.slots[slot] >= 0:
        if same_hash(s, n_rows, depth, value, s.memo.slots[slot]):
            return True
        slot = (slot + 1) & last
    return False


@helper
def find(s: Space, n_rows: int, depth: int, value: np.uint64) -> int:
    """The node of ``scratch.rows`` and ``scratch.literals``, with their :func:`branch_hash`; −1 if
    it is unknown."""
    last = len(s.memo.slots) - 1
    slot = np.int64(value & np.uint64(last))
    while s.memo.slots[slot] >= 0:
        node = s.memo.slots[slot]
        if same_hash(s, n_rows, depth, value, node) and same_branch(s, node, n_rows):
            return int(node)
        slot = (slot + 1) & last
    return -1


@helper
def find_literals(s: Space, n_rows: int, depth: int, value: np.uint64) -> int:
    """The node of ``scratch.literals``, with the :func:`branch_hash` of its rows; −1 if there is
    none, though a node of other literals may have the same rows."""
    last = len(s.memo.slots) - 1
    slot = np.int64(value & np.uint64(last))
    while s.memo.slots[slot] >= 0:
        node = s.memo.slots[slot]
        alike = s.memo.node_literals[node, 1] == depth and same_hash(s, n_rows, depth, value, node)
        if alike and same_literals(s, node):
            return int(node)
        slot = (slot + 1) & last
    return -1


@helper
def add(s: Space, n_rows: int, depth: int, value: np.uint64) -> int:
    """Make a node of a branch that is not known; its bounds are for the caller to set."""
    node = s.memo.used[NODES]
    s.memo.used[NODES] += 1
    s.memo.slots[free_slot(s.memo.slots, value)] = node
    s.memo.node_hash[node] = value
    s.memo.node_rows[node] = n_rows
    s.memo.node_errors[node, 0], s.memo.node_errors[node, 1] = 0, 0
    start = s.memo.used[LITERALS]
    s.memo.node_place[node] = 0
    s.memo.node_literals[node, 0] = start
    s.memo.node_literals[node, 1] = depth
    for i in range(depth):
        s.memo.literals[start + i] = s.scratch.literals[i]
    s.memo.used[LITERALS] += depth
    for b in range(s.params.budgets):
        s.memo.node_lower[node, b] = 0
        s.memo.node_upper[node, b] = INFINITE
        s.memo.node_best[node, b] = SMALL
    return int(node)


@helper
def look_for(s: Space, n_rows: int, depth: int) -> int:
    """As :func:`find`, if the hash is not known."""
    row_key = ZERO
    for i in range(n_rows):
        row_key += s.table.keys[s.scratch.rows[i]]
    value = branch_hash(s, row_key, depth)
    return find(s, n_rows, depth, value)
