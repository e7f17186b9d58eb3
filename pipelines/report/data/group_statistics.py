"""Tables by column: numbers, groups of rows and exact fractions, for a million rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from solver.solution import BELOW_ONE
from sweep.store.read_results import combine_codes, dictionary_codes

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


def codes_of(column: pd.Series[Any]) -> Ints:
    """Numbers from 0 that are equal where the values are equal; null is a value."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        codes = column.cat.codes.to_numpy().astype(np.int64)
        return np.where(codes < 0, len(column.cat.categories), codes)
    return np.asarray(pd.factorize(column, use_na_sentinel=False)[0], np.int64)


def groups(frame: pd.DataFrame, columns: Sequence[str]) -> Ints:
    """Numbers from 0, without gaps, that are equal where rows are equal in these columns."""
    if not len(frame):
        return np.zeros(0, np.int64)
    found = combine_codes([codes_of(frame[name]) for name in columns])
    return np.asarray(pd.factorize(found)[0], np.int64)


def firsts(numbers: Ints) -> Ints:
    """The first place of each number; the numbers go from 0 without gaps."""
    found = np.zeros(int(numbers.max(initial=-1)) + 1, np.int64)
    found[numbers[::-1]] = np.arange(len(numbers))[::-1]
    return found


def labelled(
    frame: pd.DataFrame, columns: Sequence[str], label: Callable[..., Any]
) -> pd.Categorical:
    """A column made of others by a function, which is called once for each combination."""
    numbers = groups(frame, columns)
    return spread([label(*values) for values in distinct(frame, columns, numbers)], numbers)


def distinct(frame: pd.DataFrame, columns: Sequence[str], numbers: Ints) -> list[tuple[Any, ...]]:
    """The values that the columns have in each group of rows, in the order of the groups."""
    places = firsts(numbers)  # column by column: small tables are mostly the making of frames
    return [*zip(*(frame[n].array.take(places).astype(object) for n in columns), strict=True)]


def spread(values: Sequence[Any], numbers: Ints) -> pd.Categorical:
    """The column that has the value of each number; None is null."""
    codes, categories = pd.factorize(np.array(values, dtype=object))
    return pd.Categorical.from_codes(codes[numbers], pd.Index(categories, dtype=object))


class Groups:
    """Figures over groups of rows. ``numbers`` are the groups of the rows in rising order. Some of
    the ``count`` groups may have no rows."""

    def __init__(self, numbers: Ints, count: int) -> None:
        self.numbers, self.count = numbers, count

    def tally(self, chosen: NDArray[np.bool_]) -> Ints:
        """How many rows of each group are chosen."""
        return np.bincount(self.numbers[chosen], minlength=self.count)

    def sum(self, values: Floats, chosen: NDArray[np.bool_]) -> Floats:
        """Sums of the chosen rows, with compensated rounding errors (to about 1e-30)."""
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

    def mean_share(self, values: Floats) -> Floats:
        """Means of shares; below 1 unless all are 1."""
        mean = self.mean(values)
        return np.where(self.least(values) < 1, np.minimum(mean, BELOW_ONE), mean)

    def if_all(self, values: Floats, other: Floats) -> Floats:
        """The values of the groups that have one wherever they have the other one, so that a mean
        is over all that the group counts. Those of the other groups are missing."""
        lacks = self.tally(np.isfinite(other) & ~np.isfinite(values)) > 0
        return np.where(lacks[self.numbers], np.nan, values)

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
        # The mean of equal values may be off by a rounding error.
        squares[self.most(values) == self.least(values)] = 0.0
        found = np.full(self.count, np.nan)
        several = number > 1
        found[several] = np.sqrt(squares[several] / (number[several] - 1))
        return found


def floats(column: pd.Series[Any]) -> Floats:
    """A column of numbers; null is not a number."""
    return column.to_numpy(dtype=np.float64, na_value=np.nan)


class ExactColumns:
    """Columns of fractions, given as texts or null, that are compared exactly and all at once.

    Each different text has one number. ``ratios`` has the numerator and denominator of each number,
    ``floats`` the rounded value.
    """

    def __init__(self, *columns: pd.Series[Any]) -> None:
        codes, texts = dictionary_codes(pa.chunked_array(map(as_texts, columns), pa.string()))
        self.ratios = [_ratio(text.as_py()) for text in texts if text.is_valid]
        valid = texts.is_valid().to_numpy(zero_copy_only=False)
        known = np.where(valid, np.cumsum(valid) - 1, -1)
        self.floats: Floats = np.array([n / d for n, d in self.ratios], np.float64)
        self._ranks = _ranks(self.ratios, self.floats)
        ends = np.cumsum([len(column) for column in columns])
        self._codes = np.split(known[codes], ends[:-1])

    def codes(self, column: int = 0) -> Ints:
        """The numbers of a column's values; -1 is null."""
        return self._codes[column]

    def ranks(self, column: int = 0) -> Ints:
        """Numbers in the order of a column's fractions; null is -1."""
        return np.asarray(np.append(self._ranks, -1)[self._codes[column]])


