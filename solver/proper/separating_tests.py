"""From partitions of a problem's rows to tests that separate them so.

The search knows which rows go to which side, and that a rule of its family separates them. The rule
is made here: it keeps both sides as far apart as possible, in columns scaled to the spread of the
rows, and is written with as few digits as keep at least half of that margin. Every test is checked
on every row by the sum of floats that it stands for. Margins too thin for floats are found in
Fractions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from solver.errors import InputError
from solver.features.oblique_tests import HyperplaneTest, PolynomialTest, SurfaceTest
from solver.problem.problem import Problem
from solver.proper.integer_points import Points
from solver.proper.widest_margin import widest_margin
from solver.trees.tree import Shape

Partition: TypeAlias = "int | tuple[int, tuple[Partition, Partition]]"
"""A leaf, −1, or the rows that take branch 1, as the bits of an int, and what is done with the rows
of branch 0 and of branch 1. Only the bits of rows that get there count."""

Powers: TypeAlias = tuple[int, ...]

_LEADING = Fraction(7, 20)
"""The first term to have this share of the largest influence gets the weight 1. Not a share that
symmetric data has, so that rounding does not choose it."""

_DIGITS = range(3, 18)
_HUGE = Fraction(10) ** 290


def shape_of_partition(
    problem: Problem, partition: Partition, rules: str, degree: int = 2
) -> Shape:
    """The shape of a tree whose tests separate the rows as wanted.

    Parameters
    ----------
    problem : Problem
    partition : int or nested tuple
        See :data:`Partition`.
    rules : {"axis", "hyperplane", "polynomial", "mixed"}
        ``mixed`` takes the simplest test that works: a cut, then a hyperplane, then a polynomial
        of the lowest degree.
    degree : int
        Of polynomials, at most.

    Returns
    -------
    Shape
        For :meth:`solver.problem.problem.Problem.grow`. A test may exchange the two sides; then so
        are its branches.

    Raises
    ------
    InputError
        If a rule separates the rows, but none with doubles as weights.
    ValueError
        If no rule of the family separates the rows of a node, or one of its sides is empty.
    """
    tests = _Tests(problem, rules, degree)
    return tests.shape(partition, np.arange(len(problem.codes)))


@dataclass(frozen=True)
class _Tests:
    """Makes the tests of one problem."""

    problem: Problem
    rules: str
    degree: int

    def shape(self, partition: Partition, rows: NDArray[np.int64]) -> Shape:
        """The shape of the part of a tree that some rows reach."""
        if not isinstance(partition, tuple):
            return -1
        mask, children = partition
        sides = _bits(mask, len(self.problem.codes))[rows]
        if sides.all() or not sides.any():
            raise ValueError("a side of a split has no rows")
        test, swapped = self._test(rows, sides)
        below, above = (
            self.shape(child, rows[sides == side])
            for side, child in zip((False, True), children, strict=True)
        )
        return (test, (above, below) if swapped else (below, above))

    def _test(
        self, rows: NDArray[np.int64], sides: NDArray[np.bool_]
    ) -> tuple[int | SurfaceTest, bool]:
        """The simplest test of the family, and whether its branches are exchanged."""
        if self.rules in ("axis", "mixed"):
            cut = self._cut(rows, sides)
            if cut is not None:
                return cut
        for degree, kind in self._surfaces():
            found = _Region(self.problem, rows, sides, degree, kind).test()
            if found is not None:
                return found
        raise ValueError(f"no test of the family {self.rules} parts these rows")

    def _surfaces(self) -> Iterator[tuple[int, type[SurfaceTest]]]:
        if self.rules in ("hyperplane", "mixed"):
            yield 1, HyperplaneTest
        if self.rules in ("polynomial", "mixed"):
            for degree in range(2 if self.rules == "mixed" else self.degree, self.degree + 1):
                yield degree, PolynomialTest

    def _cut(self, rows: NDArray[np.int64], sides: NDArray[np.bool_]) -> tuple[int, bool] | None:
        """The first feature that a cut of parts the rows; of its cuts that part these rows alike
        the middle one, so that no side is favoured."""
        for feature in range(self.problem.n_features):
            codes = self.problem.codes[rows, feature]
            for swapped in (False, True):
                low, high = codes[sides == swapped].max(), codes[sides != swapped].min()
                if low < high:
                    code = (int(low) + int(high) - 1) // 2
                    return self.problem.cut_number(feature, code), swapped
        return None


class _Region:
    """Rows to be separated by a surface of a degree.

    Columns are scaled so that these rows lie between −1 and 1. Terms are products of scaled
    columns; the margin is measured in their space.
    """

    def __init__(
        self,
        problem: Problem,
        rows: NDArray[np.int64],
        sides: NDArray[np.bool_],
        degree: int,
        kind: type[SurfaceTest],
    ) -> None:
        self.sides, self.kind = sides, kind
        weights = problem.counts.sum(axis=1)[rows]
        self.majority = int(2 * weights[sides].sum() > weights.sum())
        self.columns: list[str] = []
        self.numbers: list[NDArray[np.float64]] = []
        self.scaled: list[NDArray[np.object_]] = []
        self.centre: list[Fraction] = []
        self.unit: list[Fraction] = []
        for axis in problem.axes:
            numbers = problem.numbers(axis.scale.column)[rows]
            distinct, places = np.unique(numbers, return_inverse=True)
            if len(distinct) > 1:
                # A number stands for its shortest decimal, see solver.proper.integer_points.
                exact = [Fraction(repr(number)) for number in distinct.tolist()]
                centre, unit = (exact[0] + exact[-1]) / 2, (exact[-1] - exact[0]) / 2
                self.columns.append(axis.scale.column)
                self.numbers.append(numbers)
                self.scaled.append(_objects([(x - centre) / unit for x in exact])[places])
                self.centre.append(centre)
                self.unit.append(unit)
        place = np.empty((0, len(self.columns)), object)
        self.terms = Points(tuple(self.columns), place).powers(degree)

    def test(self) -> tuple[SurfaceTest, bool] | None:
        """The test of the widest margin, and whether its branches are exchanged; None if no surface
        of the degree separates the rows.

        Raises
        ------
        InputError
            If one does, but none in double precision.
        """
        if not self.columns:
            return None
        floats = [column.astype(np.float64) for column in self.scaled]
        cloud = [_term(floats, powers) for powers in self.terms]
        found = widest_margin(*self._halves(cloud))
        if found.gap > 0:
            test = self._written([Fraction(w) for w in found.normal], Fraction(found.gap))
            if test is not None:
                return test
        exact = [_term(self.scaled, powers) for powers in self.terms]
        scale = lcm(*{x.denominator for column in exact for x in set(column.tolist())})
        cloud = [_objects([int(x * scale) for x in column.tolist()]) for column in exact]
        found = widest_margin(*self._halves(cloud), found.corral)
        if found.gap <= 0:
            return None
        test = self._written([w * scale for w in found.normal], found.gap)
        if test is None:
            columns = ", ".join(map(repr, self.columns))
            raise InputError(
                f"{len(self.sides)} rows are parted by a {self.kind.kind} of {columns} whose "
                "weights are beyond double precision; round these columns to fewer digits, or "
                "bring them to a common scale"
            )
        return test

    def _halves(
        self, cloud: Sequence[NDArray[Any]]
    ) -> tuple[list[NDArray[Any]], list[NDArray[Any]]]:
        return [column[self.sides] for column in cloud], [column[~self.sides] for column in cloud]

    def _written(self, normal: list[Fraction], gap: Fraction) -> tuple[SurfaceTest, bool] | None:
        """The test of a normal with the fewest digits that keep half of its gap, or with those
        that keep most of it."""
        weights = self._unscaled(normal)
        terms = list(weights)
        with np.errstate(all="ignore"):
            values = {term: _term(self.numbers, term) for term in terms}
        if not all(np.isfinite(column).all() for column in values.values()):
            return None
        spread = {t: Fraction(float(v.max())) - Fraction(float(v.min())) for t, v in values.items()}
        influence = {t: abs(weights[t]) * spread[t] for t in terms}
        most = max(influence.values())
        if not most:
            return None
        lead = next(t for t in terms if influence[t] >= _LEADING * most)
        factor = _fitting(1 / abs(weights[lead]), weights)
        best: tuple[SurfaceTest, bool] | None = None
        kept = Fraction(0)
        for digits in _DIGITS:
            rounded = {}
            for term in terms:
                if spread[term]:
                    power = _magnitude(factor * influence[lead] / spread[term]) - digits
                    weight = _float(_round(weights[term] * factor, power))
                    if weight:
                        rounded[term] = weight
            swapped = next(iter(rounded.values()), 0) < 0  # the first weight is to be positive
            rounded = {term: -w if swapped else w for term, w in rounded.items()}
            found = self._with_threshold(rounded, swapped) if rounded else None
            if found is not None and found[1] > kept:
                best, kept = (found[0], swapped), found[1]
                if kept >= gap * factor / 2:
                    break
        return best

    def _unscaled(self, normal: list[Fraction]) -> dict[Powers, Fraction]:
        """The weights of the terms of the columns themselves, but for the constant one."""
        total: dict[Powers, Fraction] = dict.fromkeys(self.terms, Fraction(0))
        nothing = (0,) * len(self.columns)
        for weight, powers in zip(normal, self.terms, strict=True):
            product = {nothing: weight}
            for at, power in enumerate(powers):
                for _ in range(power):
                    grown: dict[Powers, Fraction] = {}
                    for term, part in product.items():
                        one = (*term[:at], term[at] + 1, *term[at + 1 :])
                        share = part / self.unit[at]
                        grown[one] = grown.get(one, Fraction(0)) + share
                        grown[term] = grown.get(term, Fraction(0)) - share * self.centre[at]
                    product = grown
            for term, part in product.items():
                total[term] = total.get(term, Fraction(0)) + part
        total.pop(nothing, None)
        return total

    def _with_threshold(
        self, weights: Mapping[Powers, float], swapped: bool
    ) -> tuple[SurfaceTest, Fraction] | None:
        """The test with these weights, and the gap between the sums of the two sides; None if it
        does not part them."""
        used = [at for at in range(len(self.columns)) if any(term[at] for term in weights)]
        test = self.kind(
            columns=tuple(self.columns[at] for at in used),
            weights=tuple(weights.values()),
            threshold=0.0,
            powers=tuple(tuple(term[at] for at in used) for term in weights),
            missing=self.majority ^ swapped,
        )
        numbers = [self.numbers[at] for at in used]
        sums = test.sums(*numbers)
        ones = self.sides ^ swapped
        low, high = float(sums[~ones].max()), float(sums[ones].min())
        if not -np.inf < low < high < np.inf:
            return None
        parts = self.kind(
            test.columns, test.weights, _short_between(low, high), test.powers, test.missing
        )
        if not np.array_equal(parts.branches(*numbers), ones):
            return None
        return parts, Fraction(high) - Fraction(low)


def _bits(mask: int, n: int) -> NDArray[np.bool_]:
    """The first bits of a number, the lowest first."""
    size = (n + 7) // 8
    content = (mask & ((1 << n) - 1)).to_bytes(size, "little")
    return np.unpackbits(np.frombuffer(content, np.uint8), bitorder="little")[:n].astype(bool)


def _objects(values: Sequence[Any]) -> NDArray[np.object_]:
    result = np.empty(len(values), dtype=object)
    result[:] = values
    return result


def _term(columns: Sequence[NDArray[Any]], powers: Powers) -> NDArray[Any]:
    """A product of powers of columns, multiplied up one by one."""
    result: NDArray[Any] | None = None
    for column, power in zip(columns, powers, strict=True):
        for _ in range(power):
            result = column if result is None else result * column
    assert result is not None  # the constant is no term
    return result


def _magnitude(value: Fraction) -> int:
    """The power of ten above a positive number, give or take one."""
    return len(str(value.numerator)) - len(str(value.denominator)) + 1


def _round(value: Fraction, power: int) -> Fraction:
    """The nearest multiple of a power of ten."""
    step = Fraction(10) ** power
    return round(value / step) * step


def _float(value: Fraction) -> float:
    """The nearest double; an infinite one beyond their range."""
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def _fitting(factor: Fraction, weights: Mapping[Powers, Fraction]) -> Fraction:
    """The factor, times the power of ten that brings very large or small weights into range."""
    sizes = [abs(weight * factor) for weight in weights.values() if weight]
    if max(sizes) < _HUGE and min(sizes) > 1 / _HUGE:
        return factor
    middle = (_magnitude(max(sizes)) + _magnitude(min(sizes))) // 2
    return factor / Fraction(10) ** middle


def _short_between(low: float, high: float) -> float:
    """The number of fewest digits in the middle half between two, or the lower one where doubles
    have none."""
    first, last = Fraction(low), Fraction(high)
    quarter, middle = (last - first) / 4, (first + last) / 2
    if abs(middle) <= quarter:
        return 0.0
    power = _magnitude(abs(middle))
    while abs(_round(middle, power) - middle) > quarter:
        power -= 1
    found = float(_round(middle, power))
    return found if low < found < high else low
