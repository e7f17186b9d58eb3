"""Exact arithmetic: λ as a fraction, and objectives as 64-bit integers.

With λ = p/d and total weight W the objective ``errors/W + λ·splits`` times ``d·W`` is the integer
``d·errors + p·W·splits``. Everything that is called optimal is proven on such integers.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from solver.errors import InputError

Errors: TypeAlias = int | Fraction
"""Misclassified weight, or the squared error of regression."""

_LARGEST_COST = 2**62

# A fraction with a billion digits would take all memory before anybody could refuse it.
_HUGE_EXPONENT = re.compile(r"[eE][+-]?0*[1-9]\d{2}")


def as_lambda(value: object) -> Fraction:
    """Read λ, the price of a split, as an exact fraction.

    Parameters
    ----------
    value : str, int, float, Fraction or numpy number
        A decimal (``"0.01"``), a fraction (``"1/958"``) or a number. A float stands for its
        shortest decimal representation, so that ``0.1`` is 1/10.

    Raises
    ------
    InputError
        If it is not a finite number, or is negative.
    """
    if isinstance(value, str) and (len(value) > 100 or _HUGE_EXPONENT.search(value)):
        raise InputError(f"λ = {value[:40]!r}… has too many digits; write it with fewer")
    try:
        if isinstance(value, bool):
            raise ValueError
        if isinstance(value, (float, np.floating)):
            lam = Fraction(str(value))
        elif isinstance(value, np.integer):
            lam = Fraction(int(value))
        elif isinstance(value, (str, int, Fraction)):
            lam = Fraction(value)
        else:
            raise TypeError
    except (ValueError, TypeError, ZeroDivisionError, OverflowError):
        raise InputError(
            f"λ = {value!r} is not a number; write a decimal such as 0.01 or a fraction "
            "such as 1/100"
        ) from None
    if lam < 0:
        raise InputError(f"λ = {value} is negative; the price of a split must be 0 or more")
    return lam


@dataclass(frozen=True)
class Prices:
    """The integer prices of one error and of one split.

    Parameters
    ----------
    lam : Fraction
        The price of a split in units of the loss.
    total_weight : int
        W, the sum of all row weights.

    Notes
    -----
    The search minimises ``error·errors + split·splits`` where these two are
    ``d·M`` and ``p·W·M + 1``: the extra 1, small against M, breaks ties between equally good
    trees in favour of fewer splits without a second code path. ``M`` exceeds the number of
    splits of every tree that can be optimal, so the order of the objectives is not touched.
    """

    lam: Fraction
    total_weight: int
    tie: int
    error: int
    split: int
    tolerance: ClassVar[Fraction] = Fraction(0)

    @classmethod
    def build(
        cls, lam: Fraction, total_weight: int, leaf_errors: Errors, max_splits: int
    ) -> Prices:
        """Choose M and check that no sum that the search can form overflows.

        Parameters
        ----------
        leaf_errors : int
            Errors of the tree without a split: a tree that costs more cannot be optimal, which
            bounds the number of splits by ``leaf_errors / (λ·W)``.
        max_splits : int
            Another bound on the number of splits, e.g. distinct rows − 1.

        Raises
        ------
        InputError
            If the costs do not fit into 62 bits.
        """
        p, d = lam.numerator, lam.denominator
        affordable = max_splits if p == 0 else (int(leaf_errors) * d) // (p * total_weight)
        tie = min(max_splits, affordable) + 1
        error, split = d * tie, p * total_weight * tie + 1
        if 2 * (error * total_weight + 2 * split) >= _LARGEST_COST:
            raise InputError(
                f"λ = {lam} with a total weight of {total_weight} needs integers beyond 64 bits; "
                "write λ with fewer digits or use smaller weights"
            )
        return cls(lam, total_weight, tie, error, split)

    @classmethod
    def plain(cls, lam: Fraction, total_weight: int) -> Prices:
        """Prices that leave ties as they are: ``d`` an error and ``p·W`` a split."""
        return cls(lam, total_weight, 1, lam.denominator, lam.numerator * total_weight)

    def cost(self, errors: Errors, splits: int) -> int:
        """The integer that the search minimises."""
        return self.error * int(errors) + self.split * splits

    def enough(self, unavoidable: Errors) -> int:
        """The largest cost at which, with free splits, a tree has only unavoidable errors."""
        return self.error * (int(unavoidable) + 1) - 1 if self.lam == 0 else -1

    def reached(self, cost: int) -> Fraction:
        """The objective of a tree of a cost."""
        return self.lower_bound(cost)  # a tree has fewer than M splits

    def lower_bound(self, cost: int) -> Fraction:
        """The objective that a proven lower bound on the integer cost proves.

        ``cost ≤ M·c + s`` holds for the fewest splits ``s < M`` among the trees of optimal scaled
        objective ``c``, hence ``c ≥ ⌊cost / M⌋``.
        """
        return Fraction(cost // self.tie, self.lam.denominator * self.total_weight)


@dataclass(frozen=True)
class SquaredPrices:
    """Prices of regression: a search minimises the float ``squared error + split·splits``.

    Parameters
    ----------
    lam : Fraction
    total_weight : int
    tolerance : Fraction
        Objectives that differ by no more are taken for equal. A search's costs are at most half
        of it, times the total weight, away from the exact ones.
    """

    lam: Fraction
    total_weight: int
    tolerance: Fraction

    @property
    def split(self) -> float:
        """The price of a split, in units of the squared error."""
        return float(self.lam * self.total_weight)

    @property
    def slack(self) -> float:
        """How far a search's cost may be from the exact one."""
        return float(self.tolerance * self.total_weight / 2)

    def cost(self, errors: Errors, splits: int) -> float:
        """The cost of a tree from elsewhere, rounded up: at a tie the search's own is taken."""
        return float(errors + self.lam * self.total_weight * splits) + self.slack

    def reached(self, cost: float) -> Fraction:
        """The objective of a tree of a cost, but for rounding."""
        return Fraction(cost) / self.total_weight

    def lower_bound(self, cost: float) -> Fraction:
        """The objective that a proven lower bound on the cost proves, rounded down."""
        return max(Fraction(cost) / self.total_weight - self.tolerance / 2, Fraction(0))

    def enough(self, unavoidable: Errors) -> int:
        """No cost that ends the search early."""
        return -1