def lam_ranks(frame: pd.DataFrame) -> Ints:
    """Numbers in the order of the exact λ of some rows; floats would be equal for close ones."""
    return ExactColumns(frame["lam_exact"]).ranks()


def as_texts(column: pd.Series[Any]) -> pa.Array:
    """A column of texts as Arrow has it, without categories."""
    found = pa.array(column, from_pandas=True)
    whole = found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found
    return whole.cast(pa.string())


def _ratio(text: str) -> tuple[int, int]:
    numerator, _, denominator = text.partition("/")
    try:
        return int(numerator), int(denominator or 1)
    except ValueError:
        return Fraction(text).as_integer_ratio()


def _ranks(ratios: Sequence[tuple[int, int]], near: Floats) -> Ints:
    """Ranks by size. Rounding to floats keeps the order, so only fractions with equal floats have
    to be compared exactly."""
    order = np.argsort(near, kind="stable")
    close = np.flatnonzero(np.diff(near[order]) == 0)
    for start, stop in _runs(close):
        order[start:stop] = sorted(order[start:stop], key=lambda i: Fraction(*ratios[i]))
    higher = np.diff(near[order]) > 0
    for place in close:
        low, high = ratios[order[place]], ratios[order[place + 1]]
        higher[place] = low[0] * high[1] < high[0] * low[1]
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.concatenate([[0], np.cumsum(higher)])[: len(order)]
    return ranks


def _runs(close: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Ranges of places, each close to the next one."""
    found: list[tuple[int, int]] = []
    for place in close.tolist():
        if found and found[-1][1] == place + 1:
            found[-1] = (found[-1][0], place + 2)
        else:
            found.append((place, place + 2))
    return found


def least_of(ranks: Ints, groups: Ints) -> Ints:
    """For each row: a row of its group with the least rank."""
    order = np.lexsort((ranks, groups))
    first = np.ones(len(order), bool)
    first[1:] = groups[order][1:] != groups[order][:-1]
    least = order[first][np.cumsum(first) - 1]
    found = np.empty(len(order), np.int64)
    found[order] = least
    return found


def differences(
    exact: ExactColumns, first: Ints, second: Ints
) -> tuple[Floats, NDArray[np.object_]]:
    """First value − second value, as floats and as texts; values are given by their numbers. Each
    different pair is computed once."""
    same = first == second
    above, texts = np.zeros(len(first)), np.full(len(first), "0", dtype=object)
    size = len(exact.ratios)
    distinct, which = np.unique(first[~same] * size + second[~same], return_inverse=True)
    found = []
    for pair in distinct.tolist():
        (a, b), (c, d) = exact.ratios[pair // size], exact.ratios[pair % size]
        found.append(Fraction(a * d - c * b, b * d))
    above[~same] = np.array([float(value) for value in found], np.float64)[which]
    texts[~same] = np.array([str(value) for value in found], dtype=object)[which]
    return above, texts


def mean_texts(column: pd.Series[Any], groups: Ints, count: int) -> list[str | None]:
    """The exact mean of each group of fractions as a text; null if a value is missing or there is
    none. The groups are in rising order."""
    exact = ExactColumns(column)
    starts = np.searchsorted(groups, np.arange(count + 1)).tolist()
    numbers = exact.codes().tolist()
    known: dict[tuple[int, ...], str | None] = {}
    found: list[str | None] = []
    for group in range(count):
        own = tuple(numbers[starts[group] : starts[group + 1]])
        if own not in known:
            known[own] = (
                None if not own or -1 in own else str(_mean([exact.ratios[i] for i in own]))
            )
        found.append(known[own])
    return found


def _mean(values: Sequence[tuple[int, int]]) -> Fraction:
    """Fractions with equal denominators are added first: that is most of the work."""
    sums: dict[int, int] = {}
    for numerator, denominator in values:
        sums[denominator] = sums.get(denominator, 0) + numerator
    total = sum((Fraction(n, d) for d, n in sums.items()), Fraction(0))
    return total / len(values)
