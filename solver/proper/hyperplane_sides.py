"""On which side of a hyperplane through some points the other points lie, without an error.

The side of a point is the sign of a determinant of whole numbers. Floats give the determinant and a
bound on its rounding error. If the float exceeds the bound, its sign is right. If not, the
determinant is small, so wrapping 64-bit integers give it exactly, unless the bound itself exceeds
62 bits. Then, very rarely, Python's integers decide (:func:`exact_sides`).

About 2^d hyperplanes give the same dichotomy of points in general position; it is taken from one of
them. In the space of hyperplanes with the first point below them, a dichotomy is a cell, and the
hyperplanes through d points are the corners. A cell has one lowest corner, by the value of the
hyperplanes at the second point, or touches the hyperplanes through the first point, where all cells
are taken. At a corner, each of its points must be on a certain side of the hyperplane, in the cell
above the corner: the sign of its coefficient in the second point as a combination of the first
point and the corner's points. By Cramer's rule this is the sign of their determinant with the
second point in its place. Where such a sign is 0, all cells at the corner are taken.
"""

from __future__ import annotations

import math
from functools import cache
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from solver.kernels.constants import Ints, Words
from solver.kernels.jit import helper, kernel
from solver.proper.mask_sets import MaskSet, insert

MOST_DIMENSIONS = 14
ENDED, GOES_ON, FULL, UNSURE, DEGENERATE = range(5)
FRESH, DONE, KNOWN = range(3)
"""Entries of ``Walk.place``: the first of the chosen points whose minors are to be made anew, the
number of sets of points so far, and whether the sides of the present one are given."""

MOST_TURNS = 2**24
"""Sets of d − 1 points beyond which a dichotomy is taken from each of its corners: to walk over
that many sets of d points takes days anyway."""

_SURE = 2.0**61


class Cloud(NamedTuple):
    """Points that span d dimensions, with a last coordinate of 1.

    Parameters
    ----------
    floats : (d + 1, points)
        Whole coordinates, rounded.
    wrapped : (d + 1, points)
        The same modulo 2^64.
    largest : (d + 1,)
        The largest absolute coordinate.
    choose : (points − 1, d − 1)
        ``choose[n, k]``: number of sets of k + 1 of n points; empty beyond :data:`MOST_TURNS`.
    starts : (d + 2,)
        Terms ``starts[k] … starts[k + 1]`` make the minors of k + 1 points of those of k points
        (Laplace's expansion along the last row).
    target, column, source : (terms,)
        A minor of k + 1 points, the column that is left out, the minor of k points without it.
    odd : (terms,)
        Whether the term is subtracted.
    """

    floats: NDArray[np.float64]
    wrapped: Ints
    largest: NDArray[np.float64]
    choose: Ints
    starts: Ints
    target: Ints
    column: Ints
    source: Ints
    odd: NDArray[np.bool_]


class Walk(NamedTuple):
    """Where the walk over all sets of d points is.

    Parameters
    ----------
    chosen : (d,)
        The points, ascending.
    place : (3,)
        See :data:`FRESH`.
    minors, sizes, whole : (d + 1, largest number of minors)
        Minors of the first k points as floats, what bounds their rounding, and wrapped.
    above, on, mask : (words,)
    side : (points,)
        −1, 0, 1: below, on or above the hyperplane through the chosen points.
    value : (points,)
        The determinant in floats.
    turn : (sets of d − 1 points but the first two,)
        The side of the first point of the hyperplane through the second point and these; empty if
        there are too many, see :data:`MOST_TURNS`.
    """

    chosen: Ints
    place: Ints
    minors: NDArray[np.float64]
    sizes: NDArray[np.float64]
    whole: Ints
    above: Words
    on: Words
    mask: Words
    side: NDArray[np.int8]
    value: NDArray[np.float64]
    turn: NDArray[np.int8]


def new_cloud(coordinates: NDArray[np.object_]) -> Cloud:
    """Points of whole coordinates, shape (points, d)."""
    n, d = coordinates.shape
    whole = np.empty((n, d + 1), dtype=object)
    whole[:, :d], whole[:, d] = coordinates, 1
    wrapped = ((whole + 2**63) % 2**64 - 2**63).astype(np.int64)
    starts, table = _laplace(d)
    floats = np.array([[_rounded(number) for number in axis] for axis in whole.T.tolist()])
    few = math.comb(n - 2, d - 1) <= MOST_TURNS
    sets = [[math.comb(i, k + 1) for k in range(d - 1)] for i in range(n - 1 if few else 0)]
    return Cloud(
        floats=floats,
        wrapped=np.ascontiguousarray(wrapped.T),
        largest=np.abs(floats).max(axis=1),
        choose=np.array(sets, np.int64).reshape(len(sets), d - 1),
        starts=starts,
        target=table[0].copy(),
        column=table[1].copy(),
        source=table[2].copy(),
        odd=table[3] == 1,
    )


