"""Which points lie on which side: flats, hyperplanes in them, dichotomies; in whole numbers.

Sets of points are the bits of a Python int. Nothing is rounded, and all positions are allowed:
collinear points, grids, points in one plane.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations, combinations_with_replacement
from math import comb, prod
from typing import NamedTuple

Point = tuple[int, ...]
Points = int
"""A set of points, one bit each."""


class Hyperplane(NamedTuple):
    """How a hyperplane of a flat lies between the points of the flat."""

    above: Points
    on: Points
    below: Points


class Cloud:
    """Distinct points with whole coordinates, and their hyperplanes."""

    def __init__(self, coordinates: Sequence[Point]) -> None:
        self.coordinates = [tuple(point) for point in coordinates]
        if len(set(self.coordinates)) < len(self.coordinates):
            raise ValueError("two of the points are equal; they never part, so make them one")
        self.everything: Points = (1 << len(self.coordinates)) - 1
        self._hyperplanes: dict[Points, list[Hyperplane]] = {}
        self._dichotomies: dict[Points, frozenset[Points]] = {}

    def dimension(self, points: Points) -> int:
        """The dimension of the least flat that holds the points: 0 of one, 1 of collinear ones."""
        return len(_pivots(self._differences(points)))

    def bases(self, points: Points) -> Iterator[Points]:
        """All subsets of as many points as it takes to span the flat of the given ones."""
        size = self.dimension(points) + 1
        for chosen in combinations(members(points), size):
            subset = as_points(chosen)
            if self.dimension(subset) == size - 1:
                yield subset

    def flats(self) -> Iterator[Points]:
        """All points in each flat that some of the points span, of dimension 1 and more, smallest
        dimension first."""
        top = self.dimension(self.everything)
        found: set[Points] = set()
        for dimension in range(1, top):
            for chosen in combinations(range(len(self.coordinates)), dimension + 1):
                spanning = as_points(chosen)
                if self.dimension(spanning) == dimension:
                    flat = self.closure(spanning)
                    if flat not in found:
                        found.add(flat)
                        yield flat
        if top:
            yield self.everything

    def closure(self, points: Points) -> Points:
        """All points in the flat that the points span."""
        dimension = self.dimension(points)
        return as_points(
            i for i in members(self.everything) if self.dimension(points | 1 << i) == dimension
        )

    def hyperplanes(self, flat: Points) -> Iterator[Hyperplane]:
        """The hyperplanes of the points' flat, k-dimensional say, through k independent ones."""
        if flat in self._hyperplanes:
            yield from self._hyperplanes[flat]
            return
        found = []
        for hyperplane in self._find_hyperplanes(flat):
            found.append(hyperplane)
            yield hyperplane
        self._hyperplanes[flat] = found

    def _find_hyperplanes(self, flat: Points) -> Iterator[Hyperplane]:
        # The flat is like its projection on k coordinates that keep its points distinct.
        columns = _pivots(self._differences(flat))
        inside = members(flat)
        shadows = {i: tuple(self.coordinates[i][c] for c in columns) for i in inside}
        seen: set[Points] = set()
        for chosen in combinations(inside, len(columns)):
            normal = _normal([(1, *shadows[i]) for i in chosen])
            if normal is None:
                continue
            heights = {i: _dot(normal, (1, *shadow)) for i, shadow in shadows.items()}
            on = as_points(i for i in inside if heights[i] == 0)
            if on not in seen:
                seen.add(on)
                above = as_points(i for i in inside if heights[i] > 0)
                yield Hyperplane(above, on, flat ^ on ^ above)

    def dichotomies(self, points: Points) -> frozenset[Points]:
        """Every subset of the points that a hyperplane strictly separates from the others.

        The empty set and all points belong to these, and with each set its complement.

        Notes
        -----
        The hyperplanes of one dichotomy are an open cone of (threshold, weights). The points span
        their flat, so the closed cone holds no line and has an extreme ray: a hyperplane through k
        independent points, k being the dimension of the flat. It separates the other points alike.
        Points on it go where a small motion sends them: as a hyperplane of the hyperplane separates
        them, or all to one side.
        """
        if points not in self._dichotomies:
            self._dichotomies[points] = frozenset(self.find_dichotomies(points))
        return self._dichotomies[points]

    def find_dichotomies(self, points: Points) -> Iterator[Points]:
        """The :meth:`dichotomies` one after the other; some come several times."""
        if points.bit_count() == self.dimension(points) + 1:  # independent: anything goes
            yield from subsets(points)
            return
        for hyperplane in self.hyperplanes(points):
            for fallen in self.dichotomies(hyperplane.on):
                yield hyperplane.above | fallen
                yield hyperplane.below | fallen

    def _differences(self, points: Points) -> list[list[Fraction]]:
        first, *others = (self.coordinates[i] for i in members(points))
        return [[Fraction(a - b) for a, b in zip(other, first, strict=True)] for other in others]


