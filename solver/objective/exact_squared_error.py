"""Exact squared errors: sums over floats as whole multiples of a power of two.

A float is a whole number times a power of two, so sums of products of floats are exact as Python
integers. The cost of a regression tree is computed here without rounding, to check the searches,
which work on floats.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from solver.errors import InputError
from solver.objective.exact_objective import Errors

TOLERANCE = Fraction(1, 2**30)
"""Up to this share of the loss of the tree without a split, losses of regression trees are taken
for equal: sums of a million floats in a search are accurate to about 2⁻³³ of it."""

LARGEST_TARGET = 1e100
"""Squares of larger numbers may overflow in a search."""

SMALLEST_TARGET = 1e-100
"""Squares of differences of smaller numbers may vanish in a search."""

_MANTISSA = 53


def tolerance_of(leaf_errors: Errors, total_weight: int) -> Fraction:
    """The difference up to which objectives count as equal; 0 in classification.

    ``leaf_errors`` are those of the tree without a split.
    """
    if isinstance(leaf_errors, int):
        return Fraction(0)
    return Fraction(float(TOLERANCE * leaf_errors / total_weight))


_LARGEST_SCALE = 400


def in_unit_range(
    values: NDArray[np.float64], weights: NDArray[np.int64]
) -> tuple[NDArray[np.float64], int]:
    """Targets for heuristics: centred and multiplied by 2ᵏ so that they are at most 1; and k.

    Their squares do not overflow, and few digits are lost. Squared errors are 4ᵏ times those of
    the targets, up to rounding. ``values`` has the shape (rows, outputs), ``weights`` (rows,).
    """
    centred = values - np.average(values, axis=0, weights=weights)
    k = -int(np.frexp(np.abs(centred).max(initial=0.0))[1])
    k = min(k, _LARGEST_SCALE)  # 4ᵏ is a float as well
    return np.ldexp(centred, k), k


class Moments:
    """Exact sums of the targets of any rows; ``values`` are float64 of shape (rows, outputs)."""

    def __init__(self, values: NDArray[np.float64], weights: NDArray[np.int64]) -> None:
        mantissas, exponents = np.frexp(values)
        least = int(exponents.min(initial=0, where=values != 0))
        whole = (mantissas * 2.0**_MANTISSA).astype(np.int64).astype(object)
        shifts = np.where(values != 0, exponents - least, 0).astype(object)
        numbers = whole << shifts
        self.unit: Fraction = Fraction(2) ** (least - _MANTISSA)
        weighted = numbers * weights.astype(object)[:, None]
        self.weights, self.first, self.second = weights, weighted, numbers * weighted

    def means(self, rows: NDArray[np.int64]) -> tuple[float, ...]:
        """The mean of every output, rounded once to a float; 0 without rows."""
        weight = int(self.weights[rows].sum())
        if not weight:
            return tuple(0.0 for _ in range(self.first.shape[1]))
        unit: Fraction = self.unit / weight
        totals = self.first[rows].sum(axis=0).tolist()
        return tuple(float(unit * int(total)) for total in totals)

    def squared_error(self, rows: NDArray[np.int64], prediction: tuple[float, ...]) -> Fraction:
        """Σ w·‖y − prediction‖² over some rows."""
        weight = int(self.weights[rows].sum())
        total = Fraction(0)
        for output, value in enumerate(prediction):
            first = self.unit * int(self.first[rows, output].sum())
            second = self.unit**2 * int(self.second[rows, output].sum())
            guess = Fraction(value)
            total += second - 2 * guess * first + guess * guess * weight
        return total


def check_targets(numbers: NDArray[np.float64], name: str) -> NDArray[np.float64]:
    """The targets of a regression, (rows × outputs).

    Raises
    ------
    InputError
        If they are not finite, too large, or all too small to be squared.
    """
    if not np.all(np.isfinite(numbers)):
        raise InputError(
            f"target {name!r} has a value that is missing or infinite; drop such rows or fill it in"
        )
    largest = float(np.abs(numbers).max(initial=0.0))
    if largest > LARGEST_TARGET:
        raise InputError(f"target {name!r} has a value beyond 1e100; measure it in a larger unit")
    if 0.0 < largest < SMALLEST_TARGET:
        raise InputError(
            f"target {name!r} has no value beyond 1e-100; measure it in a smaller unit"
        )
    return numbers + 0.0  # no negative zero, which equals 0 but has other bytes


def check_spread(values: NDArray[np.float64], weights: NDArray[np.int64], name: str) -> None:
    """Refuse targets so far from zero that the rounding of means matters, with an InputError.

    A tree predicts means rounded to floats. Half a unit in the last place costs its square, which
    must be small against the tolerance. ``values`` has the shape (rows, outputs).
    """
    varies = values.max(axis=0) > values.min(axis=0)
    half_units = np.spacing(np.abs(values).max(axis=0)[varies]) / 2
    first = values[0]  # subtracted, so that differences keep their digits
    centred = values - first
    centred -= np.average(centred, axis=0, weights=weights)
    spread = float(np.average(centred**2, axis=0, weights=weights).sum())
    if 8 * float((half_units**2).sum()) > float(TOLERANCE) * spread:
        raise InputError(
            f"target {name!r} differs in its last digits only; subtract a constant from it, e.g. "
            "its mean: the trees are the same"
        )
