"""The arrays of a search: plain, so that kernels can work on them in slices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from solver.kernels.constants import Ints, Words
from solver.kernels.pass_by_reference import by_reference
from solver.objective.exact_objective import INFINITE
from solver.quantbnb.classification.simd import BLOCK, GROUP


@by_reference
class Table(NamedTuple):
    """The training rows, sorted by every feature, in blocks of 64.

    Parameters
    ----------
    short_ranks, long_ranks : (features · features · rows,)
        ``ranks[(f·p + g)·N + i]``: code of feature ``f`` in the ``i``-th row in the order of
        feature ``g``. Rows are padded to whole groups of blocks with a larger code. One of the two
        is empty: the long ones are for more codes than 16 bits hold.
    weights : (features, rows)
        Weight of the ``i``-th row in the order of a feature; 0 in the padding.
    starts : (values + features,)
        ``starts[offsets[f] + c]``: first place of code ``c`` in the order of feature ``f``.
    offsets : (features + 1,)
    tails : (features, blocks)
        Bit ``i`` is set where the feature's value changes after row ``i``.
    ends : (features · blocks,)
        −1 where the last bit of a tail is set, else 0.
    sizes : (4,)
        Features, rows, classes and binary digits of the largest weight.
    """

    short_ranks: NDArray[np.int16]
    long_ranks: NDArray[np.int32]
    weights: Ints
    starts: Ints
    offsets: Ints
    tails: Words
    ends: Ints
    sizes: Ints


@by_reference
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


@by_reference
class Sweep(NamedTuple):
    """Scratch of :func:`solver.quantbnb.classification.stump_pairs.evaluate`."""

    words: Words  # (blocks,)
    totals: Ints  # (2 · classes)
    cumulated: Ints  # (classes · blocks)
    bounds: Ints  # (2 · blocks)
    carries: Ints  # (2 · classes)
    out: Ints  # (4,)
    counts: Ints  # (2 · classes)
    best: Ints  # (2,) weight classified correctly by the best stump of each part
    evaluations: Ints  # (3,): splits evaluated, features swept, blocks looked into


@by_reference
class Params(NamedTuple):
    """The search minimises ``error · errors + split · splits``.

    ``min_leaf`` is the least weight of a leaf, at least 1. A tree is *allowed* if all its leaves
    have it, or if it has no split. With ``exceed`` = 1 the bound of a part may exceed its cap, the
    cost from which it is of no interest: its neighbours are bounded by the rest.
    """

    error: int
    split: int
    min_leaf: int
    exceed: int


@by_reference
class Levels(NamedTuple):
    """One search for every level of the tree but the last: thresholds, and intervals of them.

    The first axis of all arrays is the level; level 0 is the root. Helpers work on one level, the
    arrays without this axis. A *point* is an evaluated threshold: all rows with a smaller code go
    to the left. Points 0 and 1 have all rows on one side. Costs of points are lower bounds, for
    trees with leaves of the weight ``relax``.
    """

    column: Ints  # (levels, points) feature of the threshold
    code: Ints  # (levels, points)
    cost: Ints  # (levels, points)
    below: Ints  # (levels, points) weight of the rows to the left
    least: Ints  # (levels, points, 2) lower bounds on the costs of the left and the right part
    paid: Ints  # (levels, points, 2) costs of their best allowed trees, exact where they matter
    relax: Ints  # (levels, points, 2) least weight of a leaf in the trees that are bounded
    each: Ints  # (levels, points, 2, features) the same by the feature of the part's first split
    guess: Ints  # (levels, points, 2, 2) feature and code of the part's best first split; −1: none
    feature: Ints  # (levels, intervals)
    left: Ints  # (levels, intervals) splits allowed in the left part
    bound: Ints  # (levels, intervals)
    ends: Ints  # (levels, intervals, 2) points
    heap: Ints  # (levels, intervals) by bound
    lower: Ints  # (levels, features) bounds by the feature of the first split: before, and result
    passed: Ints  # (levels, features) least bound of discarded or evaluated intervals
    tries: Ints  # (levels, 2, 2) first splits to begin with
    own: Ints  # (levels, features, 2) first and last code of the thresholds to search
    frame: Ints  # (levels, FIELDS)
    tree: Ints  # (levels, nodes, 2) best tree: feature and code of node i, over 2i + 1 and 2i + 2
    halves: Ints  # (levels, 2, nodes, 2) the same for the parts of the current threshold
    caps: Ints  # (levels, 2)
    relaxed: Ints  # (levels, 2)


(
    PHASE, POINTS, INTERVALS, QUEUED, LIMIT, FOUND, FOUND_CODE, TRIED, A, B, AT, FEATURE, TURN,
    SIDE, CAP, BOUND, DEPTH, LEAF, RELAX, EXCHANGES, BUDGET, LEFT, NEAR, FIELDS,
) = range(24)  # fmt: skip
# BUDGET: splits allowed; LEFT: those of the left part. NEAR: the least cost of a part without a
# split, of all thresholds that the current one may rule out.
START, OPENING, PICK, CHILD = range(4)


def padded_length(rows: int) -> int:
    """Rows in whole groups of blocks."""
    return -(-rows // (BLOCK * GROUP)) * BLOCK * GROUP


def part_sizes(sizes: Sequence[int]) -> list[tuple[int, ...]]:
    """Shapes of the arrays of a :class:`Part`, from the sizes of a :class:`Table`."""
    p, padded, classes, digits = sizes
    blocks = padded // BLOCK
    planes = p * classes * digits * blocks
    return [(p, blocks), (planes,), (p * classes * blocks,), (p, blocks), (classes,)]


def new_parts(sizes: Sequence[int], number: int) -> Part:
    """Empty sets of rows; their number is the first axis of all arrays."""
    rows, planes, *others = ((number, *shape) for shape in part_sizes(sizes))
    ints = [np.zeros(shape, np.int64) for shape in others]
    return Part(np.zeros(rows, np.uint64), np.zeros(planes, np.uint64), *ints)


def sweep_sizes(sizes: Sequence[int]) -> list[int]:
    """Lengths of the arrays of a :class:`Sweep`."""
    _, padded, classes, _ = sizes
    blocks = padded // BLOCK
    return [blocks, 2 * classes, classes * blocks, 2 * blocks, 2 * classes, 4, 2 * classes, 2, 3]


def new_sweep(sizes: Sequence[int]) -> Sweep:
    """Scratch for one thread."""
    words, *others = sweep_sizes(sizes)
    return Sweep(np.zeros(words, np.uint64), *(np.zeros(size, np.int64) for size in others))


def level_shapes(
    features: int, levels: int, points: int, allotments: int = 1
) -> list[tuple[int, ...]]:
    """Shapes of the arrays of :class:`Levels`; ``allotments`` of splits to two parts, at most."""
    p, intervals, nodes = features, 2 * points + allotments * features, 2 ** (levels + 1) - 1
    shapes: list[tuple[int, ...]] = [
        (points,), (points,), (points,), (points,), (points, 2), (points, 2), (points, 2),
        (points, 2, p), (points, 2, 2),
        (intervals,), (intervals,), (intervals,), (intervals, 2), (intervals,), (p,), (p,), (2, 2),
        (p, 2), (FIELDS,),
        (nodes, 2), (2, nodes, 2), (2,), (2,),
    ]  # fmt: skip
    return [(levels, *shape) for shape in shapes]


def new_levels(features: int, levels: int, points: int, allotments: int = 1) -> Levels:
    """Room for this many thresholds on every level."""
    shapes = level_shapes(features, levels, points, allotments)
    made = Levels(*(np.zeros(shape, np.int64) for shape in shapes))
    made.own[:, :, 1] = INFINITE
    return made


def grown(levels: Levels, allotments: int) -> Levels:
    """The same with twice the room."""
    number, points = levels.code.shape
    larger = new_levels(levels.lower.shape[1], number, 2 * points, allotments)
    for old, new in zip(levels, larger, strict=True):
        new[tuple(slice(0, size) for size in old.shape)] = old
    return larger