def embed(coordinates: Sequence[Point], degree: int) -> list[Point]:
    """All products of one to ``degree`` coordinates of each point: G = C(D + M, D) − 1 numbers.

    A surface of degree M is a hyperplane of these (the Veronese embedding; section 5.2).
    """
    orders = range(1, degree + 1)
    return [
        tuple(prod(c) for order in orders for c in combinations_with_replacement(point, order))
        for point in coordinates
    ]


def points_of_a_surface(dimensions: int, degree: int) -> int:
    """G = C(D + M, D) − 1, the points that fix a surface of degree M in D dimensions."""
    return comb(dimensions + degree, dimensions) - 1


def members(points: Points) -> list[int]:
    """The numbers of the points of a set, in order."""
    return [i for i in range(points.bit_length()) if points >> i & 1]


def as_points(numbers: Iterable[int]) -> Points:
    """The set of the points of these numbers."""
    return sum(1 << i for i in numbers)


def subsets(points: Points) -> Iterator[Points]:
    """All subsets of a set."""
    subset = points
    while True:
        yield subset
        if not subset:
            return
        subset = (subset - 1) & points


def _pivots(rows: list[list[Fraction]]) -> list[int]:
    """The columns on which Gaussian elimination finds a pivot: as many as the rank."""
    pivots: list[int] = []
    for column in range(len(rows[0]) if rows else 0):
        pivot = next((row for row in rows if row[column]), None)
        if pivot is None:
            continue
        pivots.append(column)
        rows = [_without(row, pivot, column) for row in rows if row is not pivot]
    return pivots


def _without(row: list[Fraction], pivot: list[Fraction], column: int) -> list[Fraction]:
    factor = row[column] / pivot[column]
    return [a - factor * b for a, b in zip(row, pivot, strict=True)] if factor else row


def _normal(rows: Sequence[Point]) -> list[int] | None:
    """The vector orthogonal to k given ones of length k + 1; None if it is not unique.

    Its entries are the minors of the matrix with alternating signs.
    """
    normal = [
        (-1) ** column * _determinant([row[:column] + row[column + 1 :] for row in rows])
        for column in range(len(rows) + 1)
    ]
    return normal if any(normal) else None


def _determinant(rows: list[Point]) -> int:
    """The determinant of a square matrix, by Bareiss' elimination without fractions."""
    matrix = [list(row) for row in rows]
    sign, previous = 1, 1
    for k in range(len(matrix)):
        swap = next((i for i in range(k, len(matrix)) if matrix[i][k]), None)
        if swap is None:
            return 0
        if swap != k:
            matrix[k], matrix[swap], sign = matrix[swap], matrix[k], -sign
        for i in range(k + 1, len(matrix)):
            for j in range(k + 1, len(matrix)):
                product = matrix[i][j] * matrix[k][k] - matrix[i][k] * matrix[k][j]
                matrix[i][j] = product // previous
        previous = matrix[k][k]
    return sign * previous


def _dot(a: Sequence[int], b: Sequence[int]) -> int:
    return sum(x * y for x, y in zip(a, b, strict=True))
