"""Row weights as whole numbers, as searches count them, and the cost of rounding them."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from solver.errors import InputError
from solver.features.category_values import array_of, refuse_masked

LARGEST_ERROR = Fraction(1, 2 * 10**6)
"""Weights are refused if rounding them changes the loss of some tree by more."""

_LARGEST_TOTAL = 2**53
"""Sums of weights stay below it, so that floats hold them exactly."""


class WholeWeights(NamedTuple):
    """Row weights as whole numbers.

    Parameters
    ----------
    whole : array of int64, shape (rows,)
    scale : Fraction
        The given weights times this are the whole ones, up to rounding.
    error : Fraction
        How much the share of any set of rows in the total weight may differ from the given one; 0
        if no weight was rounded.
    """

    whole: NDArray[np.int64]
    scale: Fraction = Fraction(1)
    error: Fraction = Fraction(0)

    @classmethod
    def ones(cls, n_rows: int) -> WholeWeights:
        """Every row counts once."""
        return cls(np.ones(n_rows, np.int64))

    @property
    def positive(self) -> WholeWeights:
        """The weights without those that are 0."""
        return self._replace(whole=self.whole[self.whole > 0])


def whole_weights(weights: ArrayLike) -> WholeWeights:
    """Turn row weights into whole numbers of the same proportions.

    A weight is read by its shortest decimal. All are multiplied by their common denominator; the
    loss is a proportion, so this changes nothing. If the sum is then 2^53 or more, even after
    dividing by a common divisor, they are rounded to multiples of about 2^-52 of their sum;
    :attr:`WholeWeights.error` says what that changes.

    Raises
    ------
    InputError
        If the weights are not a list of numbers, one is negative or not finite, or all are zero.
    """
    values = _as_array(weights)
    if values.ndim != 1 or values.dtype.kind not in "biufO":
        raise InputError("weights must be numbers, one for each row, and no text or dates")
    if values.dtype.kind == "f" and not np.all(np.isfinite(values)):
        raise InputError("a weight is missing or infinite; give every row a finite weight")
    if np.any(values < 0):
        raise InputError("a weight is negative; weights must be 0 or more")
    if not np.any(values > 0):
        raise InputError("all weights are zero; at least one row must count")
    if values.dtype.kind in "bi" and int(values.max()) * len(values) < _LARGEST_TOTAL:
        return WholeWeights(values.astype(np.int64))
    distinct, positions = np.unique(values, return_inverse=True)
    # str gives the shortest decimal that is this float, also for a float32.
    exact = [Fraction(str(value)) for value in distinct]
    scale = Fraction(math.lcm(*(value.denominator for value in exact)))
    whole = [int(value * scale) for value in exact]
    rows = np.bincount(positions).tolist()
    if _total(whole, rows) >= _LARGEST_TOTAL:
        divisor = math.gcd(*whole)
        scale, whole = scale / divisor, [value // divisor for value in whole]
    error = Fraction(0)
    if (total := _total(whole, rows)) >= _LARGEST_TOTAL:
        whole, error = round_weights(whole, rows, _LARGEST_TOTAL // 2)
        scale *= Fraction(_total(whole, rows), total)
    return WholeWeights(np.array(whole, np.int64)[positions], scale, error)


def round_weights(
    weights: Sequence[int], rows: Sequence[int], total: int
) -> tuple[list[int], Fraction]:
    """Whole weights of about the same proportions and of about a given sum.

    Parameters
    ----------
    weights : sequence of int
        Of any size.
    rows : sequence of int
        How many rows have each of these weights.
    total : int
        The desired sum over all rows.

    Returns
    -------
    rounded : list of int
        None that was positive is 0.
    error : Fraction
        How much the share of any set of rows in the sum may have changed: half of the sum of all
        changes, because what some gain, others lose.
    """
    given = _total(weights, rows)
    rounded = [max((2 * w * total + given) // (2 * given), min(w, 1)) for w in weights]
    new = _total(rounded, rows)
    pairs = zip(weights, rounded, rows, strict=True)
    moved = sum(abs(b * given - a * new) * n for a, b, n in pairs)
    return rounded, Fraction(moved, 2 * given * new)


def least_weight(given: Any, scale: Fraction, error: Fraction) -> int:
    """A smallest leaf size in whole weights, given in the unit of the given weights.

    Raises
    ------
    InputError
        If the weights were rounded: then it is unknown whether a leaf is large enough.
    """
    if error and given:
        raise InputError(
            "the weights have too many digits to tell whether a leaf has min_leaf_size; round the "
            "weights to fewer digits, or leave min_leaf_size out"
        )
    return math.ceil(Fraction(str(given)) * scale)


def _as_array(weights: ArrayLike) -> NDArray[Any]:
    """Weights as they were given; those that no array of numbers holds exactly as fractions."""
    refuse_masked(weights, "weights")
    try:
        values = np.asarray(weights)
    except ValueError:  # rows of different lengths
        return np.array([""])
    except OverflowError:
        raise _too_large() from None
    if values.dtype != object and (hasattr(weights, "__array__") or values.dtype.kind != "f"):
        return values
    given = list(array_of(weights, "weights").astype(object).flat)
    if values.ndim != 1 or not all(isinstance(value, _NUMBERS) for value in given):
        return np.array([""])
    if not all(map(_is_finite, given)):
        return np.array([math.nan])
    if any(value > sys.float_info.max for value in given):
        raise _too_large()
    # Arithmetic of decimals rounds to 28 digits; their text has all.
    plain = (int(value) if isinstance(value, bool) else value for value in given)
    return np.array([Fraction(str(value)) for value in plain], dtype=object)


def _is_finite(value: Any) -> bool:
    if isinstance(value, Decimal):
        return value.is_finite()
    return not isinstance(value, (float, np.floating)) or bool(np.isfinite(value))


def _too_large() -> InputError:
    return InputError("a weight is beyond all floats; divide all weights by the same number")


_NUMBERS = (Real, Decimal)


def _total(weights: Sequence[int], rows: Sequence[int]) -> int:
    return sum(weight * n for weight, n in zip(weights, rows, strict=True))
