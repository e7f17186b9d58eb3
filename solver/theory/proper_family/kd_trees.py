"""K-D trees: cuts at the points' own coordinates, all on one axis at each level (section 5.3).

A node holds a point. Points with a smaller coordinate on the axis of its level go to its left, the
others to its right, also those of an equal coordinate; so a point may be there several times. A
leaf holds at most ``bucket`` points, by default none.

Objectives count the points that a search looks at: one at each node, all points at each leaf. So
the cost is a sum over regions of how often they are searched, which a *measure* gives: it
depends on the queries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from functools import cache
from itertools import cycle, islice, product
from math import prod
from typing import Any, NamedTuple, TypeAlias

from solver.errors import InputError
from solver.proper.paper.tree_recursion import Found, Leaf, Memo, Objective, Space, Split, best
from solver.theory.proper_family.exact_numbers import Number, exact

Point: TypeAlias = tuple[Fraction, ...]
Axes: TypeAlias = tuple[int, ...]
"""The axis of each level, from the top down."""


class Region(NamedTuple):
    """A cell, with its corners ``low`` and ``high`` inside the box of all points, and its
    points."""

    points: tuple[int, ...]
    low: Point
    high: Point


class Cut(NamedTuple):
    """The root of a node: its point, the axis of its level, and the region that it cuts."""

    point: int
    axis: int
    region: Region


State: TypeAlias = tuple[Axes, Region]
"""The axes of the levels that the region may still need, and the region."""

Measure: TypeAlias = Callable[[Region], int | Fraction]
"""How often a region is searched."""


class Points:
    """Points of any dimension D; a leaf holds at most ``bucket`` of them.

    InputError if there are none, or their numbers of coordinates differ or are 0.
    """

    def __init__(self, points: Iterable[Sequence[Number]], bucket: int = 0) -> None:
        self.points: tuple[Point, ...] = tuple(exact(p, "the coordinates") for p in points)
        self.bucket = bucket
        self.dimension = len(self.points[0]) if self.points else 0
        if any(len(point) != self.dimension for point in self.points) or not self.dimension:
            raise InputError("points need the same number of coordinates each, and at least one")

    def start(self, axes: Sequence[int]) -> State:
        """All points in their box; after the last axis the first one follows."""
        columns = list(zip(*self.points, strict=True))
        everything = tuple(range(len(self.points)))
        box = Region(everything, tuple(map(min, columns)), tuple(map(max, columns)))
        return tuple(islice(cycle(axes), self._levels(len(everything)))), box

    @property
    def space(self) -> Space[State]:
        """All K-D trees."""

        def splits(state: State) -> Iterator[Split[State]]:
            axes, region = state
            if len(region.points) > self.bucket:
                for point in region.points:
                    left, right = self.cut(region, point, axes[0])
                    yield (
                        self._below(axes, left),
                        Cut(point, axes[0], region),
                        self._below(axes, right),
                    )

        def leaf(state: State) -> Leaf | None:
            return Leaf(state[1]) if len(state[1].points) <= self.bucket else None

        return Space(splits, leaf)

    def cut(self, region: Region, point: int, axis: int) -> tuple[Region, Region]:
        """splits_KD for one root: the regions to its left and to its right."""
        at = self.points[point][axis]
        others = [i for i in region.points if i != point]
        return (
            Region(
                tuple(i for i in others if self.points[i][axis] < at),
                region.low,
                _with(region.high, axis, at),
            ),
            Region(
                tuple(i for i in others if self.points[i][axis] >= at),
                _with(region.low, axis, at),
                region.high,
            ),
        )

    def reached(self, queries: Iterable[Sequence[Number]]) -> Measure:
        """How many of some nearest neighbour searches must look into a region: those whose ball, up
        to the nearest neighbour, meets the cell.

        A best-first search looks into exactly these, and no correct search looks into fewer, except
        cells that the ball only touches.
        """
        balls = []
        for query in queries:
            centre = exact(query, "the coordinates of a query")
            if len(centre) != self.dimension:
                raise InputError(f"query {tuple(query)} has not {self.dimension} coordinates")
            balls.append((centre, min(_square(centre, point, point) for point in self.points)))

        @cache
        def count(low: Point, high: Point) -> int:
            return sum(_square(centre, low, high) <= square for centre, square in balls)

        return lambda region: count(region.low, region.high)

    def _below(self, axes: Axes, region: Region) -> State:
        # Axes of levels that a region cannot have would tell equal states apart.
        return axes[1 : 1 + self._levels(len(region.points))], region

    def _levels(self, points: int) -> int:
        return max(0, points - self.bucket)


def found_again(region: Region) -> int:
    """Measure of one search for each point: the cost is the sum of their depths, least for a
    balanced tree."""
    return len(region.points)


def surface(region: Region) -> Fraction:
    """Measure of searches along random lines: half the surface of the cell, in the plane half its
    perimeter. A line that meets a convex body meets another one inside it with a probability equal
    to the ratio of their surfaces."""
    sides = [high - low for low, high in zip(region.low, region.high, strict=True)]
    faces = (prod(sides[:i] + sides[i + 1 :], start=Fraction(1)) for i in range(len(sides)))
    return sum(faces, start=Fraction(0))


def looked_at(measure: Measure) -> Objective[int | Fraction]:
    """How many points the searches of a measure look at."""
    return Objective(
        lambda region: measure(region) * len(region.points),
        lambda cut, left, right: measure(cut.region) + left + right,
    )


height = Objective[int](lambda region: 0, lambda cut, left, right: 1 + max(left, right))
"""The number of levels of nodes."""


class FoundKD(NamedTuple):
    """A best K-D tree with the axes of its levels; the last may be unused."""

    found: Found
    axes: Axes


def best_kd_tree(
    points: Points,
    objective: Objective[Any],
    axes: Sequence[int] | None = None,
    memo: Memo | None = None,
) -> Found:
    """The best K-D tree; ``memo`` counts hits.

    ``objective`` is `looked_at` of a measure, `height`, or any other over leaves that hold a
    `Region` and roots that are a `Cut`. ``axes`` are those of the levels, 0, 1, …, D − 1 by
    default; after the last one the first follows.
    """
    order = tuple(range(points.dimension) if axes is None else axes)
    if not order or not set(order) <= set(range(points.dimension)):
        raise InputError(f"axes {list(order)} are not of 0 to {points.dimension - 1}")
    found = best(points.space, objective, points.start(order), Memo() if memo is None else memo)
    assert found is not None
    return found


def best_axes(points: Points, objective: Objective[Any]) -> FoundKD:
    """The best K-D tree under the best choice of an axis for each level.

    There are Dⁿ choices for n points; they share subtrees.
    """
    memo = Memo()
    levels = len(points.start((0,))[0])
    choices = product(range(points.dimension), repeat=levels)
    return min(
        (FoundKD(best_kd_tree(points, objective, axes or None, memo), axes) for axes in choices),
        key=lambda choice: choice.found.cost,
    )


def _with(corner: Point, axis: int, value: Fraction) -> Point:
    return corner[:axis] + (value,) + corner[axis + 1 :]


def _square(centre: Point, low: Point, high: Point) -> Fraction:
    """The square of the distance from a point to a box."""
    apart = (max(a - x, x - b, Fraction(0)) for x, a, b in zip(centre, low, high, strict=True))
    return sum((d * d for d in apart), start=Fraction(0))
