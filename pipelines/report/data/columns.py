"""Tables by column: values as numbers, and figures over groups of rows, for a million rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sweep.store.results import groups_of

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


def codes_of(column: pd.Series[Any]) -> Ints:
    """Numbers from 0 that are equal where the values are equal; null is a value."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        codes = column.cat.codes.to_numpy().astype(np.int64)
        return np.where(codes < 0, len(column.cat.categories), codes)
    return np.asarray(pd.factorize(column, use_na_sentinel=False)[0], np.int64)


def groups(frame: pd.DataFrame, columns: Sequence[str]) -> Ints:
    """Numbers from 0 that are equal for rows that are equal in some columns; none is left out."""
    if not len(frame):
        return np.zeros(0, np.int64)
    found = groups_of([codes_of(frame[name]) for name in columns])
    return np.asarray(pd.factorize(found)[0], np.int64)


def firsts(numbers: Ints) -> Ints:
    """Where each number from 0 stands first, given that none is left out."""
    found = np.zeros(int(numbers.max(initial=-1)) + 1, np.int64)
    found[numbers[::-1]] = np.arange(len(numbers))[::-1]
    return found


def labelled(
    frame: pd.DataFrame, columns: Sequence[str], label: Callable[..., Any]
) -> pd.Categorical:
    """A column that a function makes of others; it is asked once for each combination."""
    numbers = groups(frame, columns)
    distinct = frame[list(columns)].iloc[firsts(numbers)].astype(object)
    labels = [label(*values) for values in distinct.itertuples(index=False, name=None)]
    return spread(labels, numbers)


def spread(values: Sequence[Any], numbers: Ints) -> pd.Categorical:
    """The column of the values with these numbers; None is null."""
    codes, categories = pd.factorize(np.array(values, dtype=object))
    return pd.Categorical.from_codes(codes[numbers], pd.Index(categories, dtype=object))


class Groups:
    """Figures over groups of rows.

    Parameters
    ----------
    numbers : array of int
        The group of each row, in rising order.
    count : int
        Number of groups; some may have no rows.
    """

    def __init__(self, numbers: Ints, count: int) -> None:
        self.numbers, self.count = numbers, count
        self._starts = np.searchsorted(numbers, np.arange(count + 1))

    def tally(self, chosen: NDArray[np.bool_]) -> Ints:
        """How many rows of each group are chosen."""
        return np.bincount(self.numbers[chosen], minlength=self.count)

    def sum(self, values: Floats, chosen: NDArray[np.bool_]) -> Floats:
        """Sums of the chosen rows, without the errors of adding up (to some 1e-30 of them)."""
        kept, numbers = values[chosen], self.numbers[chosen]
        starts = np.searchsorted(numbers, np.arange(self.count + 1))
        sizes = np.diff(starts)
        total, lost = np.zeros(self.count), np.zeros(self.count)
        open_ = np.flatnonzero(sizes)
        place = 0
        while len(open_):
            value, old = kept[starts[open_] + place], total[open_]
            new = old + value
            part = new - old
            lost[open_] += (old - (new - part)) + (value - part)
            total[open_] = new
            place += 1
            open_ = open_[sizes[open_] > place]
        return np.asarray(total + lost)

    def mean(self, values: Floats) -> Floats:
        """Means of the finite values; missing where there is none."""
        finite = np.isfinite(values)
        number = self.tally(finite)
        mean = np.full(self.count, np.nan)
        np.divide(self.sum(values, finite), number, out=mean, where=number > 0)
        return mean

    def least(self, values: Floats) -> Floats:
        """Smallest finite values."""
        return np.asarray(-self.most(-values))

    def most(self, values: Floats) -> Floats:
        """Largest finite values."""
        finite = np.isfinite(values)
        found = np.full(self.count, -np.inf)
        np.maximum.at(found, self.numbers[finite], values[finite])
        return np.where(np.isfinite(found), found, np.nan)

    def deviation(self, values: Floats) -> Floats:
        """Standard deviations of samples; missing for fewer than two values."""
        finite = np.isfinite(values)
        number, mean = self.tally(finite), self.mean(values)
        squares = self.sum((values - mean[self.numbers]) ** 2, finite)
        # Equal values have a mean that may be off by a rounding.
        squares[self.most(values) == self.least(values)] = 0.0
        found = np.full(self.count, np.nan)
        several = number > 1
        found[several] = np.sqrt(squares[several] / (number[several] - 1))
        return found

    def rows(self, group: int) -> Ints:
        """The rows of a group."""
        return np.arange(self._starts[group], self._starts[group + 1])


def floats(column: pd.Series[Any]) -> Floats:
    """A column of numbers; null is not a number."""
    return column.to_numpy(dtype=np.float64, na_value=np.nan)
