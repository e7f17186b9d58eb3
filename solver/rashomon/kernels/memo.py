"""The memo of subproblems: find a set of points, or enter it."""

from __future__ import annotations

import numpy as np

from solver.kernels.constants import GOLDEN
from solver.kernels.hash_tables import folded, mixed
from solver.kernels.jit import helper
from solver.rashomon.kernels.bounds import bound_by_classes
from solver.rashomon.kernels.class_counts import leaf_cost, select, weigh
from solver.rashomon.kernels.state import NODES, Space


@helper
def find(s: Space, parent: int, value: int, left: int) -> int:
    """The child of a subproblem for a code, if the memo holds it; else −1 minus its free slot.

    Its points are then in the scratch row of the memo.
    """
    n, key = s.used[NODES], GOLDEN * np.uint64(left + 2)
    for w in range(s.memo.sets.shape[1]):
        word = s.memo.sets[parent, w] & s.points.masks[value, w]
        s.memo.sets[n, w] = word
        key = folded(key, word)
    key = mixed(key)
    s.memo.hashes[n] = key
    last = len(s.slots) - 1
    slot: int = np.int64(key & np.uint64(last))  # type: ignore[assignment]
    while s.slots[slot] >= 0:
        other: int = s.slots[slot]
        if s.memo.hashes[other] == key and s.memo.left[other] == left:
            same = True
            for w in range(s.memo.sets.shape[1]):
                same &= s.memo.sets[other, w] == s.memo.sets[n, w]
            if same:
                return other
        slot = (slot + 1) & last
    return -1 - slot


@helper
def describe(s: Space, node: int, left: int) -> None:
    """Fill in what follows from a subproblem's points alone."""
    weigh(s, select(s, node, -1), -1, s.totals)
    s.memo.left[node] = left
    s.memo.leaf[node] = leaf_cost(s, s.totals)
    s.memo.unavoidable[node] = s.totals[len(s.totals) - 1]
    s.memo.lower[node] = bound_by_classes(s, s.totals, left)
    s.memo.exact[node] = s.memo.lower[node] == s.memo.leaf[node]


@helper
def enter(s: Space, parent: int, value: int, left: int) -> int:
    """The child of a subproblem for a code; −1 if the memo is full."""
    found = find(s, parent, value, left)
    if found >= 0:
        return found
    n: int = s.used[NODES]
    if n + 1 >= len(s.memo.hashes):
        return -1
    s.slots[-1 - found] = n
    s.used[NODES] = n + 1
    describe(s, n, left)
    return n
