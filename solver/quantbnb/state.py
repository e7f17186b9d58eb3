"""The arrays of a search: plain, so that kernels can work on them in slices."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from solver.quantbnb.lanes import BLOCK, GROUP

Ints = NDArray[np.int64]
Words = NDArray[np.uint64]

INFINITE = 2**61
"""No cost reaches it, and two of them do not overflow."""

_LONGEST_SHORT = 2**15 - 2


class Table(NamedTuple):
    """The training rows, sorted by every feature, in blocks of 64.

    Parameters
    ----------
    ranks : (features · features · rows,)
        ``ranks[(f·p + g)·N + i]``: code of feature ``f`` in the ``i``-th row in the order of
        feature ``g``. Rows are padded to whole groups of blocks with the largest code.
    labels, weights : (features, rows)
        Class and weight of the ``i``-th row in the order of a feature; −1 and 0 of the padding.
    starts : (values + features,)
        ``starts[offsets[f] + c]``: first place of code ``c`` in the order of feature ``f``.
    offsets : (features + 1,)
    tails : (features, blocks)
        Bit ``i`` is set where the value of the feature changes behind row ``i``.
    ends : (features · blocks,)
        −1 where the last bit of a tail is set, else 0.
    sizes : (4,)
        Features, rows, classes and binary digits of the largest weight.
    """

    ranks: NDArray[Any]
    labels: NDArray[np.int16]
    weights: NDArray[np.int32]
    starts: Ints
    offsets: Ints
    tails: Words
    ends: Ints
    sizes: Ints


class Part(NamedTuple):
    """A set of rows.

    Parameters
    ----------
    rows : (features, blocks)
        Its rows in the order of every feature.
    planes : (features · classes · digits · blocks,)
        Its rows of a class whose weight has a binary digit.
    prefix : (features · classes · blocks,)
        Weight of a class up to the end of a block.
    below : (features, blocks)
        Weight up to the end of a block.
    totals : (classes,)
    """

    rows: Words
    planes: Words
    prefix: Ints
    below: Ints
    totals: Ints


class Sweep(NamedTuple):
    """Scratch of :func:`solver.quantbnb.stumps.evaluate`."""

    totals: Ints  # (2 · classes)
    cumulated: Ints  # (classes · blocks)
    words: Words  # (blocks,)
    bounds: Ints  # (2 · blocks)
    carries: Ints  # (2 · classes)
    out: Ints  # (2,)
    counts: Ints  # (2 · classes)
    best: Ints  # (2,) weight classified correctly by the best stump of each part
    evaluations: Ints  # (4,): evaluations, sweeps, refined blocks
    each: Ints  # (features,)


class Pool(NamedTuple):
    """Thresholds that were evaluated, and the intervals between them, of one search."""

    code: Ints  # (points,)
    cost: Ints  # (points,) lower bound
    below: Ints  # (points,) weight of the rows to its left
    least: Ints  # (points, 2) lower bounds on the left and the right part
    each: Ints  # (points, 2, features) the same by the feature of the next split
    guess: Ints  # (points, 2, 2) best next split found
    feature: Ints  # (intervals,)
    bound: Ints
    ends: Ints  # (intervals, 2) points
    heap: Ints
    used: Ints  # (4,) points, intervals, heap


class Best(NamedTuple):
    """Scratch and result of one search."""

    each: Ints  # (features,) lower bounds by the feature of the first split
    found: Ints  # (4,) value, feature, code, is it exact


def new_table(
    x: NDArray[Any], y: NDArray[np.int64], weights: NDArray[np.int64]
) -> tuple[Table, list[NDArray[Any]]]:
    """Sort the rows. Also returns the distinct values of every feature."""
    n, p = x.shape
    padded = -(-n // (BLOCK * GROUP)) * BLOCK * GROUP
    orders, codes, values = [], np.empty((p, n), np.int64), []
    for f in range(p):
        order = np.argsort(x[:, f], kind="stable")
        ordered = x[order, f]
        change = np.empty(n, bool)
        change[0] = False
        np.not_equal(ordered[1:], ordered[:-1], out=change[1:])
        code = np.cumsum(change)
        codes[f, order] = code
        orders.append(order)
        change[0] = True
        values.append(ordered[change])
    largest = max(len(v) for v in values)
    kind = np.int16 if largest <= _LONGEST_SHORT else np.int32
    small = codes.astype(kind)
    ranks = np.full((p, p, padded), np.iinfo(kind).max, kind)
    labels = np.full((p, padded), -1, np.int16)
    weight = np.zeros((p, padded), np.int32)
    tails = np.zeros((p, padded), bool)
    offsets = np.cumsum([0, *(len(v) + 1 for v in values)])
    starts = np.empty(offsets[-1], np.int64)
    short_y, short_w = y.astype(np.int16), weights.astype(np.int32)
    for g, order in enumerate(orders):
        np.take(small, order, axis=1, out=ranks[:, g, :n], mode="clip")
        labels[g, :n] = short_y[order]
        weight[g, :n] = short_w[order]
        own = ranks[g, g, :n]
        tails[g, : n - 1] = own[1:] != own[:-1]
        tails[g, n - 1] = True
        first = np.flatnonzero(np.concatenate(([True], tails[g, : n - 1])))
        starts[offsets[g] : offsets[g + 1]] = [*first, n]
    digits = int(weights.max()).bit_length()
    tail_words = np.packbits(tails, axis=1, bitorder="little").view(np.uint64)
    ends = np.where(tails[:, BLOCK - 1 :: BLOCK], -1, 0).astype(np.int64).ravel()
    sizes = np.array([p, padded, int(y.max()) + 1, digits], np.int64)
    table = Table(ranks.ravel(), labels, weight, starts, offsets, tail_words, ends, sizes)
    return table, values


def new_part(table: Table) -> Part:
    """An empty set of rows."""
    p, padded, classes, digits = table.sizes.tolist()
    blocks = padded // BLOCK
    return Part(
        np.zeros((p, blocks), np.uint64),
        np.zeros(p * classes * digits * blocks, np.uint64),
        np.zeros(p * classes * blocks, np.int64),
        np.zeros((p, blocks), np.int64),
        np.zeros(classes, np.int64),
    )


def whole_part(table: Table) -> Part:
    """All rows."""
    p, padded, classes, digits = table.sizes.tolist()
    blocks = padded // BLOCK
    part = new_part(table)
    part.rows[:] = np.packbits(table.weights > 0, axis=1, bitorder="little").view(np.uint64)
    planes = part.planes.reshape(p, classes, digits, blocks)
    prefix = part.prefix.reshape(p, classes, blocks)
    for k in range(classes):
        mine = np.where(table.labels == k, table.weights, 0)
        for b in range(digits):
            planes[:, k, b] = np.packbits((mine >> b) & 1, axis=1, bitorder="little").view(
                np.uint64
            )
        prefix[:, k] = mine.reshape(p, blocks, BLOCK).sum(axis=2, dtype=np.int64).cumsum(axis=1)
    part.below[:] = prefix.sum(axis=1)
    part.totals[:] = prefix[0, :, -1]
    return part


def new_sweep(table: Table) -> Sweep:
    """Scratch for one thread."""
    p, padded, classes, _ = table.sizes.tolist()
    blocks = padded // BLOCK
    sizes = (2 * classes, classes * blocks, blocks, 2 * blocks, 2 * classes, 2, 2 * classes, 2, 4, p)
    arrays = [np.zeros(size, np.int64) for size in sizes]
    arrays[2] = np.zeros(blocks, np.uint64)
    return Sweep(*arrays)


def new_pool(table: Table, points: int) -> Pool:
    """Room for this many thresholds."""
    p = int(table.sizes[0])
    intervals = 2 * points + p
    return Pool(
        np.zeros(points, np.int64),
        np.zeros(points, np.int64),
        np.zeros(points, np.int64),
        np.zeros((points, 2), np.int64),
        np.zeros((points, 2, p), np.int64),
        np.zeros((points, 2, 2), np.int64),
        np.zeros(intervals, np.int64),
        np.zeros(intervals, np.int64),
        np.zeros((intervals, 2), np.int64),
        np.zeros(intervals, np.int64),
        np.zeros(4, np.int64),
    )


def new_best(table: Table) -> Best:
    """Room for one result."""
    return Best(np.zeros(int(table.sizes[0]), np.int64), np.zeros(4, np.int64))
