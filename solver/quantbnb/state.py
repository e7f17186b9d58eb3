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
    evaluations: Ints  # (3,): splits evaluated, features swept, blocks looked into


class Rules(NamedTuple):
    """What the search minimises: ``error · errors + split · splits``, in trees of some depth."""

    error: int
    split: int


class Levels(NamedTuple):
    """One search for every level of the tree but the last: thresholds, and intervals of them.

    All arrays have the level as first axis; level 0 is the root. A *point* is a threshold that
    has been evaluated: all rows with a smaller code go to the left. Points 0 and 1 have all rows
    on one side. Costs of points are lower bounds, and exact where they matter.
    """

    code: Ints  # (levels, points)
    cost: Ints  # (levels, points)
    below: Ints  # (levels, points) weight of the rows to the left
    least: Ints  # (levels, points, 2) cost of the left and of the right part
    each: Ints  # (levels, points, 2, features) the same by the feature of the part's first split
    guess: Ints  # (levels, points, 2, 2) feature and code of the part's best first split; −1: none
    feature: Ints  # (levels, intervals)
    bound: Ints  # (levels, intervals)
    ends: Ints  # (levels, intervals, 2) points
    heap: Ints  # (levels, intervals) by bound
    lower: Ints  # (levels, features) bounds by the feature of the first split: before, and result
    passed: Ints  # (levels, features) least bound of what has been discarded or evaluated
    tries: Ints  # (levels, 2, 2) first splits to begin with
    frame: Ints  # (levels, FIELDS)
    caps: Ints  # (2,)


class Level(NamedTuple):
    """Views of one level of :class:`Levels`."""

    code: Ints
    cost: Ints
    below: Ints
    least: Ints
    each: Ints
    guess: Ints
    feature: Ints
    bound: Ints
    ends: Ints
    heap: Ints
    lower: Ints
    passed: Ints
    tries: Ints
    frame: Ints
    caps: Ints


(
    PHASE, POINTS, INTERVALS, QUEUED, LIMIT, FOUND, FOUND_CODE, TRIED, A, B, AT, FEATURE, TURN,
    SIDE, CAP, BOUND, DEPTH, FIELDS,
) = range(18)  # fmt: skip
START, OPENING, PICK, CHILD = range(4)


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


def new_parts(table: Table, number: int) -> Part:
    """So many empty sets of rows, as one: the number is the first axis of all arrays."""
    p, padded, classes, digits = table.sizes.tolist()
    blocks = padded // BLOCK
    return Part(
        np.zeros((number, p, blocks), np.uint64),
        np.zeros((number, p * classes * digits * blocks), np.uint64),
        np.zeros((number, p * classes * blocks), np.int64),
        np.zeros((number, p, blocks), np.int64),
        np.zeros((number, classes), np.int64),
    )


def whole_part(table: Table) -> Part:
    """All rows."""
    p, padded, classes, digits = table.sizes.tolist()
    blocks = padded // BLOCK
    part = Part(*(array[0] for array in new_parts(table, 1)))
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
    _, padded, classes, _ = table.sizes.tolist()
    blocks = padded // BLOCK
    sizes = (2 * classes, classes * blocks, blocks, 2 * blocks, 2 * classes, 2, 2 * classes, 2, 3)
    arrays = [np.zeros(size, np.int64) for size in sizes]
    arrays[2] = np.zeros(blocks, np.uint64)
    return Sweep(*arrays)


def new_levels(table: Table, levels: int, points: int) -> Levels:
    """Room for so many thresholds on every level."""
    p = int(table.sizes[0])
    intervals = 2 * points + p
    shapes: list[tuple[int, ...]] = [
        (points,), (points,), (points,), (points, 2), (points, 2, p), (points, 2, 2),
        (intervals,), (intervals,), (intervals, 2), (intervals,), (p,), (p,), (2, 2), (FIELDS,),
    ]  # fmt: skip
    arrays = [np.zeros((levels, *shape), np.int64) for shape in shapes]
    return Levels(*arrays, np.zeros(2, np.int64))


def grown(levels: Levels, table: Table) -> Levels:
    """The same with twice the room."""
    larger = new_levels(table, levels.code.shape[0], 2 * levels.code.shape[1])
    for old, new in zip(levels, larger, strict=True):
        new[tuple(slice(0, size) for size in old.shape)] = old
    return larger
