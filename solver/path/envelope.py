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
        if self._lams and lam >= self._lams[0] and value <= self.at(lam):
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
        rise, run = values[place] - values[place - 1], lams[place] - lams[place - 1]
        if place + 1 == len(lams):
            return rise <= 0
        long_rise = values[place + 1] - values[place - 1]
        return rise * (lams[place + 1] - lams[place - 1]) <= long_rise * run

    def at(self, lam: Fraction) -> Fraction:
        """The lower bound at a λ: on a chord, level beyond the last corner, 0 before the first."""
        lams, values = self._lams, self._values
        place = bisect_right(lams, lam)
        if place == 0:
            return Fraction(0)
        low, known = lams[place - 1], values[place - 1]
        if place == len(lams) or lam == low:
            return known
        return known + (values[place] - known) * (lam - low) / (lams[place] - low)

    def excludes_below(self, lam: Fraction, value: Fraction, weight: int) -> bool:
        """Whether no tree of whole errors has a smaller objective than ``value`` at a λ.

        The line of such a tree passes below ``value`` at λ, and not below the corners on both
        sides. That leaves few numbers of splits, often none. For each of them the corners tell the
        least errors, and rounded up these may be too many.
        """
        place = bisect_right(self._lams, lam)
        if not 0 < place < len(self._lams) or self._lams[place - 1] == lam:
            return value <= self.at(lam)
        (low, left), (high, right) = self.corners[place - 1 : place + 1]
        fewest = math.floor((right - value) / (high - lam)) + 1
        most = math.ceil((value - left) / (lam - low)) - 1
        return most - fewest < _MOST_TRIED and all(
            math.ceil(weight * max(left - low * splits, right - high * splits))
            >= weight * (value - lam * splits)
            for splits in range(fewest, most + 1)
        )


def best_lines(
    lines: Iterable[AnyLine], lam_min: Fraction, weight: int
) -> list[tuple[AnyLine, Fraction]]:
    """The lines that are least somewhere from ``lam_min`` on, and from which λ.

    Where two lines meet, the one of fewer splits begins. A line that is least at one λ only is
    left out.
    """
    kept: list[tuple[AnyLine, Fraction]] = []
    for line in sorted(lines, key=lambda line: (-line.splits, line.errors)):
        start = lam_min
        while kept:
            last, last_start = kept[-1]
            if last.splits == line.splits:  # and no more errors
                break
            meets = Fraction(line.errors - last.errors) / (weight * (last.splits - line.splits))
            if meets > last_start:
                start = meets
                break
            kept.pop()
        if not kept or kept[-1][0].splits > line.splits:
            kept.append((line, start if kept else lam_min))
    return kept
