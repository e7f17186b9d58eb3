"""Greedy trees of parts of a table, counted with bit operations.

A greedy tree splits by Gini impurity, as CART does, and every subtree that does not pay is replaced
by the best tree of at most one split.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from solver.engine.tree_constraints import TreeConstraints
from solver.kernels.constants import ONE, ZERO, Ints, Words
from solver.kernels.jit import helper, kernel, popcount, trailing_zeros
from solver.kernels.packed_rows import Table, packed
from solver.kernels.pass_by_reference import by_reference
from solver.kernels.simd import LANES, add_popcounts
from solver.objective.exact_objective import INFINITE

LEVELS = 64
"""A greedy tree is not deeper; further splits are leaves."""
_MOST_WORK = 2**24  # of one greedy tree, some 15 ms; what is left then is leaves
_MOST_SPLITS = 4096
_JUDGED = 8  # the work of judging a count


@by_reference
class GreedySpace(NamedTuple):
    """A problem in columns, and room for a greedy tree.

    The rows lie class by class, and each class begins with a word of its own. ``stride`` is the
    number of columns, rounded up to whole vectors.

    Parameters
    ----------
    masks : (words · stride,)
        Bit ``i`` of ``masks[w * stride + c]``: whether row ``64 w + i`` is in column ``c``.
    planes : (planes · words,)
        The rows whose weight has the plane's ``scale``; a row's weight is the sum of its scales.
    segments : (classes + 1,)
        The first word of each class.
    columns, values : (features + 1,)
        As in :class:`solver.kernels.packed_rows.Table`.
    rows : (LEVELS · words,)
        The rows of the branch at each level of the greedy tree.
    counts : (classes · stride,)
        Class weights of each column among the rows of a branch.
    frames : (LEVELS, FRAME)
        The splits on the way to the current branch.
    features : (4096,)
        The greedy tree in preorder: the feature of a split, −1 for a leaf.
    status : (2,)
        The work so far, in operations on words, and the length of the tree in ``features``.
    """

    masks: Words
    planes: Words
    scales: Ints
    segments: Ints
    columns: Ints
    values: Ints
    rows: Words
    counts: Ints
    totals: Ints
    frames: Ints
    features: Ints
    status: Ints
    n_words: int
    stride: int
    split: int
    error: int
    min_leaf: int
    max_depth: int
    max_arity: int


WORK, LENGTH = range(2)
FEATURE, CODE, COST, LEAST, SMALL, AT, LATER, FRAME = range(8)


def segments_of(table: Table, n_classes: int) -> Ints:
    """The first word of each class, and the number of all words."""
    words = -(-np.bincount(table.labels, minlength=n_classes) // 64)
    return np.concatenate([[0], np.cumsum(words)]).astype(np.int64)


def stride_of(table: Table) -> int:
    """The number of columns, rounded up to whole vectors."""
    return -(-max(int(table.columns[-1]), 1) // LANES) * LANES


def work_of_a_branch(table: Table, n_classes: int) -> int:
    """The most work of counting one branch, in operations on words."""
    words, planes = int(segments_of(table, n_classes)[-1]), max(len(table.scales), 1)
    return (words * planes + _JUDGED * n_classes) * stride_of(table)


def bytes_of_space(table: Table, n_classes: int) -> int:
    """About the memory of :func:`new_space`, to be known before it is taken."""
    words, planes = int(segments_of(table, n_classes)[-1]), max(len(table.scales), 1)
    return 8 * ((words + n_classes) * stride_of(table) + words * (LEVELS + planes))


def new_space(
    table: Table, n_classes: int, split: int, error: int, unit: int, constraints: TreeConstraints
) -> GreedySpace:
    """Room for the columns of a table, which :func:`fill_masks` writes.

    ``split`` and ``error`` are the costs of a split and of a unit of weight.
    """
    segments, stride = segments_of(table, n_classes), stride_of(table)
    n_words = int(segments[-1])
    places = places_of(table, segments)
    if len(table.scales) > 0:
        scales = table.scales
        planes = [_mask(places[(table.planes >> b) & 1 > 0], n_words) for b in range(len(scales))]
    else:
        scales, planes = np.ones(1, np.int64), [_mask(places, n_words)]
    ints = np.int64
    return GreedySpace(
        masks=np.zeros(n_words * stride, np.uint64),
        planes=np.concatenate(planes),
        scales=scales,
        segments=segments,
        columns=table.columns,
        values=table.values,
        rows=np.zeros(LEVELS * n_words, np.uint64),
        counts=np.zeros(n_classes * stride, ints),
        totals=np.zeros(n_classes, ints),
        frames=np.zeros((LEVELS, FRAME), ints),
        features=np.zeros(_MOST_SPLITS + 2 * constraints.max_arity, ints),
        status=np.zeros(2, ints),
        n_words=n_words,
        stride=stride,
        split=split,
        error=error * unit,
        min_leaf=-(-constraints.min_leaf // unit),
        max_depth=constraints.depth,
        max_arity=constraints.max_arity,
    )


def places_of(table: Table, segments: Ints) -> Ints:
    """The bit at which each row lies: class by class, as in the table."""
    first = np.searchsorted(table.labels, table.labels)
    return np.asarray(64 * segments[table.labels] + np.arange(len(table.labels)) - first)


def _mask(places: Ints, n_words: int) -> Words:
    """Words with the bits at these places."""
    held = np.zeros(64 * n_words, bool)
    held[places] = True
    return packed(held)


def all_rows(space: GreedySpace) -> Words:
    """The rows of the root."""
    return np.asarray(np.bitwise_or.reduce(space.planes.reshape(len(space.scales), -1)))


@kernel
def fill_masks(g: GreedySpace, table: Table, places: Ints) -> None:
    """Write the columns of a table to ``masks``; ``places`` are those of its rows."""
    for row in range(len(places)):
        at, bit = (places[row] >> 6) * g.stride, ONE << np.uint64(places[row] & 63)
        for w in range(table.bits.shape[1]):
            word = table.bits[row, w]
            while word != ZERO:
                g.masks[at + 64 * w + trailing_zeros(word)] |= bit
                word &= word - ONE


@helper
def weigh_branch(g: GreedySpace, level: int) -> int:
    """Sum the class weights of the branch at a level; its cost as a leaf."""
    at, total, most = level * g.n_words, 0, 0
    for k in range(len(g.totals)):
        g.totals[k] = 0
        for w in range(g.segments[k], g.segments[k + 1]):
            for plane in range(len(g.scales)):
                held = g.rows[at + w] & g.planes[plane * g.n_words + w]
                g.totals[k] += g.scales[plane] * popcount(held)
        total += g.totals[k]
        most = max(most, g.totals[k])
    g.status[WORK] += g.n_words * len(g.scales)
    return int(g.error * (total - most))


@helper
def count_columns(g: GreedySpace, level: int) -> None:
    """Sum the class weights of all columns among the rows of the branch at a level."""
    at = level * g.n_words
    for i in range(len(g.counts)):
        g.counts[i] = 0
    for k in range(len(g.totals)):
        for w in range(g.segments[k], g.segments[k + 1]):
            if g.rows[at + w] == ZERO:
                continue
            for plane in range(len(g.scales)):
                word, scale = g.rows[at + w] & g.planes[plane * g.n_words + w], g.scales[plane]
                if word == ZERO:
                    continue
                for c in range(0, g.stride, LANES):
                    add_popcounts(
                        g.counts, k * g.stride + c, g.masks, w * g.stride + c, word, scale
                    )
                g.status[WORK] += g.stride
    g.status[WORK] += _JUDGED * len(g.counts)


@helper
def count_of(g: GreedySpace, k: int, feature: int, code: int) -> int:
    """Weight of a class in a child of the branch that was counted last."""
    at, first = k * g.stride, g.columns[feature]
    if code > 0:
        return int(g.counts[at + first + code - 1])
    count = g.totals[k]
    for column in range(first, g.columns[feature + 1]):
        count -= g.counts[at + column]
    return int(count)


@helper
def cost_of_stump(g: GreedySpace, feature: int) -> int:
    """Cost of the branch that was counted last with one split; INFINITE if it is not allowed."""
    cost, occupied = g.split, 0
    for code in range(g.values[feature + 1] - g.values[feature]):
        weight, most = 0, 0
        for k in range(len(g.totals)):
            count = count_of(g, k, feature, code)
            weight += count
            most = max(most, count)
        if 0 < weight < g.min_leaf:
            return INFINITE
        occupied += weight > 0
        cost += g.error * (weight - most)
    return int(cost) if occupied > 1 else INFINITE


@helper
def purity_of(g: GreedySpace, feature: int) -> float:
    """How pure the children of a split are: the total weight times 1 − their Gini impurity."""
    purity = 0.0
    for code in range(g.values[feature + 1] - g.values[feature]):
        weight, squares = 0, 0.0
        for k in range(len(g.totals)):
            count = count_of(g, k, feature, code)
            weight += count
            squares += float(count) * float(count)
        if weight > 0:
            purity += squares / float(weight)
    return purity


@helper
def open_branch(g: GreedySpace, level: int, depth: int, end: int) -> bool:
    """Count the branch at a level, and choose its split; False if no deeper tree can pay.

    ``LEAST`` is the cost of its best tree of at most one split, ``SMALL`` that split or −1. It is a
    leaf once so much work is done as ``end``, and where a split leaves no room for the ``LATER``
    branches, which are leaves at least.
    """
    f = g.frames
    f[level, FEATURE], f[level, SMALL], f[level, LEAST] = -1, -1, weigh_branch(g, level)
    if f[level, LEAST] <= g.split or depth + level >= g.max_depth:
        return False
    has_room = f[level, AT] + 1 + g.max_arity + f[level, LATER] <= len(g.features)
    if not has_room or g.status[WORK] > end:
        return False
    count_columns(g, level)
    best, may_pay = -1.0, f[level, LEAST] > 2 * g.split  # more than one split
    for feature in range(len(g.values) - 1):
        cost = cost_of_stump(g, feature)
        if cost < f[level, LEAST]:
            f[level, SMALL], f[level, LEAST] = feature, cost
        if may_pay and cost < INFINITE:
            purity = purity_of(g, feature)
            if purity > best:
                best, f[level, FEATURE] = purity, feature
    return bool(f[level, FEATURE] >= 0 and f[level, LEAST] > 2 * g.split)


@helper
def keep_child(g: GreedySpace, level: int, feature: int, code: int) -> None:
    """Write the rows of a child of the branch at a level to the next level."""
    at, below = level * g.n_words, (level + 1) * g.n_words
    if code == 0:  # what other codes take is little
        g.status[WORK] += g.n_words * (g.columns[feature + 1] - g.columns[feature] - 1)
    for w in range(g.n_words):
        word, first = g.rows[at + w], w * g.stride + g.columns[feature]
        if code > 0:
            word &= g.masks[first + code - 1]
        else:
            for i in range(g.columns[feature + 1] - g.columns[feature]):
                word &= ~g.masks[first + i]
        g.rows[below + w] = word


@helper
def write_small(g: GreedySpace, level: int) -> None:
    """Let the tree of a branch be its best one of at most one split."""
    n, feature = g.frames[level, AT], g.frames[level, SMALL]
    g.features[n] = feature
    n += 1
    if feature >= 0:
        for _ in range(g.values[feature + 1] - g.values[feature]):
            g.features[n] = -1
            n += 1
    g.status[LENGTH] = n


@helper
def grow_tree(g: GreedySpace, base: int, depth: int) -> int:
    """Grow the tree of the rows at level ``base``, a branch of this depth; its cost."""
    f, level, is_new, cost, end = g.frames, base, True, 0, g.status[WORK] + _MOST_WORK
    g.status[LENGTH] = f[base, LATER] = 0
    while level >= base:
        if is_new:
            f[level, AT], f[level, CODE], f[level, COST] = g.status[LENGTH], 0, g.split
            grows = open_branch(g, level, depth - base, end)
            if not grows or level + 1 == LEVELS:
                write_small(g, level)
                cost, is_new = f[level, LEAST], False
                level -= 1
                continue
            g.features[g.status[LENGTH]] = f[level, FEATURE]
            g.status[LENGTH] += 1
        else:
            f[level, COST] += cost
        feature, least = f[level, FEATURE], f[level, LEAST]
        children = g.values[feature + 1] - g.values[feature]
        is_new = f[level, CODE] < children
        if f[level, COST] >= least:
            write_small(g, level)
            cost, is_new = least, False
            level -= 1
        elif is_new:
            keep_child(g, level, feature, f[level, CODE])
            f[level, CODE] += 1
            f[level + 1, LATER] = f[level, LATER] + children - f[level, CODE]
            level += 1
        else:
            cost = f[level, COST]
            level -= 1
    return int(cost)


@kernel
def grow_greedy(g: GreedySpace, rows: Words, depth: int) -> int:
    """Grow the greedy tree of a branch; its cost. It is in ``features``."""
    for w in range(g.n_words):
        g.rows[w] = rows[w]
    return grow_tree(g, 0, depth)


@kernel
def price_splits(g: GreedySpace, rows: Words, depth: int, begin: int, costs: Ints) -> int:
    """Write the costs of the splits of a branch whose children have greedy trees, from the child
    of number ``begin`` on, as in ``values``; where it ended, as that takes long.

    A split that is not allowed, or that has one child only, costs ``INFINITE``.
    """
    end = g.status[WORK] + _MOST_WORK
    for w in range(g.n_words):
        g.rows[w] = rows[w]
    if begin == 0:
        weigh_branch(g, 0)
        count_columns(g, 0)
        for feature in range(len(costs)):
            costs[feature] = cost_of_stump(g, feature)
    for feature in range(len(costs)):
        first, after = g.values[feature], g.values[feature + 1]
        if costs[feature] == INFINITE or begin >= after:
            continue
        if begin <= first:
            costs[feature] = g.split
        for child in range(max(begin, first), after):
            keep_child(g, 0, feature, child - first)
            costs[feature] += grow_tree(g, 1, depth + 1)
            if g.status[WORK] > end:
                return child + 1
    return int(g.values[-1])