def _rounded(number: int) -> float:
    """The nearest float; beyond all of them ±∞, whose bound on rounding is ∞ or NaN: never sure."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


@cache
def _laplace(d: int) -> tuple[Ints, Ints]:
    """The terms of Laplace's expansion in d dimensions, see :class:`Cloud`."""
    starts, terms = [0], []
    for k in range(d + 1):
        before = {columns: i for i, columns in enumerate(combinations(range(d + 1), k))}
        for target, columns in enumerate(combinations(range(d + 1), k + 1)):
            for i, column in enumerate(columns):
                source = before[columns[:i] + columns[i + 1 :]]
                terms.append((target, column, source, (k + i) % 2))
        starts.append(len(terms))
    return np.array(starts, np.int64), np.array(terms, np.int64).T


def new_walk(cloud: Cloud, words: int) -> Walk:
    """At the first set of points."""
    d, n = cloud.floats.shape[0] - 1, cloud.floats.shape[1]
    width = max(len(list(combinations(range(d + 1), k))) for k in range(d + 2))
    minors = np.zeros((d + 1, width))
    minors[0, 0] = 1.0
    above, on, mask = np.zeros((3, words), np.uint64)
    return Walk(
        chosen=np.arange(d),
        place=np.zeros(3, np.int64),
        minors=minors,
        sizes=minors.copy(),
        whole=minors.astype(np.int64),
        above=above,
        on=on,
        mask=mask,
        side=np.zeros(n, np.int8),
        value=np.zeros(n),
        turn=np.zeros(cloud.choose[-1, -1] if cloud.choose.size else 0, np.int8),
    )


@helper
def _minors(cloud: Cloud, walk: Walk, first: int) -> None:
    """Make the minors of the chosen points from a point on."""
    for k in range(first, len(walk.chosen)):
        point = walk.chosen[k]
        for i in range(walk.minors.shape[1]):
            walk.minors[k + 1, i] = 0.0
            walk.sizes[k + 1, i] = 0.0
            walk.whole[k + 1, i] = 0
        for t in range(cloud.starts[k], cloud.starts[k + 1]):
            to, source, column = cloud.target[t], cloud.source[t], cloud.column[t]
            term = walk.minors[k, source] * cloud.floats[column, point]
            whole = walk.whole[k, source] * cloud.wrapped[column, point]
            walk.minors[k + 1, to] += -term if cloud.odd[t] else term
            walk.whole[k + 1, to] += -whole if cloud.odd[t] else whole
            size = walk.sizes[k, source] * abs(cloud.floats[column, point])
            walk.sizes[k + 1, to] += size


@helper
def _find_sides(cloud: Cloud, walk: Walk) -> bool:
    """The side of every point; False if one is not sure."""
    d = len(walk.chosen)
    # Each of the products and sums on the way to a determinant rounds once, coordinates too.
    share = (d + 4) * (d + 4) * 2.0**-53
    value, most = walk.value, 0.0
    for point in range(len(value)):
        value[point] = 0.0
    for t in range(cloud.starts[d], cloud.starts[d + 1]):
        source, column = cloud.source[t], cloud.column[t]
        factor = walk.minors[d, source]
        if cloud.odd[t]:
            factor = -factor
        for point in range(len(value)):
            value[point] += factor * cloud.floats[column, point]
        most += walk.sizes[d, source] * cloud.largest[column]
    most *= share
    for point in range(len(value)):
        sign = np.int8(value[point] > most) - np.int8(value[point] < -most)
        walk.side[point] = sign
        if sign == 0 and not _is_chosen(walk, point):
            if not _find_side(cloud, walk, point, share):
                return False
    for point in walk.chosen:
        walk.side[point] = 0
    return True


@helper
def _is_chosen(walk: Walk, point: int) -> bool:
    """Whether the hyperplane is through the point by its making: floats need not tell."""
    found = False
    for other in walk.chosen:
        if other == point:
            found = True
    return found


@helper
def _find_side(cloud: Cloud, walk: Walk, point: int, share: float) -> bool:
    """The side of a point near the hyperplane; False if it is not sure."""
    d = len(walk.chosen)
    value, size, whole = walk.value[point], 0.0, np.int64(0)
    for t in range(cloud.starts[d], cloud.starts[d + 1]):
        source, column = cloud.source[t], cloud.column[t]
        exact = walk.whole[d, source] * cloud.wrapped[column, point]
        whole += -exact if cloud.odd[t] else exact
        size += walk.sizes[d, source] * abs(cloud.floats[column, point])
    if abs(value) > share * size:
        walk.side[point] = 1 if value > 0 else -1
    elif share * size < _SURE:
        # |determinant| ≤ 2 · share · size < 2^62, so it is the wrapped number.
        walk.side[point] = np.int8(whole > 0) - np.int8(whole < 0)
    else:
        return False
    return True


@helper
def _rank(cloud: Cloud, chosen: Ints, without: int) -> int:
    """The number of a set of d − 1 of the chosen points, the first two points left out."""
    rank, k = 0, 0
    for i in range(len(chosen)):
        if i != without:
            rank += cloud.choose[chosen[i] - 2, k]
            k += 1
    return rank