def objective(errors: Errors, splits: int, total_weight: int, lam: Fraction) -> Fraction:
    """``errors / total_weight + λ·splits``, exactly."""
    return Fraction(errors) / total_weight + lam * splits


def integer_weights(weights: Sequence[Any] | NDArray[Any]) -> NDArray[np.int64]:
    """Turn row weights into integers of the same proportions.

    Weights with a decimal point are read by their shortest decimal representation and multiplied
    by their common denominator; the loss is a proportion, so a common factor changes nothing.

    Raises
    ------
    InputError
        If a weight is negative or not finite, all are zero, or no common factor fits.
    """
    values = np.asarray(weights)
    if values.ndim != 1 or values.dtype.kind not in "biuf":
        raise InputError("weights must be a one-dimensional list of numbers")
    if values.dtype.kind == "f" and not np.all(np.isfinite(values)):
        raise InputError("a weight is missing or infinite; give every row a finite weight")
    if np.any(values < 0):
        raise InputError("a weight is negative; weights must be 0 or more")
    if not np.any(values > 0):
        raise InputError("all weights are zero; at least one row must count")
    scale = weight_scale(values)
    if scale > 1:
        distinct, positions = np.unique(values, return_inverse=True)
        scaled = [int(Fraction(str(v)) * scale) for v in distinct]
        integers = [scaled[position] for position in positions.tolist()]
    else:
        integers = [int(v) for v in values.tolist()]
    if sum(integers) >= 2**53:
        raise InputError(
            "the weights have too many digits for exact arithmetic; round them to a few decimals"
        )
    return np.array(integers, dtype=np.int64)


def weight_scale(weights: Sequence[Any] | NDArray[Any]) -> int:
    """What :func:`integer_weights` multiplies finite weights by: their common denominator."""
    values = np.asarray(weights)
    if values.dtype.kind != "f" or not np.any(values != np.floor(values)):
        return 1
    # str gives the shortest decimal that is this float, also for a float32.
    return math.lcm(*(Fraction(str(v)).denominator for v in np.unique(values)))
