"""The hyperplane of the widest margin between two sets of points, in floats or exactly.

Its normal joins the nearest points of the two convex hulls: the point of least norm in the hull of
all differences between points of the two sets. Wolfe's algorithm finds it. It keeps a *corral* of
affinely independent differences, moves to the point of their affine hull nearest to the origin,
drops what blocks the way, and adds the difference furthest towards the origin, until none is. The
same lines work on floats and on Fractions, where the result is exact. Sums of floats have a fixed
order, so the result is the same on any machine.

References
----------
Wolfe, "Finding the nearest point in a polytope", Mathematical Programming 11, 1976.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import lcm, sqrt
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Cloud: TypeAlias = Sequence[NDArray[Any]]
"""Points, a column an array: float64, or object for Python ints."""

Vector: TypeAlias = list[Any]
"""Floats, or Fractions."""

_TOLERANCE = 1e-9
"""How far floats may be from the widest margin, relative to it."""

_ROUNDS = 2000
"""Steps after which the best normal so far is taken, on floats."""

_DEPENDENT = 1e-26
"""A squared norm below this share of its start is only rounding."""


class Margin(NamedTuple):
    """A hyperplane's normal, and how far it keeps two sets apart.

    ``gap`` is the least weighted sum of one set minus the largest of the other; 0: no hyperplane
    was found. ``corral`` are the pairs of points, one of either set, that span the nearest point.
    """

    normal: Vector
    gap: Any
    corral: tuple[tuple[int, int], ...]


class _Corral(NamedTuple):
    """Differences, and the point of least norm in their hull: all its shares are positive."""

    pairs: list[tuple[int, int]]
    points: list[Vector]
    shares: Vector
    nearest: Vector


def widest_margin(
    above: Cloud, below: Cloud, hint: Sequence[tuple[int, int]] = ((0, 0),)
) -> Margin:
    """The normal of the widest margin, as long as the margin itself.

    Parameters
    ----------
    above, below : sequences of arrays
        The columns of the two sets, both not empty.
    hint : sequence of pairs of int
        A corral to begin with, e.g. that of the same points in floats.

    Returns
    -------
    Margin
        On ints a gap of 0 means that no hyperplane strictly separates the sets; on floats, that
        none was found.
    """
    exact = above[0].dtype == object
    corral = _begin(above, below, hint, exact)
    best = Margin([0] * len(above), 0, tuple(corral.pairs))
    length, rounds = 0.0, 0
    while True:
        norm = _dot(corral.nearest, corral.nearest)
        normal = _whole(corral.nearest) if exact else corral.nearest
        high, low = weighted(normal, above), weighted(normal, below)
        pair = int(np.argmin(high)), int(np.argmax(low))
        difference = _difference(above, below, pair, exact)
        gap = _dot(corral.nearest, difference)
        now = Margin(corral.nearest, gap, tuple(corral.pairs))
        if gap >= norm * (1 if exact else 1 - _TOLERANCE):
            return now
        if exact or (norm > 0 and gap / sqrt(norm) > length):
            best, length = now, 0.0 if exact else gap / sqrt(norm)
        if pair in corral.pairs:
            return best
        rounds += 1
        nearer = _approach([*corral.pairs, pair], [*corral.points, difference], [*corral.shares, 0])
        stuck = nearer is None or _dot(nearer.nearest, nearer.nearest) >= norm
        if nearer is None or (not exact and (stuck or rounds == _ROUNDS)):
            return best
        corral = nearer


def weighted(weights: Vector, cloud: Cloud) -> NDArray[Any]:
    """The weighted sum of each point, added up in the order of the columns."""
    total = weights[0] * cloud[0]
    for weight, column in zip(weights[1:], cloud[1:], strict=True):
        total = total + weight * column
    return np.asarray(total)


def _begin(above: Cloud, below: Cloud, hint: Sequence[tuple[int, int]], exact: bool) -> _Corral:
    """The corral of a hint, as far as its differences are independent."""
    pairs: list[tuple[int, int]] = []
    points: list[Vector] = []
    for pair in hint:
        point = _difference(above, below, pair, exact)
        if _foot([*points, point]) is not None:
            pairs.append(pair)
            points.append(point)
    one: Any = Fraction(1) if exact else 1.0
    found = _approach(pairs, points, [one / len(pairs)] * len(pairs))
    assert found is not None  # they are independent
    return found


def _approach(pairs: list[tuple[int, int]], points: list[Vector], shares: Vector) -> _Corral | None:
    """Go from a point in the hull of independent points to the nearest one in the hull of those of
    them that it needs; None where floats cannot tell that they are independent."""
    while True:
        found = _foot(points)
        if found is None:
            return None
        foot, wanted = found
        if all(share > 0 for share in wanted):
            return _Corral(pairs, points, wanted, foot)
        steps = [
            (share / (share - goal) if share > 0 else share * 0, at)
            for at, (share, goal) in enumerate(zip(shares, wanted, strict=True))
            if not goal > 0
        ]
        step, first = min(steps)
        shares = [share + step * (goal - share) for share, goal in zip(shares, wanted, strict=True)]
        kept = [at for at, share in enumerate(shares) if share > 0 and at != first]
        if not kept:
            return None
        pairs, points = [pairs[at] for at in kept], [points[at] for at in kept]
        shares = [shares[at] for at in kept]


def _foot(points: list[Vector]) -> tuple[Vector, Vector] | None:
    """The point nearest to the origin in the affine hull of some points, and its affine
    coordinates, by Gram and Schmidt; None where the points are dependent."""
    foot = points[0]
    axes: list[tuple[Vector, Any]] = []
    parts: list[Vector] = []
    along: Vector = []
    for point in points[1:]:
        rest = [a - b for a, b in zip(point, points[0], strict=True)]
        before = _dot(rest, rest)
        part = []
        for axis, norm in axes:
            part.append(_dot(axis, rest) / norm)
            rest = _minus(rest, part[-1], axis)
        norm = _dot(rest, rest)
        if norm <= (before * _DEPENDENT if isinstance(norm, float) else 0):
            return None
        along.append(_dot(rest, foot) / norm)
        foot = _minus(foot, along[-1], rest)
        axes.append((rest, norm))
        parts.append(part)
    coordinates: Vector = list(along)
    for k in reversed(range(len(along))):
        for later in range(k + 1, len(along)):
            coordinates[k] -= coordinates[later] * parts[later][k]
    return foot, [1 + sum(coordinates), *(-c for c in coordinates)]


def _difference(above: Cloud, below: Cloud, pair: tuple[int, int], exact: bool) -> Vector:
    kind = Fraction if exact else float
    return [kind(a[pair[0]] - b[pair[1]]) for a, b in zip(above, below, strict=True)]


def _dot(one: Vector, other: Vector) -> Any:
    return sum(a * b for a, b in zip(one, other, strict=True))


def _minus(vector: Vector, factor: Any, other: Vector) -> Vector:
    return [a - factor * b for a, b in zip(vector, other, strict=True)]


def _whole(vector: Vector) -> Vector:
    """A vector of Fractions made longer until it is one of ints, which are quicker."""
    scale = lcm(*(number.denominator for number in vector))
    return [int(number * scale) for number in vector]
