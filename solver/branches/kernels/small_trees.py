"""The smallest trees of a branch: a leaf, or one split."""

from __future__ import annotations

from solver.branches.kernels.state import Params, Scratch
from solver.kernels.bit_table import Table, count_rows
from solver.kernels.jit import kernel


@kernel
def best_small(
    table: Table, params: Params, scratch: Scratch, n: int, depth: int, budget: int
) -> int:
    """The first split of the best tree of at most one split of the first ``n`` ``scratch.rows``;
    −1: a leaf. ``depth`` is that of the branch, ``budget`` the allowed splits, if they are
    limited."""
    total, most = 0, 0
    for k in range(len(scratch.totals)):
        scratch.totals[k] = 0
    for i in range(n):
        scratch.totals[table.labels[scratch.rows[i]]] += table.weights[scratch.rows[i]]
    for k in range(len(scratch.totals)):
        total += scratch.totals[k]
        most = max(most, scratch.totals[k])
    best, least = -1, params.error * (total - most)
    if least <= params.split or depth >= params.depth or (params.budgets > 1 and budget == 0):
        return -1
    count_rows(table, scratch.rows, n, scratch.totals, scratch.singles)
    for feature in range(len(table.values) - 1):
        occupied, allowed, cost = 0, True, params.split
        for code in range(table.values[feature + 1] - table.values[feature]):
            weight, most = 0, 0
            for k in range(len(scratch.totals)):
                count = scratch.totals[k]
                if code > 0:
                    count = scratch.singles[k, table.columns[feature] + code - 1]
                else:
                    for column in range(table.columns[feature], table.columns[feature + 1]):
                        count -= scratch.singles[k, column]
                weight += count
                most = max(most, count)
            occupied += weight > 0
            allowed &= weight == 0 or weight >= params.min_leaf
            cost += params.error * (weight - most)
        if allowed and occupied >= 2 and cost < least:
            best, least = feature, cost
    return best
