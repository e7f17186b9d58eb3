"""The rows of a problem as a search reads them: bits, classes and weights."""

from __future__ import annotations

from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from solver.kernels.constants import GOLDEN, ONE, ZERO, Ints, Words
from solver.kernels.hash_tables import mixed
from solver.kernels.jit import helper, kernel, trailing_zeros
from solver.kernels.pass_by_reference import by_reference
from solver.problem.problem import Problem

Mask = NDArray[np.bool_]
_CODES_AT_A_TIME = 2**22


@by_reference
class Table(NamedTuple):
    """A problem, read-only. A row is a distinct pair (features, class).

    A feature with ``a`` codes has ``a − 1`` columns of bits, for its codes 1, 2, …; a row of code
    0 has none of them set.

    Parameters
    ----------
    bits : (rows, width)
        Bit ``c`` of a row is its column ``c``. Rows are sorted by class.
    columns : (features + 1,)
        Columns ``columns[f]:columns[f + 1]`` belong to feature ``f``.
    values : (features + 1,)
        Number of a feature's first code when all codes of all features are numbered.
    features : (values,)
        The feature of every such number.
    labels : (rows,)
    sources : (rows,)
        The row of ``problem.codes``.
    weights : (rows,)
        In units: divided by their greatest common divisor.
    planes : (rows,)
        Bit ``b``: whether plane ``b`` holds the row. A weight is the sum of its planes.
    scales : (planes,)
        The weight of a row in each plane; no planes if all weights are 1.
    keys : (rows,)
        A random word a row: the hash of a set of rows is the sum of their keys.
    literal_keys : (values,)
        The same for codes.
    """

    bits: Words
    columns: Ints
    values: Ints
    features: Ints
    labels: Ints
    sources: Ints
    weights: Ints
    planes: Ints
    scales: Ints
    keys: Words
    literal_keys: Words


_made: WeakKeyDictionary[Problem, tuple[Table, int]] = WeakKeyDictionary()


def tabulate(problem: Problem) -> tuple[Table, int]:
    """The table of a problem, and the weight of a unit.

    All searches of a problem share one: at many λ, making it would take longer than short searches.
    """
    made = _made.get(problem)
    if made is None:
        made = _made[problem] = _tabulated(problem)
    return made


def _tabulated(problem: Problem) -> tuple[Table, int]:
    classes, sources = np.nonzero(problem.counts.T)
    weights = problem.counts[sources, classes]
    unit = int(np.gcd.reduce(weights))
    weights = weights // unit
    values = np.zeros(problem.n_features + 1, dtype=np.int64)
    values[1:] = np.cumsum(problem.arities)
    columns = values - np.arange(len(values))
    width = max(1, (int(columns[-1]) + 63) // 64)
    bits = np.zeros((len(sources), width), dtype=np.uint64)
    # Codes lie row by row: several features are fetched at a time.
    step = max(1, _CODES_AT_A_TIME // len(sources))
    for begin in range(0, problem.n_features, step):
        block = np.ascontiguousarray(problem.codes[sources, begin : begin + step].T)
        for feature, codes in enumerate(block, start=begin):
            column = int(columns[feature])
            if problem.arities[feature] == 2:
                bits[:, column // 64] |= codes.astype(np.uint64) << np.uint64(column % 64)
                continue
            rows = np.flatnonzero(codes)
            taken = column + codes[rows].astype(np.int64) - 1
            bits[rows, taken // 64] |= ONE << (taken % 64).astype(np.uint64)
    planes, scales = _planes(weights)
    table = Table(
        bits=bits,
        columns=columns,
        values=values,
        features=np.repeat(np.arange(problem.n_features), problem.arities),
        labels=classes.astype(np.int64),
        sources=sources.astype(np.int64),
        weights=weights.astype(np.int64),
        planes=planes,
        scales=scales,
        keys=_scrambled(len(sources), 1),
        literal_keys=_scrambled(int(values[-1]), 2),
    )
    return table, unit


def _planes(weights: Ints) -> tuple[Ints, Ints]:
    """Write weights as sums over few planes.

    The planes are the bits of the weights. If that needs fewer: one plane with all rows for the
    least weight, and the bits of the rest. Repeated rows have almost equal weights.
    """
    least, bits = int(weights.min()), int(weights.max()).bit_length()
    rest = int(weights.max() - least).bit_length()
    if int(weights.max()) == 1:
        return np.zeros(len(weights), np.int64), np.zeros(0, np.int64)
    if rest + 1 < bits:
        planes, scales = 2 * (weights - least) + 1, [least, *(1 << b for b in range(rest))]
    else:
        planes, scales = weights, [1 << b for b in range(bits)]
    return planes.astype(np.int64), np.array(scales, dtype=np.int64)


def _scrambled(count: int, stream: int) -> Words:
    """Words that look random and are the same everywhere (splitmix64)."""
    with np.errstate(over="ignore"):
        word = np.arange(1, count + 1, dtype=np.uint64) + np.uint64(stream << 40)
        word *= GOLDEN
        return np.asarray(mixed.py_func(word))  # type: ignore[attr-defined]


@helper
def count_rows(table: Table, rows: Ints, n: int, totals: Ints, singles: Ints) -> None:
    """Class weights of the first ``n`` of ``rows``, and of all columns of the table among them.

    ``singles`` of classes without any of the rows are left as they were: of 300 classes a small
    branch has few.
    """
    n_columns = table.columns[len(table.columns) - 1]
    for k in range(len(totals)):
        totals[k] = 0
    for i in range(n):
        totals[table.labels[rows[i]]] += table.weights[rows[i]]
    for k in range(len(totals)):
        if totals[k] > 0:
            for column in range(n_columns):
                singles[k, column] = 0
    for i in range(n):
        row = rows[i]
        k, weight = table.labels[row], table.weights[row]
        for w in range(table.bits.shape[1]):
            word = table.bits[row, w]
            while word != ZERO:
                singles[k, w * 64 + trailing_zeros(word)] += weight
                word &= word - ONE


@kernel
def split_counts(table: Table, rows: Ints, n: int, totals: Ints, singles: Ints) -> None:
    """As :func:`count_rows`, for the caller outside of the search."""
    count_rows(table, rows, n, totals, singles)


def packed(mask: Mask) -> Words:
    """A mask as 64-bit words, the first row in the lowest bit."""
    bits = np.zeros(-(-len(mask) // 64) * 64, np.uint8)
    bits[: len(mask)] = mask
    return np.packbits(bits, bitorder="little").view("<u8").astype(np.uint64)


def unpacked(words: Words, rows: int) -> Mask:
    """The reverse of :func:`packed`."""
    return np.unpackbits(words.view(np.uint8), bitorder="little")[:rows].astype(bool)
