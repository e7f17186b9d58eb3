"""The smallest trees of a branch: a leaf, one split, or two splits."""

from __future__ import annotations

from solver.branches.kernels import stack_frame
from solver.branches.kernels.branch_rows import add_weights, child_word, columns_at, word_weight
from solver.branches.kernels.state import BLOCK, N01, N10, N11, SMALL, SPARE, Space
from solver.kernels.constants import ZERO
from solver.kernels.jit import helper
from solver.kernels.packed_rows import count_rows
from solver.kernels.simd import lanes_add, lanes_fill, lanes_max, lanes_sub
from solver.objective.exact_objective import INFINITE


@helper
def best_small(s: Space, n: int, depth: int, budget: int) -> tuple[int, int]:
    """The first split of the best tree of at most one split of the first ``n`` ``scratch.rows``,
    −1: a leaf; and the cost of that tree. ``depth`` is that of the branch, ``budget`` the allowed
    splits, if they are limited."""
    total, most, n_classes = 0, 0, 0
    for k in range(len(s.scratch.totals)):
        s.scratch.totals[k] = 0
    for i in range(n):
        s.scratch.totals[s.table.labels[s.scratch.rows[i]]] += s.table.weights[s.scratch.rows[i]]
    for k in range(len(s.scratch.totals)):
        if s.scratch.totals[k] > 0:
            s.scratch.present[n_classes] = k
            n_classes += 1
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
            for i in range(n_classes):
                k = s.scratch.present[i]
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


@helper
def two_splits_end(s: Space, d: int, goal: int) -> bool:
    """Whether :func:`best_of_two_splits` tells all of a child of frame ``d`` that is needed, where
    only trees that cost less than ``goal`` matter."""
    return s.params.two_splits and d + 3 <= s.params.depth and goal <= 3 * s.params.split


@helper
def best_of_two_splits(s: Space, d: int, feature: int, code: int, goal: int) -> None:
    """Bound a child of frame ``d`` by its trees of two splits.

    They are counted on the columns of frame ``d``, so the child needs no frame. Let the upper bound
    be at most the cost of its best tree of one split. A tree of three splits costs at least three
    times their price. A tree of two splits has a leaf below its first split, and the best split of
    the other part; it is counted only if the errors of the leaf leave room for it below ``goal``.
    """
    value = s.table.values[feature] + code
    node, split, error = s.stack.child_node[d, value], s.params.split, s.params.error
    high, first = s.stack.child_upper[d, value, 0], SMALL
    low, errors = min(high, 4 * split), errors_of_split(s, d, value)
    if len(s.log.events) > 0:  # a checker knows less of larger trees
        low = min(low, 3 * split)
    count_child(s, d, feature, code)
    for i in range(s.stack.head[d, stack_frame.N_LIVE]):
        g, both, least = s.stack.live[d, i], 0, INFINITE
        if not divides(s, d, s.stack.first[d, g]):
            continue
        for side in range(2):
            leaf, rest, pays = errors_of_sides(s, d, g, side, errors)
            both, least = both + rest, min(least, leaf)
            if not pays:
                continue
            cost = 2 * split + error * (leaf + rest)
            if cost < min(goal, high):
                more = errors_of_best_split(s, d, s.stack.first[d, g], side)
                cost = 2 * split + error * (leaf + more)
                if cost < high:
                    high, first = cost, g
            low = min(low, cost)
        low = min(low, 3 * split + error * min(both, least))
    s.memo.node_lower[node, 0] = max(s.memo.node_lower[node, 0], low)
    if first != SMALL:
        s.memo.node_upper[node, 0] = high
        s.memo.node_best[node, 0] = first


@helper
def divides(s: Space, d: int, j: int) -> bool:
    """Whether column ``j`` divides the counted child."""
    weight, total = 0, 0
    for k in range(s.stack.head[d, stack_frame.N_CLASSES]):
        weight += s.scratch.singles[k, j]
        total += s.scratch.totals[k]
    return bool(0 < weight < total)


@helper
def count_child(s: Space, d: int, feature: int, code: int) -> None:
    """Class weights of a child and of all columns in it; its rows go to ``scratch.marked``."""
    n_columns = s.stack.head[d, stack_frame.N_COLUMNS]
    for k in range(s.stack.head[d, stack_frame.N_CLASSES]):
        singles, total = s.scratch.singles[k], 0
        for j in range(n_columns):
            singles[j] = 0
        for w in range(s.stack.segments[d, k], s.stack.segments[d, k + 1]):
            word = child_word(s, d, feature, code, w)
            s.scratch.marked[w] = word
            if word != ZERO:
                total += word_weight(s, d, w, word)
                for begin in range(0, n_columns, BLOCK):
                    add_weights(s, d, w, word, begin, singles, begin)
        s.scratch.totals[k] = total


@helper
def errors_of_split(s: Space, d: int, value: int) -> int:
    """A lower bound on the errors of each tree of one split, for a child of frame ``d``."""
    return int((s.stack.child_upper[d, value, 0] - s.params.split) // s.params.error)


@helper
def errors_of_sides(s: Space, d: int, g: int, side: int, errors: int) -> tuple[int, int, bool]:
    """Errors of a leaf in the part of the counted child where ``g`` is not ``side``; the fewest of
    the other part with one more split; and whether that split can pay.

    The split would serve the child, and the branch where ``g`` is ``side``, as well: at worst it
    errs on all their other rows. The child has at least ``errors`` with one split.
    """
    j, value = s.stack.first[d, g], s.table.values[g] + side
    leaf_weight, leaf_most, weight, most, second = 0, 0, 0, 0, 0
    for k in range(s.stack.head[d, stack_frame.N_CLASSES]):
        count, other = s.scratch.singles[k, j], s.scratch.totals[k] - s.scratch.singles[k, j]
        if side == 0:
            count, other = other, count
        leaf_weight += other
        leaf_most = max(leaf_most, other)
        weight += count
        second = max(second, min(most, count))
        most = max(most, count)
    pays = s.params.error * (weight - most) > s.params.split
    outside = s.stack.child_weight[d, value] - weight
    rest = max(weight - most - second, errors - leaf_weight)
    rest = max(rest, errors_of_split(s, d, value) - outside)
    return leaf_weight - leaf_most, rest, pays


@helper
def errors_of_best_split(s: Space, d: int, j: int, side: int) -> int:
    """Fewest errors of a single split of the part of the counted child where column ``j`` is
    ``side``."""
    work, weight, best = s.scratch.work, 0, 0
    n_columns, at = s.stack.head[d, stack_frame.N_COLUMNS], columns_at(s, d) + j
    for begin in range(0, n_columns, BLOCK):
        weight = 0
        lanes_fill(work, N10, 0)
        lanes_fill(work, N01, 0)
        for k in range(s.stack.head[d, stack_frame.N_CLASSES]):
            lanes_fill(work, N11, 0)
            for w in range(s.stack.segments[d, k], s.stack.segments[d, k + 1]):
                word = s.stack.words[at + w * n_columns]
                word = s.scratch.marked[w] & (word if side == 1 else ~word)
                if word != ZERO:
                    add_weights(s, d, w, word, begin, work, N11)
            total = s.scratch.singles[k, j]
            if side == 0:
                total = s.scratch.totals[k] - total
            weight += total
            lanes_max(work, N10, work, N11)
            lanes_fill(work, SPARE, total)
            lanes_sub(work, SPARE, work, N11)
            lanes_max(work, N01, work, SPARE)
        lanes_add(work, N10, work, N01)
        for c in range(min(BLOCK, n_columns - begin)):
            best = max(best, work[N10 + c])
    return weight - best
