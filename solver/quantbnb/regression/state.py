"""The arrays of the search, as named tuples.

A *part* is the rows at a node of the wanted tree. Level ``i`` of all arrays belongs to a part at
depth ``i``. The search of a level hands halves of its part to the next level, down to the level
whose parts are split at most twice.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from solver.kernels.constants import Floats, Ints
from solver.kernels.pass_by_reference import by_reference
from solver.objective.exact_objective import INFINITE
from solver.quantbnb.regression.simd import LANES

INFINITE_COST = 1e300

START, PICK, CHILD = range(3)
"""Phases of a level: a new part, ready for the next cut, halves of a cut being searched."""

(
    PHASE, DEPTH, ROWS, POINTS, INTERVALS, QUEUED, TURN, SIDE, AT, FEATURE, A, B, FOUND, FIELDS,
) = range(14)  # fmt: skip
LIMIT, CAP, BOUND, LEAF, COST, LOWER, RELAX, LEFT_COST, RIGHT_COST, PRICES = range(10)


@by_reference
class Params(NamedTuple):
    """The parameters of the search.

    Parameters
    ----------
    split : float
        Price of a split in units of the squared error.
    least : float
        Smallest weight of a leaf.
    outputs : int
    features : int
    """

    split: float
    least: float
    outputs: int
    features: int


@by_reference
class Parts(NamedTuple):
    """The rows of every level's part, renumbered from 0.

    Parameters
    ----------
    codes : int32 (levels, features, rows)
    order : int32 (levels, features, rows)
        ``2 · row + last`` in ascending order of the feature's codes; ``last`` is 1 where the next
        row has another code, or there is none.
    sums : (levels, rows, 1 + outputs)
        Weight w of every row, and w·Y of every output: see
        :class:`solver.quantbnb.regression.target_scaling.Targets`.
    squares : (levels, rows, 2)
        w·|Y|² in two parts. They are stored apart, so that a sweep's data stay in the cache.
    total : (levels, outputs + 3)
        Sums over the part's rows of both.
    """

    codes: NDArray[np.int32]
    order: NDArray[np.int32]
    sums: Floats
    squares: Floats
    total: Floats


@by_reference
class Levels(NamedTuple):
    """The searches of all levels, one below the other. Helpers work on one of them, the arrays
    without their first axis.

    A *point* is a cut of a feature with bounds of its two halves; an *interval* the cuts strictly
    between two points of a feature. Points ``2f`` and ``2f + 1`` are outside the first and the last
    cut of feature ``f``; the next one has all rows on its left.
    """

    code: Ints  # (levels, points): rows of at most this code are on the left
    place: Ints  # (levels, points): rows on the left
    below: Floats  # (levels, points): their weight
    relax: Floats  # (levels, points, 2): least weight of a leaf that the half's bounds allow
    low: Floats  # (levels, points, 2): bounds of the left and of the right half
    each: Floats  # (levels, points, 2, features): the same by the feature of the half's first split
    guess: Ints  # (levels, points, 2, 2): feature and code of the half's best split; −1: none
    feature: Ints  # (levels, intervals)
    bound: Floats  # (levels, intervals)
    ends: Ints  # (levels, intervals, 2): points
    heap: Ints  # (levels, intervals): by bound
    lower: Floats  # (levels, features): bounds of the part by the feature of its first split
    passed: Floats  # (levels, features): least bound of evaluated or discarded intervals
    tries: Ints  # (levels, 2, 2): feature and code of first splits to begin with
    own: Ints  # (levels, features, 2): places of the first and the last cut to search
    frame: Ints  # (levels, FIELDS)
    price: Floats  # (levels, PRICES)
    tree: Ints  # (levels, nodes, 2): best tree: feature and code of node i, over 2i + 1 and 2i + 2
    halves: Ints  # (levels, 2, nodes, 2): the same of the halves of the current cut


@by_reference
class Scratch(NamedTuple):
    """Scratch space of a batch of cuts, and the counters of the search."""

    bits: NDArray[np.uint8]  # (rows,): bit k: the row is on the left of cut k
    moved: NDArray[np.int32]  # (rows,): number of a row in the half, −1: in the other one
    totals: Floats  # (2, 1 + outputs, LANES): of the lanes and of their complements
    squares: Floats  # (2, LANES)
    gains: Floats  # (2, 2, LANES): feasible and relaxed, by side
    least: Floats  # (2, 2, LANES): smallest weight of a leaf: allowed, and for bounds, by side
    sums: Floats  # (2, 1 + outputs, LANES)
    cost: Floats  # (2, LANES): best cost of the halves
    leaf: Floats  # (2, LANES): cost of the halves as leaves
    caps: Floats  # (2, LANES): costs from which on a half is of no interest
    point: Ints  # (LANES,): the cuts of the batch
    lane: Ints  # (LANES,): the intervals they are in
    chosen: Ints  # (LANES, 3): intervals of the batch: feature and ends
    own: Floats  # (LANES,): their bounds
    done: Ints  # (3,): steps, passes over the rows by a feature, top level


STEPS, PASSES, TOP = range(3)


def new_parts(levels: int, features: int, rows: int, outputs: int) -> Parts:
    """Empty parts."""
    return Parts(
        np.zeros((levels, features, rows), np.int32),
        np.zeros((levels, features, rows), np.int32),
        np.zeros((levels, rows, 1 + outputs)),
        np.zeros((levels, rows, 2)),
        np.zeros((levels, 3 + outputs)),
    )


def new_levels(levels: int, features: int, points: int) -> Levels:
    """Room for this many cuts on every level."""
    intervals, nodes = 2 * points + features, 2**levels - 1
    shapes: dict[str, tuple[int, ...]] = {
        "code": (points,),
        "place": (points,),
        "below": (points,),
        "relax": (points, 2),
        "low": (points, 2),
        "each": (points, 2, features),
        "guess": (points, 2, 2),
        "feature": (intervals,),
        "bound": (intervals,),
        "ends": (intervals, 2),
        "heap": (intervals,),
        "lower": (features,),
        "passed": (features,),
        "tries": (2, 2),
        "own": (features, 2),
        "frame": (FIELDS,),
        "price": (PRICES,),
        "tree": (nodes, 2),
        "halves": (2, nodes, 2),
    }
    floats = {"below", "relax", "low", "each", "bound", "lower", "passed", "price"}
    arrays: dict[str, Any] = {
        name: np.zeros((levels, *shape), np.float64 if name in floats else np.int64)
        for name, shape in shapes.items()
    }
    arrays["own"][:, :, 1] = INFINITE
    return Levels(**arrays)


def grown(levels: Levels) -> Levels:
    """The same with twice the room for cuts."""
    larger = new_levels(len(levels.code), levels.each.shape[3], 2 * levels.code.shape[1])
    for old, new in zip(levels, larger, strict=True):
        new[tuple(slice(0, size) for size in old.shape)] = old
    return larger


def new_scratch(rows: int, outputs: int) -> Scratch:
    """Room for one batch."""
    return Scratch(
        np.zeros(rows, np.uint8),
        np.zeros(rows, np.int32),
        np.zeros((2, 1 + outputs, LANES)),
        np.zeros((2, LANES)),
        np.zeros((2, 2, LANES)),
        np.zeros((2, 2, LANES)),
        np.zeros((2, 1 + outputs, LANES)),
        np.zeros((2, LANES)),
        np.zeros((2, LANES)),
        np.zeros((2, LANES)),
        np.zeros(LANES, np.int64),
        np.zeros(LANES, np.int64),
        np.zeros((LANES, 3), np.int64),
        np.zeros(LANES),
        np.zeros(3, np.int64),
    )
