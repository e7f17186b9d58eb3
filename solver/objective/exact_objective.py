"""Exact arithmetic: λ as a fraction, and objectives as 64-bit integers.

With λ = p/d and total weight W the objective ``errors/W + λ·splits`` times ``d·W`` is the integer
``d·errors + p·W·splits``. Every "optimal" is proven on such integers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, TypeAlias

import numpy as np

from solver.errors import InputError

Errors: TypeAlias = int | Fraction
"""Misclassified weight, or the squared error of regression."""

INFINITE = 2**61
"""No cost of a search reaches it (see :class:`CostScale`), and two of them do not overflow."""

_LARGEST_COST = 2 * INFINITE

# A fraction with a billion digits would take all memory before anybody could refuse it.
_HUGE_EXPONENT = re.compile(r"[eE][+-]?0*[1-9]\d{2}")


def as_lambda(value: object) -> Fraction:
    """Read λ, the price of a split, as an exact fraction.

    Parameters
    ----------
    value : str, int, float, Fraction, Decimal or numpy number
        A decimal (``"0.01"``), a fraction (``"1/958"``) or a number. A float stands for its
        shortest decimal: ``0.1`` is 1/10.

    Raises
    ------
    InputError
        If it is not a finite number, or is negative.
    """
    if isinstance(value, Decimal):
        value = str(value)
    if isinstance(value, str) and (len(value) > 100 or _HUGE_EXPONENT.search(value)):
        raise InputError(f"λ = {value[:40]!r}… has too many digits; write it with fewer")
    try:
        if isinstance(value, bool) or (isinstance(value, str) and "_" in value):
            raise ValueError  # Python reads 1e-3_0 as 1e-30
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
class CostScale:
    """The integer prices of one error and of one split.

    Parameters
    ----------
    lam : Fraction
        The price of a split in units of the loss.
    total_weight : int
        W, the sum of all row weights.

    Notes
    -----
    The search minimises ``error·errors + split·splits`` with the prices ``d·M`` and ``p·W·M + 1``.
    The extra 1, small against M, prefers fewer splits among equally good trees. ``M`` exceeds the
    splits of every tree that can be optimal, so the order of the objectives is unchanged. If λ has
    too many digits for costs of 62 bits, ``d`` and ``p·W`` are replaced by smaller integers that
    order all trees alike, see :func:`_ratios`.
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
    ) -> CostScale:
        """Choose M such that no sum of the search overflows.

        Parameters
        ----------
        leaf_errors : int
            Errors of the tree without a split. An optimal tree costs no more, so it has at most
            ``leaf_errors / (λ·W)`` splits.
        max_splits : int
            Another bound on the number of splits, e.g. distinct rows − 1.

        Raises
        ------
        InputError
            If the costs do not fit into 62 bits.
        """
        cost_scale = cls.fit(lam, total_weight, leaf_errors, max_splits)
        if cost_scale is None:
            raise InputError(
                f"λ = {lam} with a total weight of {total_weight} needs integers beyond 64 bits; "
                "write λ with fewer digits or use smaller weights"
            )
        return cost_scale

    @classmethod
    def fit(
        cls, lam: Fraction, total_weight: int, leaf_errors: Errors, max_splits: int
    ) -> CostScale | None:
        """As :meth:`build`; None if the costs do not fit into 62 bits."""
        error, split = lam.denominator, lam.numerator * total_weight
        affordable = leaf_errors * error // split if split else max_splits
        most = min(max_splits, affordable)
        choices = (
            cls(lam, total_weight, most + 1, error * (most + 1), split * (most + 1) + 1)
            for error, split in _ratios(lam, total_weight, most, leaf_errors)
        )
        return next((cost_scale for cost_scale in choices if cost_scale.fits), None)

    @classmethod
    def largest_total(cls, lam: Fraction, total_weight: int, max_splits: int) -> int:
        """A total weight for which the costs fit at this λ, whatever the errors."""
        most = max_splits if lam == 0 else min(max_splits, int(1 / lam))
        # As in _ratios: an error costs at most the denominator of λ, or of a mediant.
        error = min(lam.denominator, 2 * (most + 1)) * (most + 1)
        return int(_LARGEST_COST // 8 / (error * (1 + 2 * lam)))

    @classmethod
    def plain(cls, lam: Fraction, total_weight: int) -> CostScale:
        """CostScale that leave ties as they are: ``d`` an error and ``p·W`` a split."""
        return cls(lam, total_weight, 1, lam.denominator, lam.numerator * total_weight)

    @property
    def fits(self) -> bool:
        """Whether no sum that a search can form overflows 64 bits."""
        return 2 * (self.error * self.total_weight + 2 * self.split) < _LARGEST_COST

    @property
    def ratio(self) -> Fraction:
        """The price of a split in units of weight in error, ties aside: λ·W, or what stands for
        it."""
        return Fraction(self.split // self.tie, self.error // self.tie)

    def cost(self, errors: Errors, splits: int) -> int:
        """The integer that the search minimises."""
        return self.error * int(errors) + self.split * splits

    def target_cost(self, unavoidable: Errors) -> int:
        """The largest cost at which, with free splits, a tree has only unavoidable errors."""
        return self.error * (int(unavoidable) + 1) - 1 if self.lam == 0 else -1

    def reached(self, cost: int) -> Fraction:
        """The objective of a tree of a cost; it has fewer than M splits."""
        scaled, splits = divmod(cost, self.tie)
        errors = scaled - self.split // self.tie * splits
        return objective(errors, splits, self.error // self.tie * self.total_weight, self.lam)

    def lower_bound(self, cost: int) -> Fraction:
        """The objective that a lower bound on the integer cost proves.

        Let ``s < M`` be the fewest splits among the trees of optimal scaled objective ``c``. Then
        ``cost ≤ M·c + s``, hence ``c ≥ ⌊cost / M⌋``. If another price replaces λ, each of these
        splits may cost the difference less.
        """
        proven = Fraction(cost // self.tie, self.error // self.tie * self.total_weight)
        off, unit = self._off
        return max(proven - Fraction(off, unit), Fraction(0)) if off else proven

    @cached_property
    def _off(self) -> tuple[int, int]:
        """What a bound may lose because another price replaces λ, over a unit."""
        price, unit = self.lam.as_integer_ratio()
        error, split = self.error // self.tie, self.split // self.tie
        off = abs(price * self.total_weight * error - split * unit) * (self.tie - 1)
        return off, unit * error * self.total_weight


def _ratios(
    lam: Fraction, total_weight: int, most: int, leaf_errors: Errors
) -> Iterator[tuple[int, int]]:
    """Integer prices of an error and of a split in the proportion of 1 to λ·W.

    First the plain ones, then those in lowest terms, then those of the fewest digits that order all
    trees alike. No tree of more than ``most`` splits can be optimal.

    Notes
    -----
    Which of two trees costs less depends on the side of λ·W on which the ratio ``(errors −
    errors') / (splits' − splits)`` lies. Its denominator is at most ``most``; one more keeps larger
    trees dearer than the tree without a split. So all numbers between two neighbours in the Farey
    sequence of order ``most + 1`` order the trees alike. The mediant of the neighbours of λ·W has
    the smallest denominator of them.
    """
    yield lam.denominator, lam.numerator * total_weight
    price = lam * total_weight
    yield price.denominator, price.numerator
    if price.denominator > most + 1:
        left, right = neighbours(price, most + 1)
        yield left.denominator + right.denominator, left.numerator + right.numerator
    if most == 0:  # any split is dearer than what it could save
        yield 1, int(leaf_errors) + 1


def neighbours(number: Fraction, largest: int) -> tuple[Fraction, Fraction]:
    """The fractions next to a number > 0 on both sides whose denominators are at most ``largest``.

    The number itself must have a larger denominator.
    """
    near = number.limit_denominator(largest)
    # The other neighbour is that of ``near`` on the number's side: with near = a/b it is the
    # fraction p/q of the largest q ≤ largest with |p·b − a·q| = 1.
    a, b = near.numerator, near.denominator
    side = 1 if number > near else -1
    q = (-side * pow(a, -1, b)) % b if b > 1 else 0
    q += (largest - q) // b * b
    far = Fraction((a * q + side) // b, q)
    return (near, far) if side > 0 else (far, near)


@dataclass(frozen=True)
class SquaredCostScale:
    """CostScale of regression: a search minimises the float ``squared error + split·splits``.

    Objectives that differ by at most ``tolerance`` count as equal. A search's costs differ from the
    exact ones by at most half of it, times the total weight.
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
        """The objective of a tree of this cost, up to rounding."""
        return Fraction(cost) / self.total_weight

    def lower_bound(self, cost: float) -> Fraction:
        """The objective that a proven lower bound on the cost proves, rounded down."""
        return max(Fraction(cost) / self.total_weight - self.tolerance / 2, Fraction(0))

    def target_cost(self, unavoidable: Errors) -> int:
        """No cost that ends the search early."""
        return -1


def objective(errors: Errors, splits: int, total_weight: int, lam: Fraction) -> Fraction:
    """``errors / total_weight + λ·splits``, exactly."""
    price, unit = lam.as_integer_ratio()  # in integers: each sum of fractions would be reduced
    return Fraction(errors * unit + price * splits * total_weight, total_weight * unit)
