"""What trees cost in the whole numbers that the search counts in: squared errors.

The targets are centred, multiplied by a power of two and rounded to whole numbers Y, so that sums
of w·Y are exact 64-bit integers. The unit of cost is a power of two such that Σ w·|Y|² is between
2⁵⁴ and 2⁵⁵ units. A leaf costs Σ w·|Y|² − |Σ w·Y|² / w. The squares are rounded up to whole units,
once for all equal rows; what is subtracted is rounded down, once a leaf. So a computed cost is
never less than the exact one. The search compares and adds whole numbers, as in classification.

Notes
-----
How far the computed cost of a tree may be above the exact one of the targets Y, in units, with
u = 2⁻⁵³ and m outputs:

*   The squares of a row: less than 1.
*   Floats round |Σ w·Y|² · unit / w at most m + 5 times, and the unit is taken (m + 8)·2·u less
    than it is, so that the result is not above the exact one. It is below it by less than
    (3·m + 22)·u of it, and by the inequality of Cauchy and Schwarz it is at most Σ w·|Y|² of the
    leaf's rows: so each row counts with (3·m + 22)·u of its squares.
*   Rounding down: less than 1 for each leaf.

The error of a tree is then the sum of a part e of every row, and of 1 for each leaf. So it is the
same for all trees of a region with equally many leaves, and it adds up over the sides of a rule.
Bounds of the search compare such trees. If ``far`` of a row, see
:func:`solver.proper.squared_stumps.bound_by_sides`, is raised by its e, a bound exceeds the exact
cost of no tree by more than the error of that tree.

With whole numbers Y instead of the targets, the squared error changes by at most 2·√Q·d + d²,
where d² = m·W/4 and Q is that of the tree without a split: it is the square of the distance of the
targets from a subspace, which changes by at most as much as the targets, by d.

A split costs its price and more than twice all this. So among trees that are equally good up to
rounding one of the fewest splits is found.
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

_SUM_BITS, _SQUARE_BITS, _FAR_BITS = 61, 55, 60
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
        If rows or weights are too many for the tolerance.
    """

    unit = error = 1

    def __init__(self, problem: Problem, cost_scale: SquaredCostScale, splits: int) -> None:
        self._group, self.first = equal_rows(problem.codes)
        self._weights = problem.counts[:, 0].astype(object)
        self._targets, shift = _whole(problem)
        squares = (self._targets**2).sum(axis=1) * self._weights
        self._grid = int(squares.sum()).bit_length() - _SQUARE_BITS
        self.exponent = 2 * (shift + _log2(problem.moments.unit)) + self._grid
        self.rows = self._sums(squares)
        sums = self.rows.sums.sum(axis=0).tolist()
        saved = sum(one * one for one in sums[FIRST:]) / sums[HEAVY]
        self.leaf = sums[SQUARED] - int(saved * self.rows.unit)
        self.surplus = max(1, self.leaf // 8)
        self.split = self._price(cost_scale, shift > 0, min(splits, len(self.first) - 1))

    def _sums(self, squares: NDArray[np.object_]) -> Squares:
        y, w, outputs = self._targets, self._weights, self._targets.shape[1]
        squares = _in_units(self._together(squares), self._grid)
        errors = 2 + ((3 * outputs + 22) * squares >> 53)
        self._error = int(errors.sum())
        farthest = np.maximum(y.max(axis=0) - y, y - y.min(axis=0))
        far = self._together((farthest**2).sum(axis=1) * w)
        far = _in_units(far, self._grid) + errors
        shift = max(int(far.sum()).bit_length() - _FAR_BITS, 0)
        firsts = [self._together(column * w) for column in y.T]
        columns = self._together(w), _in_units(far, shift), squares, *firsts
        unit = math.ldexp(1 - (outputs + 8) * 2.0**-52, -self._grid)
        return Squares(np.column_stack(columns).astype(np.int64), unit, shift)

    def _together(self, numbers: NDArray[np.object_]) -> NDArray[np.object_]:
        """Sums over equal rows."""
        sums = np.zeros(len(self.first), object)
        np.add.at(sums, self._group, numbers)
        return sums

    def _price(self, cost_scale: SquaredCostScale, rounded: bool, splits: int) -> int:
        """What a split costs."""
        error, total = self._error + splits + 1, int(self._weights.sum())
        if rounded:
            moved = math.sqrt(total * self._targets.shape[1]) / 2
            root = math.sqrt(math.ldexp(float(self.leaf), self._grid)) + moved
            error += math.ceil(math.ldexp(1.01 * (2 * root + moved) * moved, -self._grid))
        # The price itself is rounded by less than ten units.
        spare = int(math.ldexp(cost_scale.slack, -self.exponent)) - error - 10 * splits
        if self.leaf > 0 and splits > 0 and spare < splits:
            raise InputError(
                f"{len(self._weights)} rows of a total weight of {total} are too many for sums as "
                "accurate as regression needs; take fewer rows, or smaller weights"
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
        for output in range(self._targets.shape[1]):
            groups += self._best_groups(self._targets[:, output], splits)
        costs = (int(groups[k]) + (k + 1) * self.split for k in range(splits))
        return min(costs, default=INFINITE)

    def _best_groups(self, y: NDArray[np.object_], splits: int) -> NDArray[np.float64]:
        """What the best 2, 3, … N + 1 groups of numbers cost, rounded down: they are intervals."""
        values, places = np.unique(y.astype(np.int64), return_inverse=True)
        if len(values) > _GROUPED:
            return np.zeros(splits)
        largest = float(max(1, np.abs(values).max()))
        weights = np.bincount(places, self._weights.astype(float))
        numbers = values / largest
        count, first, second = (
            np.concatenate(([0.0], np.cumsum(weights * numbers**power))) for power in range(3)
        )
        # Each sum is rounded once for each of its terms.
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


def _whole(problem: Problem) -> tuple[NDArray[np.object_], int]:
    """Targets as whole numbers of 2^shift of the unit of ``problem.moments``; and the shift."""
    moments = problem.moments
    weights = moments.weights.astype(object)
    total = int(weights.sum())
    numbers = moments.first // weights[:, None]
    numbers = numbers - (2 * moments.first.sum(axis=0) + total) // (2 * total)
    largest = int((np.abs(numbers) * weights[:, None]).sum(axis=0).max())
    shift = max(largest.bit_length() - _SUM_BITS, 0)
    return (numbers + (1 << shift >> 1)) >> shift, shift


def _log2(power: Fraction) -> int:
    return power.numerator.bit_length() - power.denominator.bit_length()


def _in_units(numbers: NDArray[np.object_], grid: int) -> NDArray[np.object_]:
    """Numbers in units of 2^grid, rounded up."""
    units: NDArray[np.object_] = -(-numbers >> grid) if grid >= 0 else numbers << -grid
    return units
