"""Straight lines over λ: which trees are best somewhere, and what bounds prove in between.

The objective of a tree is a line in λ. The least of all lines is concave, piecewise linear and
never falls. The known lines bound it from above, the chords of proven points from below.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import NamedTuple, Protocol, TypeVar

from solver.objective.exact_objective import Errors
from solver.trees.tree import Tree

_MOST_TRIED = 100
"""Numbers of splits that are tried to prove a corner without a search."""


class Line(NamedTuple):
    """A tree, as the line that its objective is over λ."""

    errors: Errors
    splits: int
    tree: Tree


class HasLine(Protocol):
    """Anything with errors and splits."""

    @property
    def errors(self) -> Errors:
        """Misclassified weight."""

    @property
    def splits(self) -> int:
        """Splits of the tree."""


AnyLine = TypeVar("AnyLine", bound=HasLine)


class Point(NamedTuple):
    """A proof at one λ: no tree has an objective below the bound."""

    lam: Fraction
    lower_bound: Fraction | None


class Sides(NamedTuple):
    """λ and value of the corners on both sides of a λ; None where there is none."""

    low: Fraction | None
    left: Fraction | None
    high: Fraction | None
    right: Fraction | None

    def at(self, lam: Fraction) -> Fraction:
        """The lower bound at the λ."""
        return -self.gap(lam, Fraction(0))

    def gap(self, lam: Fraction, value: Fraction) -> Fraction:
        """How far a value lies above the lower bound at the λ."""
        between = self._between(lam, value)
        if between is None:
            return value if self.left is None else value - self.left
        # In integers: five operations on fractions would find a common divisor each.
        (low, left, high, right, at, reached), unit = between
        above = (reached - left) * (high - low) - (right - left) * (at - low)
        return Fraction(above, unit * (high - low))

    def excludes_below(self, lam: Fraction, value: Fraction, weight: int) -> bool:
        """Whether no tree of whole errors has a smaller objective than ``value`` at the λ.

        The line of such a tree passes below ``value`` at λ, and not below the corners on both
        sides. That leaves few numbers of splits, often none. For each of them the corners tell the
        least errors, and rounded up these may be too many.
        """
        between = self._between(lam, value)
        if between is None:
            return self.gap(lam, value) <= 0
        (low, left, high, right, at, most_cost), unit = between
        fewest = (right - most_cost) // (high - at) + 1
        most = -((left - most_cost) // (at - low)) - 1
        return most - fewest < _MOST_TRIED and all(
            # The least whole errors, as a share of the weight in units of 1 / (unit · weight).
            -(-weight * max(left - low * splits, right - high * splits) // unit) * unit
            >= weight * (most_cost - at * splits)
            for splits in range(fewest, most + 1)
        )

    def _between(self, lam: Fraction, value: Fraction) -> tuple[list[int], int] | None:
        """The four numbers, λ and value as :func:`whole`; None where the bound at λ is a corner's
        value, or 0."""
        low, left, high, right = self
        if low is None or left is None or high is None or right is None or low == lam:
            return None
        return whole(low, left, high, right, lam, value)


class Envelope:
    """The least concave, never falling function through proven points: a lower bound at every λ.

    ``corners`` are (λ, value) from the left, with rising values and falling slopes. Beyond the last
    the value is constant.
    """

    def __init__(self, corners: Sequence[tuple[Fraction, Fraction]]) -> None:
        self._lams = [lam for lam, _ in corners]
        self._values = [value for _, value in corners]

    @classmethod
    def of(cls, points: Iterable[Point], floor: Fraction, leaf_loss: Fraction) -> Envelope:
        """The envelope of proven points, and of what is known without a search.

        Parameters
        ----------
        floor : Fraction
            The loss on rows that no feature distinguishes, which every tree has.
        leaf_loss : Fraction
            The loss of the tree without a split. Every other tree has a split and at least the
            loss ``floor``, so for λ ≥ ``leaf_loss − floor`` no split can pay.
        """
        start = (Fraction(0), floor)
        level = (leaf_loss - floor, leaf_loss)
        envelope = cls([start, level] if level[0] else [start])
        for point in points:
            if point.lower_bound is not None:
                envelope.add(point.lam, point.lower_bound)
        return envelope

    @property
    def corners(self) -> list[tuple[Fraction, Fraction]]:
        """(λ, value) from the left, with rising values and falling slopes."""
        return list(zip(self._lams, self._values, strict=True))

    def add(self, lam: Fraction, value: Fraction) -> None:
        """Take a proven point; corners that it makes needless go."""
        if self._lams and lam >= self._lams[0] and self.sides(lam).gap(lam, value) <= 0:
            return
        lams, values = self._lams, self._values
        place = bisect_left(lams, lam)
        if place < len(lams) and lams[place] == lam:
            values[place] = value
        else:
            lams.insert(place, lam)
            values.insert(place, value)
        while place + 1 < len(lams) and self._is_needless(place + 1):
            del lams[place + 1], values[place + 1]
        while place > 1 and self._is_needless(place - 1):
            place -= 1
            del lams[place], values[place]

    def _is_needless(self, place: int) -> bool:
        """Whether a corner that has a left neighbour lies on or below what its neighbours prove."""
        lams, values = self._lams, self._values
        if place + 1 == len(lams):
            return values[place] <= values[place - 1]
        here = slice(place - 1, place + 2)
        (low, lam, high), (left, value, right) = whole(*lams[here])[0], whole(*values[here])[0]
        return (value - left) * (high - low) <= (right - left) * (lam - low)

    def at(self, lam: Fraction) -> Fraction:
        """The lower bound at a λ: on a chord, level beyond the last corner, 0 before the first."""
        return self.sides(lam).at(lam)

    def sides(self, lam: Fraction) -> Sides:
        """What the bound at a λ follows from."""
        lams, values = self._lams, self._values
        place = bisect_right(lams, lam)
        low, left = (lams[place - 1], values[place - 1]) if place else (None, None)
        high, right = (lams[place], values[place]) if place < len(lams) else (None, None)
        return Sides(low, left, high, right)


def whole(*numbers: Fraction) -> tuple[list[int], int]:
    """Fractions as whole multiples of 1 / unit, and the unit."""
    ratios = [number.as_integer_ratio() for number in numbers]
    unit = math.lcm(*[denominator for _, denominator in ratios])
    return [numerator * (unit // denominator) for numerator, denominator in ratios], unit


def best_lines(
    lines: Iterable[AnyLine], lam_min: Fraction, weight: int
) -> list[tuple[AnyLine, Fraction]]:
    """The lines that are least somewhere from ``lam_min`` on, and from which λ.

    Where two lines meet, the one of fewer splits begins. A line that is least at one λ only is
    left out.
    """
    first = lam_min.as_integer_ratio()
    kept: list[tuple[AnyLine, tuple[int, int]]] = []  # where it begins, as a ratio
    for line in sorted(lines, key=lambda line: (-line.splits, line.errors)):
        start = first
        while kept:
            last, (over, under) = kept[-1]
            if last.splits == line.splits:  # and no more errors
                break
            more, unit = (line.errors - last.errors).as_integer_ratio()
            saved = unit * weight * (last.splits - line.splits)
            if more * under > over * saved:
                start = more, saved
                break
            kept.pop()
        if not kept or kept[-1][0].splits > line.splits:
            kept.append((line, start if kept else first))
    return [(line, Fraction(*start)) for line, start in kept]
