"""The arrays of a search: plain, so that kernels can work on them in slices."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from solver.quantbnb.lanes import BLOCK

Ints = NDArray[np.int64]
Words = NDArray[np.uint64]

INFINITE = 2**61
"""No cost reaches it, and two of them do not overflow."""


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
    out: Ints  # (4,)
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
    tree: Ints  # (levels, nodes, 2) best tree: feature and code of node i, over 2i + 1 and 2i + 2
    halves: Ints  # (levels, 2, nodes, 2) the same for the parts of the current threshold
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
    tree: Ints
    halves: Ints
    caps: Ints


(
    PHASE, POINTS, INTERVALS, QUEUED, LIMIT, FOUND, FOUND_CODE, TRIED, A, B, AT, FEATURE, TURN,
    SIDE, CAP, BOUND, DEPTH, FIELDS,
) = range(18)  # fmt: skip
START, OPENING, PICK, CHILD = range(4)


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


def new_sweep(table: Table) -> Sweep:
    """Scratch for one thread."""
    _, padded, classes, _ = table.sizes.tolist()
    blocks = padded // BLOCK
    sizes = (2 * classes, classes * blocks, blocks, 2 * blocks, 2 * classes, 4, 2 * classes, 2, 3)
    arrays = [np.zeros(size, np.int64) for size in sizes]
    arrays[2] = np.zeros(blocks, np.uint64)
    return Sweep(*arrays)


def new_levels(table: Table, levels: int, points: int) -> Levels:
    """Room for so many thresholds on every level."""
    p = int(table.sizes[0])
    intervals, nodes = 2 * points + p, 2 ** (levels + 1) - 1
    shapes: list[tuple[int, ...]] = [
        (points,), (points,), (points,), (points, 2), (points, 2, p), (points, 2, 2),
        (intervals,), (intervals,), (intervals, 2), (intervals,), (p,), (p,), (2, 2), (FIELDS,),
        (nodes, 2), (2, nodes, 2),
    ]  # fmt: skip
    arrays = [np.zeros((levels, *shape), np.int64) for shape in shapes]
    arrays.append(np.zeros(2, np.int64))
    return Levels(*arrays)


def grown(levels: Levels, table: Table) -> Levels:
    """The same with twice the room."""
    larger = new_levels(table, levels.code.shape[0], 2 * levels.code.shape[1])
    for old, new in zip(levels, larger, strict=True):
        new[tuple(slice(0, size) for size in old.shape)] = old
    return larger
