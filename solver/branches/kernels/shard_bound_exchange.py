"""Shards of one search exchange lower bounds of branches.

A record is a row of numbers: how many literals, the bound, the literals. Whoever reads it finds the
branch's rows itself, so a record needs no trust in hashes.
"""

from __future__ import annotations

from solver.branches.kernels.memo import add, branch_hash, find, spell
from solver.branches.kernels.state import LITERALS, NODES, Space
from solver.kernels.constants import ZERO, Ints
from solver.kernels.jit import helper, kernel

NO_ROWS = -1
"""In ``Memo.node_rows`` of a node that is no branch, and is found by nobody."""


@kernel
def gather(s: Space, told: Ints, records: Ints) -> int:
    """Write bounds that exceed those in ``told``, one for each node; how many numbers that took.

    It ends where ``records`` has no room for one more; what was written is in ``told``.
    """
    at = 0
    for node in range(1, s.memo.used[NODES]):
        low, count = s.memo.node_lower[node, 0], s.memo.node_literals[node, 1]
        if low <= told[node] or s.memo.node_rows[node] == NO_ROWS:
            continue
        if at + 2 + count > len(records):
            break
        records[at], records[at + 1] = count, low
        for i in range(count):
            records[at + 2 + i] = s.memo.literals[s.memo.node_literals[node, 0] + i]
        at += 2 + count
        told[node] = low
    return at


@helper
def collect_literals(s: Space, count: int) -> int:
    """Write the rows that obey the first of ``scratch.literals`` to ``scratch.rows``; their
    number."""
    spell(s, s.scratch.literals[:count])
    n = 0
    for row in range(len(s.table.bits)):
        obeys = True
        for w in range(len(s.scratch.care)):
            obeys &= s.table.bits[row, w] & s.scratch.care[w] == s.scratch.want[w]
        if obeys:
            s.scratch.rows[n] = row
            n += 1
    return n


@kernel
def absorb(s: Space, told: Ints, records: Ints, start: int) -> int:
    """Raise the bounds of the branches of records from ``start`` on; where it ended.

    It ends early when the memo has no room for one more node.
    """
    at = start
    while at < len(records):
        count, low = records[at], records[at + 1]
        full = s.memo.used[LITERALS] + count > len(s.memo.literals)
        if full or s.memo.used[NODES] + 1 > min(len(s.memo.node_hash), len(told)):
            break
        for i in range(count):
            s.scratch.literals[i] = records[at + 2 + i]
        n, row_key = collect_literals(s, count), ZERO
        for i in range(n):
            row_key += s.table.keys[s.scratch.rows[i]]
        key = branch_hash(s, row_key, count)
        node = find(s, n, count, key)
        if node < 0:
            node = add(s, n, count, key)
        s.memo.node_lower[node, 0] = max(s.memo.node_lower[node, 0], low)
        told[node] = max(told[node], s.memo.node_lower[node, 0])
        at += 2 + count
    return at
