"""The memo: which known branch is the same problem."""

from __future__ import annotations

import numpy as np

from solver.branches.kernels.state import LITERALS, NODES, SMALL, Memo, Params, Scratch
from solver.kernels.bit_table import Table
from solver.kernels.constants import GOLDEN, ONE, ZERO
from solver.kernels.jit import helper, kernel
from solver.objective.exact import INFINITE


@helper
def branch_hash(
    table: Table, params: Params, scratch: Scratch, row_key: np.uint64, depth: int
) -> np.uint64:
    """Hash of a branch by its rows (``row_key``, the sum of their keys), and its depth if that is
    limited; or by its literals."""
    value = ZERO
    if params.row_memo:
        value = row_key
        if params.depth < INFINITE:
            value += np.uint64(depth + 1) * GOLDEN
    else:
        for i in range(depth):
            value += table.literal_keys[scratch.literals[i]]
    # Slots are chosen by the lowest bits.
    return value ^ (value >> np.uint64(32))


@helper
def feature_of(table: Table, value: int) -> int:
    """The feature that a value belongs to."""
    low, high = 0, len(table.values) - 1
    while high - low > 1:
        middle = (low + high) // 2
        if table.values[middle] <= value:
            low = middle
        else:
            high = middle
    return low


@helper
def spell_literals(table: Table, memo: Memo, scratch: Scratch, node: int) -> None:
    """Write a node's literals as the bits that a row must have, and where it must have them."""
    for w in range(len(scratch.care)):
        scratch.care[w], scratch.want[w] = ZERO, ZERO
    start = memo.node_literals[node, 0]
    for i in range(start, start + memo.node_literals[node, 1]):
        value = memo.literals[i]
        f = feature_of(table, value)
        code = value - table.values[f]
        begin, end = table.columns[f], table.columns[f + 1]
        if code > 0:
            begin += code - 1
            end = begin + 1
            scratch.want[begin >> 6] |= ONE << np.uint64(begin & 63)
        for column in range(begin, end):
            scratch.care[column >> 6] |= ONE << np.uint64(column & 63)


@helper
def same_hash(
    params: Params, memo: Memo, n_rows: int, depth: int, value: np.uint64, node: int
) -> bool:
    """Whether a node may be the branch."""
    if memo.node_hash[node] != value or memo.node_rows[node] != n_rows:
        return False
    return (params.row_memo and params.depth >= INFINITE) or memo.node_literals[node, 1] == depth


@helper
def same_branch(
    table: Table, params: Params, memo: Memo, scratch: Scratch, node: int, n_rows: int
) -> bool:
    """Whether a node of equal hash, with as many rows, is the branch: a hash is not a proof.

    The branch has as many rows as the node, and each of them obeys the node's literals, so the rows
    are the same. Branches of equal rows are the same problem only if equally many splits may
    follow, so with a depth limit their depths must agree (the trap of Appendix B.1). A limit on
    splits needs no key: bounds are kept for every budget.
    """
    if params.row_memo:
        spell_literals(table, memo, scratch, node)
        for i in range(n_rows):
            for w in range(len(scratch.care)):
                if table.bits[scratch.rows[i], w] & scratch.care[w] != scratch.want[w]:
                    return False
        return True
    start, length = memo.node_literals[node, 0], memo.node_literals[node, 1]
    for i in range(length):
        found = False
        for j in range(length):
            found |= memo.literals[start + i] == scratch.literals[j]
        if not found:
            return False
    return True


@helper
def find(
    table: Table,
    params: Params,
    memo: Memo,
    scratch: Scratch,
    n_rows: int,
    depth: int,
    value: np.uint64,
) -> int:
    """The node of ``scratch.rows`` and ``scratch.literals``, with their :func:`branch_hash`; −1 if
    it is unknown."""
    last = len(memo.slots) - 1
    slot = np.int64(value & np.uint64(last))
    while memo.slots[slot] >= 0:
        node = memo.slots[slot]
        if same_hash(params, memo, n_rows, depth, value, node) and same_branch(
            table, params, memo, scratch, node, n_rows
        ):
            return int(node)
        slot = (slot + 1) & last
    return -1


@helper
def add(
    params: Params, memo: Memo, scratch: Scratch, n_rows: int, depth: int, value: np.uint64
) -> int:
    """Make a node of a branch that is not known; its bounds are for the caller to set."""
    node = memo.used[NODES]
    memo.used[NODES] += 1
    last = len(memo.slots) - 1
    slot = np.int64(value & np.uint64(last))
    while memo.slots[slot] >= 0:
        slot = (slot + 1) & last
    memo.slots[slot] = node
    memo.node_hash[node] = value
    memo.node_rows[node] = n_rows
    start = memo.used[LITERALS]
    memo.node_literals[node, 0] = start
    memo.node_literals[node, 1] = depth
    for i in range(depth):
        memo.literals[start + i] = scratch.literals[i]
    memo.used[LITERALS] += depth
    for b in range(params.budgets):
        memo.node_lower[node, b] = 0
        memo.node_upper[node, b] = INFINITE
        memo.node_best[node, b] = SMALL
    return int(node)


@kernel
def rehash(memo: Memo) -> None:
    """Fill an empty table of slots with all nodes."""
    last = len(memo.slots) - 1
    for node in range(memo.used[NODES]):
        slot = np.int64(memo.node_hash[node] & np.uint64(last))
        while memo.slots[slot] >= 0:
            slot = (slot + 1) & last
        memo.slots[slot] = node


@kernel
def look_for(
    table: Table, params: Params, memo: Memo, scratch: Scratch, n_rows: int, depth: int
) -> int:
    """As :func:`find`, for the caller outside of the search."""
    row_key = ZERO
    for i in range(n_rows):
        row_key += table.keys[scratch.rows[i]]
    value = branch_hash(table, params, scratch, row_key, depth)
    return find(table, params, memo, scratch, n_rows, depth, value)
