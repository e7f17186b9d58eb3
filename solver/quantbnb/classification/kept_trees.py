"""The best trees of a level and of the parts of its current threshold, and how they are read."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from solver.kernels.constants import Ints
from solver.kernels.jit import helper, kernel
from solver.quantbnb.classification.state import AT, OPENING, PHASE, Levels


@helper
def keep_half(s: Levels, side: int, tree: Ints) -> None:
    """Remember the tree of a part of the current threshold."""
    for i in range(len(tree)):
        s.halves[side, i, 0], s.halves[side, i, 1] = tree[i, 0], tree[i, 1]


@helper
def keep_stumps(s: Levels) -> None:
    """As :func:`keep_half`, for both parts on the last level: only the features are known."""
    for side in range(2):
        for i in range(len(s.tree)):
            s.halves[side, i, 0] = s.halves[side, i, 1] = -1
        s.halves[side, 0, 0] = s.guess[s.frame[AT], side, 0]


@helper
def keep_tree(s: Levels, feature: int, code: int) -> None:
    """The tree of the current threshold is the best one."""
    s.tree[0, 0], s.tree[0, 1] = feature, code
    first = 1
    while 2 * first < len(s.tree):
        for side in range(2):
            for i in range(first):
                for j in range(2):
                    to = 2 * first - 1 + side * first + i
                    s.tree[to, j] = s.halves[side, first - 1 + i, j]
        first *= 2


@helper
def best_level(levels: Levels, top: Ints) -> int:
    """The deepest level that looks for a first tree of the level above it, on the same rows."""
    level = 0
    while level < top[0] and levels.frame[level, PHASE] == OPENING:
        level += 1
    return level


@kernel
def read_tree(
    tree: Ints,
    codes: NDArray[np.int32],
    counts: Ints,
    least: int,
    order: Ints,
    links: Ints,
    weights: Ints,
    found: Ints,
) -> None:
    """Send the rows down a tree, and tell what its nodes are.

    Parameters
    ----------
    tree : (nodes, 2)
        As :attr:`Levels.tree`.
    codes, counts : (rows, features), (rows, classes)
    least : int
        Smallest weight of a leaf.
    order, links, weights : (rows,), (rows + codes,), (2, classes)
        Scratch; ``codes`` is the largest arity.
    found : (2 · nodes + 1, 4), zeros
        For each node that rows reach: a feature and its largest code to the left; or −1 and the
        class of a leaf; or −2 and the only child that has rows. Then the node's places in
        ``order``.
    """
    for row in range(len(order)):
        order[row] = row
    found[0, 3] = len(order)
    for at in range(len(found)):
        begin, end = found[at, 2], found[at, 3]
        if begin == end:
            continue
        feature = tree[at, 0] if at < len(tree) else -1
        if feature < 0:
            found[at, 0], found[at, 1] = -1, _majority(counts, order, begin, end, weights)
            continue
        code = tree[at, 1]
        if code < 0:
            code = _best_code(codes, counts, least, order, begin, end, feature, links, weights)
        largest, smallest, to, end_left = -1, 2**31, end, begin
        while end_left < to:
            row = order[end_left]
            own = codes[row, feature]
            if own < code:
                largest = max(largest, own)
                end_left += 1
            else:
                smallest = min(smallest, own)
                to -= 1
                order[end_left], order[to] = order[to], row
        left = 2 * at + 1
        found[left, 2], found[left, 3] = begin, to
        found[left + 1, 2], found[left + 1, 3] = to, end
        if begin == to or to == end:
            found[at, 0], found[at, 1] = -2, left if begin < to else left + 1
        else:
            # Of the cuts that part these rows alike the middle one: no side is favoured.
            found[at, 0], found[at, 1] = feature, (largest + smallest - 1) // 2


@helper
def _majority(counts: Ints, order: Ints, begin: int, end: int, weights: Ints) -> int:
    """The first class of most weight."""
    best = 0
    for k in range(counts.shape[1]):
        weights[0, k] = 0
        for i in range(begin, end):
            weights[0, k] += counts[order[i], k]
        if weights[0, k] > weights[0, best]:
            best = k
    return best


@helper
def _best_code(
    codes: NDArray[np.int32],
    counts: Ints,
    least: int,
    order: Ints,
    begin: int,
    end: int,
    feature: int,
    links: Ints,
    weights: Ints,
) -> int:
    """The first code from which on a stump's right leaf makes it best."""
    n, classes = len(order), counts.shape[1]
    first, last = codes[order[begin], feature], codes[order[begin], feature]
    for i in range(begin, end):
        first, last = min(first, codes[order[i], feature]), max(last, codes[order[i], feature])
    # The rows of a code are linked.
    for code in range(first, last + 1):
        links[n + code] = -1
    for k in range(classes):
        weights[0, k] = weights[1, k] = 0
    for i in range(begin, end):
        row = order[i]
        code = codes[row, feature]
        links[row], links[n + code] = links[n + code], row
        for k in range(classes):
            weights[1, k] += counts[row, k]
    best, most = first, -1
    for code in range(first, last + 1):
        row = links[n + code]
        if row < 0:
            continue
        left = right = most_left = most_right = 0
        for k in range(classes):
            left, right = left + weights[0, k], right + weights[1, k]
            most_left = max(most_left, weights[0, k])
            most_right = max(most_right, weights[1, k])
        if code > first and min(left, right) >= least and most_left + most_right > most:
            best, most = code, most_left + most_right
        while row >= 0:
            for k in range(classes):
                weights[0, k] += counts[row, k]
                weights[1, k] -= counts[row, k]
            row = links[row]
    return int(best)
