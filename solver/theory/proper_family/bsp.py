"""Binary space partitions of segments in the plane (section 5.1 of the paper).

An *auto-partition*: every cut is the whole line through a segment. It cuts crossing segments in
two; the parts continue as new segments, one on either side. Segments on the line stay at the node.
As in de Berg et al., *Computational Geometry*, section 12.2, a region with at most one segment is a
leaf. With ``leaf_size`` 0 only an empty region is one, as in the paper's generators, where every
rule ends at a node.

All is exact: a part of a segment is the interval of its parameter, from 0 at the start to 1 at the
end, and crossings are fractions. Segments may touch, cross, overlap and repeat.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from functools import cache
from typing import Literal, NamedTuple, TypeAlias

from solver.errors import InputError
from solver.proper.paper.tree_recursion import (
    Found,
    Leaf,
    Memo,
    Objective,
    Space,
    Split,
    Tree,
    best,
    leaves,
    roots,
    trees,
)
from solver.theory.proper_family.exact_numbers import Number, exact


class Part(NamedTuple):
    """A part of a segment, between two of its parameters; or all of it."""

    segment: int
    start: Fraction
    end: Fraction


Region: TypeAlias = tuple[Part, ...]
"""The parts in a region, by segment. A region is convex, so it holds one of a segment at most."""


class Line(NamedTuple):
    """The root of a node: the line through a segment, and the parts that lie on it."""

    segment: int
    on: Region


class _Crossing(NamedTuple):
    """Where a segment meets a line: 0 if it lies on it, else the side of its start (1 left, −1
    right of the line's segment), and the parameter where it changes sides, if it does."""

    side: int
    at: Fraction | None


Point: TypeAlias = tuple[Fraction, Fraction]
Segment: TypeAlias = tuple[Point, Point]


class Segments:
    """Segments in the plane, and how their lines cut each other.

    ``segments`` are (x, y, x', y'), directed from the first end to the second; the left side of the
    line is r⁺. A leaf holds at most ``leaf_size`` (0 or 1) parts. InputError if a segment does not
    have four coordinates, or has no length.
    """

    def __init__(self, segments: Iterable[Sequence[Number]], leaf_size: Literal[0, 1] = 1) -> None:
        self.segments = tuple(map(_segment, segments))
        self.leaf_size = leaf_size
        self._crossing = cache(self._cross)

    @property
    def all(self) -> Region:
        """The plane: every segment as a whole."""
        return tuple(Part(i, Fraction(0), Fraction(1)) for i in range(len(self.segments)))

    @property
    def space(self) -> Space[Region]:
        """All auto-partitions."""

        def splits(region: Region) -> Iterator[Split[Region]]:
            taken: set[int] = set()
            for part in region if len(region) > self.leaf_size else ():
                # Segments on one line are one rule.
                if part.segment not in taken:
                    left, line, right = self.cut(region, part.segment)
                    taken.update(other.segment for other in line.on)
                    yield left, line, right

        return Space(splits, self._leaf)

    def ordered(self, order: Sequence[int]) -> Space[Region]:
        """The one partition that takes in every region the line of its first segment in an
        order."""
        rank = {segment: place for place, segment in enumerate(order)}

        def splits(region: Region) -> Iterator[Split[Region]]:
            if len(region) > self.leaf_size:
                yield self.cut(region, min((part.segment for part in region), key=rank.__getitem__))

        return Space(splits, self._leaf)

    def cut(self, region: Region, segment: int) -> Split[Region]:
        """splits_BSP for one root: what lies left of the segment's line, on it, and right of it."""
        sides: dict[int, list[Part]] = {1: [], 0: [], -1: []}
        for part in region:
            side, at = self._crossing(segment, part.segment)
            if at is None or part.end <= at:
                sides[side].append(part)
            elif at <= part.start:
                sides[-side].append(part)
            else:
                sides[side].append(part._replace(end=at))
                sides[-side].append(part._replace(start=at))
        return tuple(sides[1]), Line(segment, tuple(sides[0])), tuple(sides[-1])

    def _leaf(self, region: Region) -> Leaf | None:
        return Leaf(region) if len(region) <= self.leaf_size else None

    def _cross(self, line: int, segment: int) -> _Crossing:
        first, last = (_left_of(self.segments[line], end) for end in self.segments[segment])
        if first * last < 0:
            return _Crossing(_sign(first), first / (first - last))
        # It touches the line at most, or lies on it.
        return _Crossing(_sign(first or last), None)


size = Objective[int](lambda region: 1, lambda line, left, right: left + right + 1)
"""E_BSP, equation (28): the number of leaves and nodes."""


def best_partition(segments: Segments, memo: Memo | None = None) -> Found:
    """The smallest auto-partition.

    A memo shows how often it hits: different cuts often leave the same parts in a region.
    """
    found = best(segments.space, size, segments.all, Memo() if memo is None else memo)
    assert found is not None
    return found


def ordered_partition(segments: Segments, order: Sequence[int]) -> Tree:
    """The auto-partition of an order of all segments, numbers from 0; InputError if it is not
    one."""
    if sorted(order) != list(range(len(segments.segments))):
        raise InputError(
            f"{list(order)} is no order of the {len(segments.segments)} segments; name each once"
        )
    return next(trees(segments.ordered(order), segments.all))


def random_partition(segments: Segments, seed: int) -> Tree:
    """The classical randomised algorithm: the auto-partition of a random order.

    Of n segments that do not cross it makes at most n + 2n·(1/2 + … + 1/n) parts on average
    (de Berg et al., Lemma 12.2), which is O(n log n).
    """
    order = list(range(len(segments.segments)))
    random.Random(seed).shuffle(order)
    return ordered_partition(segments, order)


def parts(tree: Tree) -> list[Part]:
    """The parts into which a partition has cut its segments, in order."""
    at_nodes = [part for line in roots(tree) for part in line.on]
    return sorted(at_nodes + [part for region in leaves(tree) for part in region])


def _segment(given: Sequence[Number]) -> Segment:
    numbers = exact(given, "the ends of a segment")
    if len(numbers) != 4 or numbers[:2] == numbers[2:]:
        raise InputError(
            f"{tuple(given)} is no segment; give the coordinates x, y of two different ends"
        )
    return (numbers[0], numbers[1]), (numbers[2], numbers[3])


def _left_of(segment: Segment, point: Point) -> Fraction:
    """Above 0 if the point lies left of the segment's line, 0 on it, below 0 right of it."""
    (ax, ay), (bx, by) = segment
    return (bx - ax) * (point[1] - ay) - (by - ay) * (point[0] - ax)


def _sign(number: Fraction) -> int:
    return (number > 0) - (number < 0)
