"""What trees cost in the whole numbers that the search counts in: squared errors.

The targets are centred. The product w·y of each row is rounded to a whole multiple of a power of
two, so that sums of them are exact 64-bit integers. So the search has the targets Y, of which w·Y
are these multiples. The unit of cost is a power of two such that Σ w·|Y|² is between 2⁵⁴ and 2⁵⁵
units. A leaf costs Σ w·|Y|² − |Σ w·Y|² / w. The squares are rounded up to whole units, once for all
equal rows; what is subtracted is rounded down, once a leaf. So a computed cost is never less than
the exact one of the targets Y. The search compares and adds whole numbers, as in classification.

Notes
-----
How far the computed cost of a tree may be above the exact one of the targets Y, in units, with
u = 2⁻⁵³ and m outputs:

*   The squares of a row: less than 2.
*   Floats round |Σ w·Y|² · unit / w at most m + 5 times, and the unit is taken (m + 8)·2·u less
    than it is, so that the result is not above the exact one. It is below it by less than
    (3·m + 22)·u of it, and by the inequality of Cauchy and Schwarz it is at most Σ w·|Y|² of the
    leaf's rows: so each row counts with (3·m + 22)·u of its squares.
*   Rounding down: less than 1 for each leaf.

The error of a tree is then the sum of a part e of every row, and of 1 for each leaf. So it is the
same for all trees of a region with equally many leaves, and it adds up over the sides of a rule.
Bounds of the search compare such trees. If ``far`` of a row, see
:mod:`solver.proper.rule_bounds`, is raised by its e, a bound exceeds the exact cost of no tree by
more than the error of that tree.

With the targets Y instead of y, the squared error of a tree changes by at most D = 2·√Q·d + d²,
where d² = Σ w·|Y − y|² and Q is that of the tree without a split: its root is the distance of the
targets from a subspace, which changes by at most as much as the targets, by d. A product is off by
at most half a multiple, so Y by that divided by w: d² is at most m/4 · Σ 1/w squared multiples.
Rounding y itself would cost m/4 · Σ w of them, which is too much for uneven weights.

Computed costs are thus between the exact ones − D, and + D + the error + what splits cost more
than their price. All this is kept below 0.7 of the cost scale's slack, which is half of the
tolerance. The rest is for the means, which a tree predicts rounded: by ``check_spread`` they cost
at most a quarter of the slack. So the objective of the tree that costs least and the bound, which
is the computed cost less the slack, differ by no more than the tolerance.

A split costs its price and more than twice all this, if the slack has room for it. So among trees
that are equally good up to rounding one of the fewest splits is found.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from solver.errors import InputError
from solver.objective.exact_objective import INFINITE, SquaredCostScale
from solver.problem.deduplication import equal_rows
from solver.problem.problem import Problem
from solver.proper.state import FIRST, HEAVY, SQUARED, Squares

_SUM_BITS, _SQUARE_BITS, _FAR_BITS = 62, 55, 60
_FINER = 32
"""Squares that are not whole are computed with so many bits more, rounded up."""

_GROUPED = 2**10
"""Different targets up to which the best groups of them are looked for."""


class SquaredCosts:
    """Targets and prices of a regression, as the search has them.

    ``splits`` is the limit on splits. The attributes are those of
    :class:`solver.proper.error_costs.ErrorCosts`; equal rows of the problem are one row of the
    search.

    Raises
    ------
    InputError
        If there are too many rows, or too uneven weights, for the tolerance.
    """

    unit = error = 1

    def __init__(self, problem: Problem, cost_scale: SquaredCostScale, splits: int) -> None:
        self._group, self.first = equal_rows(problem.codes)
        self._weights = problem.counts[:, 0].astype(object)
        self._products, self._moved, shift = _whole(problem)
        squares = _square(self._products, self._weights)
        self._grid = int(squares.sum()).bit_length() - _FINER - _SQUARE_BITS
        self.exponent = 2 * (shift + _log2(problem.moments.unit)) + self._grid
        self.rows = self._sums(squares)
        splits = min(splits, len(self.first) - 1)
        if splits > 0:
            sums = self.rows.sums.sum(axis=0).tolist()
            saved = sum(one * one for one in sums[FIRST:]) / sums[HEAVY]
            self.leaf = sums[SQUARED] - int(saved * self.rows.unit)
        else:  # it is compared with no other tree, so no weights are too uneven
            self.leaf = self.inwards(float(problem.leaf_errors))
        self.surplus = max(1, self.leaf // 8)
        self.split = self._price(cost_scale, splits)

    def _sums(self, squares: NDArray[np.object_]) -> Squares:
        products, w, outputs = self._products, self._weights, self._products.shape[1]
        squares = _in_units(self._together(squares), self._grid + _FINER)
        errors = 3 + ((3 * outputs + 22) * squares >> 53)
        self._error = int(errors.sum())
        far = self._together(_square(self._farthest(), w * 4**_FINER))
        far = _in_units(far, self._grid + _FINER) + errors
        shift = max(int(far.sum()).bit_length() - _FAR_BITS, 0)
        firsts = [self._together(column) for column in products.T]
        columns = self._together(w), _in_units(far, shift), squares, *firsts
        unit = math.ldexp(1 - (outputs + 8) * 2.0**-52, -self._grid)
        return Squares(np.column_stack(columns).astype(np.int64), unit, shift)

    def _farthest(self) -> NDArray[np.object_]:
        """How far other targets are from that of a row, times its weight; rounded up."""
        products, w = self._products << _FINER, self._weights[:, None]
        largest, least = -(-products // w).min(axis=0), (products // w).min(axis=0)
        farthest: NDArray[np.object_] = np.maximum(largest * w - products, products - least * w)
        return farthest

    def _together(self, numbers: NDArray[np.object_]) -> NDArray[np.object_]:
        """Sums over equal rows."""
        sums = np.zeros(len(self.first), object)
        np.add.at(sums, self._group, numbers)
        return sums

    def _price(self, cost_scale: SquaredCostScale, splits: int) -> int:
        """What a split costs."""
        error, moved = self._error + splits + 1, self._moved
        root = math.sqrt(math.ldexp(float(self.leaf), self._grid)) + moved
        error += math.ceil(math.ldexp(1.01 * (2 * root + moved) * moved, -self._grid))
        # The price itself is rounded by less than ten units.
        spare = int(math.ldexp(0.7 * cost_scale.slack, -self.exponent)) - error - 10 * splits
        if self.leaf > 0 and splits > 0 and spare < splits:
            raise InputError(
                f"{len(self._weights)} rows are too many, or their weights too uneven, for sums as "
                "accurate as regression needs; take fewer rows, or leave out the lightest"
            )
        extra = max(1, min(2 * error, spare // max(splits, 1)))
        return math.ceil(math.ldexp(cost_scale.split, -self.exponent)) + extra

    def least(self, splits: int) -> int:
        """No tree of 1 to N splits costs less; that of no tree if there are none.

        Each leaf predicts one number, so a tree of k splits costs at least as much as the best
        k + 1 groups of the targets, whatever the features are. With several outputs, the bounds of
        all of them add up.
        """
        groups = np.zeros(splits)
        for column in self._products.T:
            groups += self._best_groups(column / self._weights, splits)
        costs = (int(groups[k]) + (k + 1) * self.split for k in range(splits))
        return min(costs, default=INFINITE)

    def _best_groups(self, y: NDArray[np.object_], splits: int) -> NDArray[np.float64]:
        """What the best 2, 3, … N + 1 groups of numbers cost, rounded down: they are intervals."""
        values, places = np.unique(y.astype(np.float64), return_inverse=True)
        if len(values) > _GROUPED:
            return np.zeros(splits)
        largest = float(max(1, np.abs(values).max()))
        weights = np.bincount(places, self._weights.astype(float))
        numbers = values / largest
        count, first, second = (
            np.concatenate(([0.0], np.cumsum(weights * numbers**power))) for power in range(3)
        )
        # Each sum is rounded once for each of its terms, and each number once.
        off = 2.0**-48 * len(values) * (weights * np.abs(numbers)).sum()
        start, end = np.triu_indices(len(values) + 1, 1)
        spread = np.full((len(values) + 1,) * 2, np.inf)
        one, two = first[end] - first[start], second[end] - second[start]
        spread[start, end] = two - one * one / (count[end] - count[start]) - off
        least, found = spread[0], []
        for _ in range(splits):
            least = np.minimum(least, (least[:, None] + spread).min(axis=0))
            found.append(max(0.0, least[-1]) * largest * largest * self.rows.unit)
        return np.array(found) * (1 - 2.0**-40)

    def inwards(self, cost: float) -> int:
        """A cost of the driver as one of the search, rounded up."""
        return min(math.ceil(math.ldexp(cost, -self.exponent)), INFINITE)

    def outwards(self, cost: int) -> float:
        """A cost of the search as one of the driver."""
        return math.ldexp(float(cost), self.exponent)

    def mask(self, rows: int) -> int:
        """Rows of the search as rows of the problem."""
        return sum((rows >> place & 1) << row for row, place in enumerate(self._group.tolist()))


def _whole(problem: Problem) -> tuple[NDArray[np.object_], float, int]:
    """Products of weights and targets as whole numbers of 2^shift of the unit of
    ``problem.moments``; the distance d of these targets, rounded up; and the shift."""
    moments = problem.moments
    weights = moments.weights.astype(object)[:, None]
    total = int(weights.sum())
    products = moments.first - (2 * moments.first.sum(axis=0) + total) // (2 * total) * weights
    shift = max(int(np.abs(products).sum(axis=0).max()).bit_length() - _SUM_BITS, 0)
    rounded = (products + (1 << shift >> 1)) >> shift
    off = _square(products - (rounded << shift), weights[:, 0] * 4**shift)
    return rounded, math.sqrt(math.ldexp(1.01 * int(off.sum()), -_FINER)), shift


def _square(products: NDArray[np.object_], weights: NDArray[np.object_]) -> NDArray[np.object_]:
    """|w·Y|² / w of all outputs together, times 2^32 and rounded up."""
    quotients = -(-(products**2 << _FINER) // weights[:, None])
    total: NDArray[np.object_] = quotients.sum(axis=1)
    return total


def _log2(power: Fraction) -> int:
    return power.numerator.bit_length() - power.denominator.bit_length()


def _in_units(numbers: NDArray[np.object_], grid: int) -> NDArray[np.object_]:
    """Numbers in units of 2^grid, rounded up."""
    units: NDArray[np.object_] = -(-numbers >> grid) if grid >= 0 else numbers << -grid
    return units
