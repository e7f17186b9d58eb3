"""Straight lines over λ: which trees are best somewhere, and what bounds prove in between.

The objective of a tree is a line in λ. The least of all lines is concave, piecewise linear and
never falls. The known lines bound it from above, the chords of proven points from below.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import NamedTuple, Protocol, TypeAlias, TypeVar

from solver.objective.exact_objective import Errors
from solver.trees.tree import Tree

_MOST_TRIED = 100
"""Numbers of splits that are tried to prove a corner without a search."""


Ratio: TypeAlias = tuple[int, int]
"""Numerator and denominator, which is above 0; λ are in lowest terms. Most of a path's time was
that of fractions, each of whose operations finds a common divisor."""


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

    low: Ratio | None
    left: Ratio | None
    high: Ratio | None
    right: Ratio | None

    def at(self, lam: Ratio) -> Ratio:
        """The lower bound at the λ."""
        above, unit = self.gap(lam, (0, 1))
        return -above, unit

    def gap(self, lam: Ratio, value: Ratio) -> Ratio:
        """How far a value lies above the lower bound at the λ."""
        between = self.between(lam, value)
        if between is None:
            return value if self.left is None else _minus(value, self.left)
        return between.gap()

    def between(self, lam: Ratio, value: Ratio) -> Between | None:
        """A value at the λ, and both corners; None where the bound at λ is a corner's value, or
        0."""
        low, left, high, right = self
        if low is None or left is None or high is None or right is None or low == lam:
            return None
        return Between(*whole(low, left, high, right, lam, value))


class Between(NamedTuple):
    """λ and value of the corners on both sides of a λ, the λ and a value there, as :func:`whole`.

    ``numbers`` are those of the left corner, of the right one, and of the λ between.
    """

    numbers: list[int]
    unit: int

    def gap(self) -> Ratio:
        """How far the value lies above the lower bound at the λ."""
        low, left, high, right, at, reached = self.numbers
        above = (reached - left) * (high - low) - (right - left) * (at - low)
        return above, self.unit * (high - low)

    def better(self, weight: int, counted: int) -> list[tuple[int, int]] | None:
        """Trees of whole errors that may have a smaller objective than the value at the λ.

        The line of such a tree passes below the value at λ, and not below the corners on both
        sides. That leaves few numbers of splits, often none. For each of them the corners tell the
        least errors, and rounded up these may be too many.

        Returns
        -------
        list of (int, int), or None
            A number of splits, and the most errors of a better tree with so many splits; the most
            splits come first. None if there is one of ``counted`` splits or more, or if there are
            too many numbers to try.
        """
        (low, left, high, right, at, most_cost), unit = self
        fewest = (right - most_cost) // (high - at) + 1
        most = -((left - most_cost) // (at - low)) - 1
        if most - fewest >= _MOST_TRIED:
            return None
        found = []
        for splits in range(most, fewest - 1, -1):
            # Errors in units of 1 / unit: at least these by the corners, and fewer than these.
            least = weight * max(left - low * splits, right - high * splits)
            errors = (weight * (most_cost - at * splits) - 1) // unit
            if errors * unit >= least:
                if splits >= counted:
                    return None
                found.append((splits, errors))
        return found


class Envelope:
    """The least concave, never falling function through proven points: a lower bound at every λ.

    ``corners`` are (λ, value) from the left, with rising values and falling slopes. Beyond the last
    the value is constant.
    """

    def __init__(self, corners: Sequence[tuple[Fraction, Fraction]]) -> None:
        self._lams = [lam.as_integer_ratio() for lam, _ in corners]
        self._values = [value.as_integer_ratio() for _, value in corners]

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
        pairs = zip(self._lams, self._values, strict=True)
        return [(Fraction(*lam), Fraction(*value)) for lam, value in pairs]

    def add(self, lam: Fraction, value: Fraction) -> None:
        """Take a proven point; corners that it makes needless go."""
        self.add_ratio(lam.as_integer_ratio(), value.as_integer_ratio())

    def add_ratio(self, lam: Ratio, value: Ratio) -> None:
        """As :meth:`add`."""
        lams, values = self._lams, self._values
        place = place_after(lams, lam)  # of the first corner beyond
        if place and self._sides(place).gap(lam, value)[0] <= 0:
            return
        if place and lams[place - 1] == lam:
            place -= 1
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
            return _minus(values[place], values[place - 1])[0] <= 0
        rise, of = _minus(values[place], values[place - 1])
        run, along = _minus(lams[place], lams[place - 1])
        next_rise, next_of = _minus(values[place + 1], values[place])
        next_run, next_along = _minus(lams[place + 1], lams[place])
        # The chord on the left is no steeper than the one on the right.
        return rise * along * next_run * next_of <= next_rise * next_along * run * of

    def at(self, lam: Fraction) -> Fraction:
        """The lower bound at a λ: on a chord, level beyond the last corner, 0 before the first."""
        ratio = lam.as_integer_ratio()
        return Fraction(*self.sides(ratio).at(ratio))

    def sides(self, lam: Ratio) -> Sides:
        """What the bound at a λ follows from."""
        return self._sides(place_after(self._lams, lam))

    def _sides(self, place: int) -> Sides:
        """The corners before a place, and at it."""
        lams, values = self._lams, self._values
        low, left = (lams[place - 1], values[place - 1]) if place else (None, None)
        high, right = (lams[place], values[place]) if place < len(lams) else (None, None)
        return Sides(low, left, high, right)


def place_after(lams: Sequence[Ratio], lam: Ratio) -> int:
    """How many of some sorted λ are not above a λ, as :func:`bisect.bisect_right`."""
    over, under = lam
    low, high = 0, len(lams)
    while low < high:
        middle = (low + high) // 2
        numerator, denominator = lams[middle]
        if over * denominator < numerator * under:
            high = middle
        else:
            low = middle + 1
    return low


def is_above(one: Ratio, other: Ratio) -> bool:
    """Whether a ratio is greater than another one."""
    return one[0] * other[1] > other[0] * one[1]


def _minus(one: Ratio, other: Ratio) -> Ratio:
    """The difference, not in lowest terms."""
    return one[0] * other[1] - other[0] * one[1], one[1] * other[1]


def whole(*ratios: Ratio) -> tuple[list[int], int]:
    """Ratios as whole multiples of 1 / unit, and the unit."""
    unit = math.lcm(*[denominator for _, denominator in ratios])
    return [numerator * (unit // denominator) for numerator, denominator in ratios], unit


def best_lines(
    lines: Iterable[AnyLine], lam_min: Fraction, weight: int
) -> list[tuple[AnyLine, Fraction]]:
    """The lines that are least somewhere from ``lam_min`` on, and from which λ.

    Where two lines meet, the one of fewer splits begins. A line that is least at one λ only is
    left out.
    """
    kept = best_lines_from(lines, lam_min.as_integer_ratio(), weight)
    return [(line, Fraction(*start)) for line, start in kept]


def best_lines_from(
    lines: Iterable[AnyLine], first: Ratio, weight: int
) -> list[tuple[AnyLine, Ratio]]:
    """As :func:`best_lines`."""
    kept: list[tuple[AnyLine, Ratio]] = []
    for line in sorted(lines, key=lambda line: (-line.splits, line.errors)):
        start = first
        while kept:
            last, begun = kept[-1]
            if last.splits == line.splits:  # and no more errors
                break
            more, unit = (line.errors - last.errors).as_integer_ratio()
            saved = unit * weight * (last.splits - line.splits)
            if is_above((more, saved), begun):
                common = math.gcd(more, saved)
                start = more // common, saved // common
                break
            kept.pop()
        if not kept or kept[-1][0].splits > line.splits:
            kept.append((line, start if kept else first))
    return kept
