"""Shards of one search exchange lower bounds of branches.

A record is a row of numbers: twice the number of literals, and 1 more if the branch is kept for
``subset_bounds``; the bound; the number of rows; the hash; the literals. Branches of equal hashes
are one only if their rows are the same, as in the memo. If their literals are not the same, whoever
reads a record finds its rows, for that, and to keep them too: to do so for all took a sixth of the
time on 3,196 rows.
"""

from __future__ import annotations

import numpy as np

from solver.branches.kernels.memo import add, find, find_literals, same_hash, spell
from solver.branches.kernels.similar_branches import has_place, is_kept, keep_told
from solver.branches.kernels.state import LITERALS, NODES, Space
from solver.kernels.constants import Ints
from solver.kernels.jit import helper, kernel
from solver.objective.exact_objective import INFINITE

HEAD = 4
"""Numbers of a record before its literals."""

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
        if at + HEAD + count > len(records):
            break
        records[at], records[at + 1] = 2 * count + is_kept(s, node), low
        records[at + 2], records[at + 3] = s.memo.node_rows[node], np.int64(s.memo.node_hash[node])
        for i in range(count):
            records[at + HEAD + i] = s.memo.literals[s.memo.node_literals[node, 0] + i]
        at += HEAD + count
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


@helper
def bound_of_hash(s: Space, n_rows: int, depth: int, value: np.uint64) -> int:
    """The least bound of the nodes that may be the branch of this hash; −1: there is none."""
    last, least = len(s.memo.slots) - 1, INFINITE
    slot = np.int64(value & np.uint64(last))
    while s.memo.slots[slot] >= 0:
        node = s.memo.slots[slot]
        if same_hash(s, n_rows, depth, value, node):
            least = min(least, s.memo.node_lower[node, 0])
        slot = (slot + 1) & last
    return -1 if least == INFINITE else int(least)


@kernel
def absorb(s: Space, told: Ints, records: Ints, start: int) -> int:
    """Raise the bounds of the branches of records from ``start`` on; where it ended.

    It ends early when the memo has no room for one more node.
    """
    at = start
    while at < len(records):
        count, keeps, low = records[at] // 2, records[at] % 2 > 0, records[at + 1]
        full = s.memo.used[LITERALS] + count > len(s.memo.literals)
        if s.params.recent > 0 and not has_place(s):
            break
        if full or s.memo.used[NODES] + 1 > min(len(s.memo.node_hash), len(told)):
            break
        for i in range(count):
            s.scratch.literals[i] = records[at + HEAD + i]
        n, key = records[at + 2], np.uint64(records[at + 3])
        at += HEAD + count
        known = bound_of_hash(s, n, count, key)
        if known >= low:
            continue
        keeps = keeps and s.params.recent > 0
        node = find_literals(s, n, count, key) if known >= 0 else -1
        others = known >= 0 and node < 0  # of other literals, whose rows may be the same
        if others or keeps:
            collect_literals(s, count)
        if others:
            node = find(s, n, count, key)
        if node < 0:
            node = add(s, n, count, key)
        s.memo.node_lower[node, 0] = max(s.memo.node_lower[node, 0], low)
        told[node] = max(told[node], s.memo.node_lower[node, 0])
        if keeps:
            keep_told(s, node, n)
    return at
