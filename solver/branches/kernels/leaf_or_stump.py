"""The smallest trees of a branch: a leaf, or one split."""

from __future__ import annotations

from solver.branches.kernels.state import Space
from solver.kernels.jit import helper
from solver.kernels.packed_rows import count_rows


@helper
def best_small(s: Space, n: int, depth: int, budget: int) -> tuple[int, int]:
    """The first split of the best tree of at most one split of the first ``n`` ``scratch.rows``,
    −1: a leaf; and the cost of that tree. ``depth`` is that of the branch, ``budget`` the allowed
    splits, if they are limited."""
    total, most = 0, 0
    for k in range(len(s.scratch.totals)):
        s.scratch.totals[k] = 0
    for i in range(n):
        s.scratch.totals[s.table.labels[s.scratch.rows[i]]] += s.table.weights[s.scratch.rows[i]]
    for k in range(len(s.scratch.totals)):
        total += s.scratch.totals[k]
        most = max(most, s.scratch.totals[k])
    best, least = -1, s.params.error * (total - most)
    if least <= s.params.split or depth >= s.params.depth or (s.params.budgets > 1 and budget == 0):
        return -1, least
    count_rows(s.table, s.scratch.rows, n, s.scratch.totals, s.scratch.singles)
    for feature in range(len(s.table.values) - 1):
        occupied, allowed, cost = 0, True, s.params.split
        for code in range(s.table.values[feature + 1] - s.table.values[feature]):
            weight, most = 0, 0
            for k in range(len(s.scratch.totals)):
                count = s.scratch.totals[k]
                if code > 0:
                    count = s.scratch.singles[k, s.table.columns[feature] + code - 1]
                else:
                    for column in range(s.table.columns[feature], s.table.columns[feature + 1]):
                        count -= s.scratch.singles[k, column]
                weight += count
                most = max(most, count)
            occupied += weight > 0
            allowed &= weight == 0 or weight >= s.params.min_leaf
            cost += s.params.error * (weight - most)
        if allowed and occupied >= 2 and cost < least:
            best, least = feature, cost
    return best, least
