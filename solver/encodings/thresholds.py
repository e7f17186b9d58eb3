"""Cuts of a column of numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solver.encodings.round_thresholds import Floats, roundest_moments, roundest_numbers
from solver.features.columns import factorize_numbers
from solver.features.node_tests import ThresholdTest
from solver.features.ranks_and_cuts import Scale, ThresholdsOnDemand


@dataclass(frozen=True, eq=False)
class Distribution:
    """The distribution of the training rows over the distinct numbers of a column.

    ``values``, (m,), are the distinct numbers, ascending. For every row with a number, ``rows`` is
    its position in ``values``, ``target`` its class and ``weights`` its whole weight.
    ``has_missing``: other training rows lack the number. ``weight_scale`` made the given weights
    whole: a given weight of w counts as w rows, even if w is not whole.
    """

    values: NDArray[np.float64]
    rows: NDArray[np.signedinteger[Any]]
    target: NDArray[np.int64]
    weights: NDArray[np.int64]
    n_classes: int
    has_missing: bool
    weight_scale: Fraction = Fraction(1)

    @classmethod
    def of(
        cls,
        numbers: NDArray[np.float64],
        target: NDArray[np.int64],
        weights: NDArray[np.int64],
        n_classes: int,
        weight_scale: Fraction = Fraction(1),
    ) -> Distribution:
        """Summarise a column, NaN where a number is missing."""
        return cls.of_ranks(*factorize_numbers(numbers), target, weights, n_classes, weight_scale)

    @classmethod
    def of_ranks(
        cls,
        ranks: NDArray[np.signedinteger[Any]],
        values: NDArray[np.float64],
        target: NDArray[np.int64],
        weights: NDArray[np.int64],
        n_classes: int,
        weight_scale: Fraction = Fraction(1),
    ) -> Distribution:
        """As :meth:`of`, from what :func:`solver.features.columns.factorize_numbers` gives."""
        if not len(values) or not np.isnan(values[-1]):
            return cls(values, ranks, target, weights, n_classes, False, weight_scale)
        present = ranks < len(values) - 1
        rows = ranks[present], target[present], weights[present]
        return cls(values[:-1], *rows, n_classes, True, weight_scale)

    @cached_property
    def class_counts(self) -> NDArray[np.int64]:
        """Weight of each class at each distinct number, shape (m, classes)."""
        counts = np.zeros((len(self.values), self.n_classes), dtype=np.int64)
        np.add.at(counts, (self.rows, self.target), self.weights)
        return counts

    @cached_property
    def below(self) -> NDArray[np.int64]:
        """Weight at or below each distinct number, shape (m,)."""
        counts = np.zeros(len(self.values), dtype=np.int64)
        np.add.at(counts, self.rows, self.weights)
        return np.cumsum(counts)

    @property
    def branches_of_missing(self) -> NDArray[np.int8]:
        """By cut, the branch of a missing number: that of more training rows, branch 0 in a tie or
        if some of them lack the number."""
        upper_is_larger = 2 * self.below[:-1] < self.below[-1:]
        return (np.zeros_like(upper_is_larger) if self.has_missing else upper_is_larger).view(
            np.int8
        )


def all_cuts(numbers: Distribution, options: Mapping[str, Any]) -> NDArray[np.int64]:
    """Between all neighbouring distinct numbers: m − 1 cuts."""
    return np.arange(len(numbers.values) - 1)


def quantile_cuts(numbers: Distribution, options: Mapping[str, Any]) -> NDArray[np.int64]:
    """For j = 1 … k − 1 the cut whose share of rows below is nearest to j/k, the lower in a tie."""
    k, total, below = options["k"], int(numbers.below[-1:].sum()), numbers.below[:-1]
    if not len(below):
        return np.arange(0)
    if 2 * k * total >= 2**63:
        below = below.astype(object)  # whole numbers of any size
    # A cut is the nearest up to the middle between its share and that of the next cut. So this
    # is the last j of each cut, and a cut is wanted where it has one.
    last = np.append(k * (below[:-1] + below[1:]) // (2 * total), k - 1)
    return np.flatnonzero(last > np.append(0, last[:-1]))


def threshold_tests(
    column: str, numbers: Distribution, cuts: NDArray[np.int64], unit: str
) -> list[ThresholdTest]:
    """The tests of some cuts.

    If training rows lack the number, a missing one counts as below every threshold, and the test
    for ``missing`` separates it from small ones. Otherwise nothing is known about missing ones, and
    they follow the majority.
    """
    thresholds = _roundest(unit)(numbers.values[cuts], numbers.values[cuts + 1])
    missing = numbers.branches_of_missing[cuts]
    scale = Scale(column, thresholds, missing, unit, numbers.has_missing)
    return [scale.cut(i) for i in range(len(cuts))]


def scale_of(column: str, numbers: Distribution, unit: str) -> Scale:
    """All cuts of a column; missing values as in :func:`threshold_tests`."""
    thresholds = ThresholdsOnDemand(numbers.values, _roundest(unit))
    values = None if numbers.has_missing else numbers.values
    missing = numbers.branches_of_missing
    return Scale(column, thresholds, missing, unit, numbers.has_missing, values)


def _roundest(unit: str) -> Callable[[Floats, Floats], Floats]:
    return roundest_moments if unit == "date" else roundest_numbers
