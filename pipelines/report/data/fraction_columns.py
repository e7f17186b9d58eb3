"""Columns of fractions, compared exactly and all at once."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from pipelines.report.data.columns import Floats, Ints
from sweep.store.results import codes_of as codes_and_values


class Exact:
    """Some columns of fractions; what is equal has one number, and numbers have an order.

    Parameters
    ----------
    columns : sequence of Series
        Fractions as texts, or null.

    Attributes
    ----------
    ratios : list of (int, int)
        Numerator and denominator of each value.
    floats : array of float
        The values, rounded.
    """

    def __init__(self, *columns: pd.Series[Any]) -> None:
        codes, texts = codes_and_values(pa.chunked_array(map(_texts, columns), pa.string()))
        self.ratios = [_ratio(text.as_py()) for text in texts if text.is_valid]
        # Null comes wherever it is met first.
        known = np.cumsum(texts.is_valid().to_numpy(zero_copy_only=False)) - 1
        known[~texts.is_valid().to_numpy(zero_copy_only=False)] = -1
        self.floats: Floats = np.array([n / d for n, d in self.ratios], np.float64)
        self._ranks = _ranks(self.ratios, self.floats)
        ends = np.cumsum([len(column) for column in columns])
        self._codes = np.split(known[codes], ends[:-1])

    def codes(self, column: int = 0) -> Ints:
        """The numbers of a column's values; -1 is null."""
        return self._codes[column]

    def ranks(self, column: int = 0) -> Ints:
        """Numbers that compare as a column's fractions do; null is -1, below all of them."""
        return np.asarray(np.append(self._ranks, -1)[self._codes[column]])


def _texts(column: pd.Series[Any]) -> pa.Array:
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
    """Places by size. The nearest float never falls as a fraction grows, so only those of equal
    floats have to be compared as fractions."""
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
    """Ranges of places that are each close to the next one."""
    found: list[tuple[int, int]] = []
    for place in close.tolist():
        if found and found[-1][1] == place + 1:
            found[-1] = (found[-1][0], place + 2)
        else:
            found.append((place, place + 2))
    return found


def least_of(ranks: Ints, groups: Ints) -> Ints:
    """For each row a row of its group with the least rank."""
    order = np.lexsort((ranks, groups))
    first = np.ones(len(order), bool)
    first[1:] = groups[order][1:] != groups[order][:-1]
    least = order[first][np.cumsum(first) - 1]
    found = np.empty(len(order), np.int64)
    found[order] = least
    return found


def differences(exact: Exact, first: Ints, second: Ints) -> tuple[Floats, NDArray[np.object_]]:
    """What some values are above others, as floats and as texts, both given as numbers of values.

    Each different pair is worked out once.
    """
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
    """The exact mean of each group as a text; null if a value is missing, or all are.

    Parameters
    ----------
    column : Series
        Fractions as texts, or null.
    groups : array of int
        In rising order.
    """
    exact = Exact(column)
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
    """Equal denominators are added up first: they are most of the work."""
    sums: dict[int, int] = {}
    for numerator, denominator in values:
        sums[denominator] = sums.get(denominator, 0) + numerator
    total = sum((Fraction(n, d) for d, n in sums.items()), Fraction(0))
    return total / len(values)