@helper
def _way_up(cloud: Cloud, walk: Walk) -> int:
    """Which chosen points are above the hyperplane in the cell that this is the lowest corner of,
    as bits; −1 if that is not certain."""
    if walk.chosen[0] < 2 or len(walk.turn) == 0:
        return -1
    way = 0
    for i in range(len(walk.chosen)):
        turn = walk.turn[_rank(cloud, walk.chosen, i)]
        if turn == 0:
            return -1
        if (turn < 0) != (i & 1 == 1):
            way |= 1 << i
    return way


@helper
def _next_set(walk: Walk) -> bool:
    """Advance to the next set of points; False if there is none."""
    n, d = len(walk.side), len(walk.chosen)
    i = d - 1
    while i >= 0 and walk.chosen[i] == n - d + i:
        i -= 1
    if i < 0:
        return False
    walk.chosen[i] += 1
    for k in range(i + 1, d):
        walk.chosen[k] = walk.chosen[k - 1] + 1
    walk.place[FRESH] = i
    return True


@helper
def put(members: MaskSet, mask: Words, full: Words) -> None:
    """Put a dichotomy into a set: the side without the first point; not if a side is empty."""
    flip = (mask[0] & np.uint64(1)) != 0
    empty = True
    for w in range(len(mask)):
        if flip:
            mask[w] ^= full[w]
        if mask[w] != 0:
            empty = False
    if not empty:
        insert(members, mask)


@kernel
def walk_on(
    cloud: Cloud, walk: Walk, found: MaskSet, seen: MaskSet, full: Words, steps: int
) -> int:
    """Find the dichotomies of the next hyperplanes through d points.

    Points on a hyperplane can go to either side: d defining points independently, more points as a
    hyperplane within it separates them.

    Returns
    -------
    int
        ENDED, GOES_ON, or FULL if a set needs more room; UNSURE if the caller must give the sides
        of the chosen points (``walk.side``, KNOWN); DEGENERATE if more than d points are on the
        hyperplane (``walk.above``, ``walk.on``), for the caller to separate.
    """
    d = len(walk.chosen)
    ways = 1 << d
    room, places = len(found.masks) - ways, len(seen.masks) - 1
    for _ in range(steps):
        if found.used[0] > room or seen.used[0] > places:
            return FULL
        if not walk.place[KNOWN]:
            _minors(cloud, walk, walk.place[FRESH])
            walk.place[FRESH] = d
            if not _find_sides(cloud, walk):
                return UNSURE
        walk.place[KNOWN] = 0
        on, off = 0, 0
        for w in range(len(full)):
            walk.above[w] = 0
            walk.on[w] = 0
        for point in range(len(walk.side)):
            bit = np.uint64(1) << np.uint64(point & 63)
            if walk.side[point] > 0:
                walk.above[point >> 6] |= bit
                off += 1
            elif walk.side[point] == 0:
                walk.on[point >> 6] |= bit
                on += 1
            else:
                off += 1
        if walk.chosen[0] == 1 and len(walk.turn) > 0:
            walk.turn[_rank(cloud, walk.chosen, 0)] = walk.side[0]
        outcome = GOES_ON
        if off == 0:
            pass  # the chosen points lie in a flat of less than d − 1 dimensions
        elif on == d:
            lowest = _way_up(cloud, walk)
            for way in range(ways) if lowest < 0 else range(lowest, lowest + 1):
                for w in range(len(full)):
                    walk.mask[w] = walk.above[w]
                for i in range(d):
                    if (way >> i) & 1:
                        point = walk.chosen[i]
                        walk.mask[point >> 6] |= np.uint64(1) << np.uint64(point & 63)
                put(found, walk.mask, full)
        elif insert(seen, walk.on):
            outcome = DEGENERATE
        walk.place[DONE] += 1
        if not _next_set(walk):
            walk.place[FRESH] = -1
            return ENDED if outcome == GOES_ON else outcome
        if outcome == DEGENERATE:
            return outcome
    return GOES_ON


@kernel
def put_all(found: MaskSet, masks: Words, full: Words) -> None:
    """Put dichotomies into a set that has room; the masks are left on the other side."""
    for mask in masks:
        put(found, mask, full)


def exact_sides(coordinates: NDArray[np.object_], chosen: Ints) -> list[int]:
    """The side of every point, in Python's integers."""
    d = coordinates.shape[1]
    rows = [[*coordinates[point], 1] for point in chosen.tolist()]
    minors: dict[tuple[int, ...], int] = {(): 1}
    for k, row in enumerate(rows):
        minors = {
            columns: sum(
                (-1) ** (k + i) * row[column] * minors[columns[:i] + columns[i + 1 :]]
                for i, column in enumerate(columns)
            )
            for columns in combinations(range(d + 1), k + 1)
        }
    normal = [
        (-1) ** (d + i) * minors[tuple(c for c in range(d + 1) if c != i)] for i in range(d + 1)
    ]
    values = [sum(a * b for a, b in zip(normal, [*p, 1], strict=True)) for p in coordinates]
    return [(value > 0) - (value < 0) for value in values]
