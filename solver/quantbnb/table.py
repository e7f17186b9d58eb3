"""Sort the rows of a problem once by every feature."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from solver.jit import kernel
from solver.quantbnb.lanes import BLOCK, GROUP
from solver.quantbnb.state import Ints, Part, Table, new_parts

_LONGEST_SHORT = 2**15 - 2


@kernel
def fill_order(codes: NDArray[Any], starts: Ints, order: NDArray[np.int32]) -> None:
    """Rows by code, and within a code by number, whatever the order the values were sorted in."""
    for row in range(len(codes)):
        code = codes[row]
        order[starts[code]] = row
        starts[code] += 1


@kernel
def fill_table(
    table: Table, part: Part, codes: NDArray[Any], order: NDArray[np.int32], y: Ints, w: Ints
) -> None:
    """Gather all that the table holds in the order of every feature; ``part`` gets all rows."""
    p, padded, classes, digits = table.sizes
    n, blocks = len(y), padded // BLOCK
    bit = np.uint64(1)
    for g in range(p):
        for f in range(p):
            at = (f * p + g) * padded
            for i in range(n):
                table.ranks[at + i] = codes[f, order[g, i]]
        own = (g * p + g) * padded
        for i in range(n):
            row, block = order[g, i], i // BLOCK
            here = bit << np.uint64(i % BLOCK)
            k, weight = y[row], w[row]
            table.labels[g, i], table.weights[g, i] = k, weight
            table.starts[table.offsets[g] + table.ranks[own + i] + 1] = i + 1
            if i + 1 == n or table.ranks[own + i] != table.ranks[own + i + 1]:
                table.tails[g, block] |= here
                if i % BLOCK == BLOCK - 1:
                    table.ends[g * blocks + block] = -1
            part.rows[g, block] |= here
            for d in range(digits):
                if (weight >> d) & 1:
                    part.planes[((g * classes + k) * digits + d) * blocks + block] |= here
            part.prefix[(g * classes + k) * blocks + block] += weight
            part.below[g, block] += weight
            if g == 0:
                part.totals[k] += weight
        for k in range(classes):
            running = 0
            for at in range((g * classes + k) * blocks, (g * classes + k + 1) * blocks):
                running += part.prefix[at]
                part.prefix[at] = running
        for block in range(1, blocks):
            part.below[g, block] += part.below[g, block - 1]


def new_table(
    x: NDArray[np.float64], y: Ints, weights: Ints
) -> tuple[Table, Part, list[NDArray[np.float64]]]:
    """Sort rows of weight 1 or more.

    Returns
    -------
    table : Table
    whole : Part
        All rows.
    values : list of (codes,)
        Distinct values of every feature, ascending.
    """
    n, p = x.shape
    padded = -(-n // (BLOCK * GROUP)) * BLOCK * GROUP
    blocks, classes, digits = padded // BLOCK, int(y.max()) + 1, int(weights.max()).bit_length()
    wide, values = np.empty((p, n), np.int32), []
    for f in range(p):
        column = np.ascontiguousarray(x[:, f])
        order = np.argsort(column)
        column = column[order]
        first = np.empty(n, bool)
        first[0] = True
        np.not_equal(column[1:], column[:-1], out=first[1:])
        wide[f, order] = np.cumsum(first) - 1
        values.append(column[first])
    largest = max(len(v) for v in values)
    codes = wide.astype(np.int16) if largest <= _LONGEST_SHORT else wide
    offsets = np.cumsum([0, *(len(v) + 1 for v in values)])
    orders = np.empty((p, n), np.int32)
    for f in range(p):
        starts = np.zeros(len(values[f]) + 1, np.int64)
        np.cumsum(np.bincount(codes[f]), out=starts[1:])
        fill_order(codes[f], starts, orders[f])
    table = Table(
        np.empty(p * p * padded, codes.dtype),
        np.full((p, padded), -1, np.int16),
        np.zeros((p, padded), np.int32),
        np.zeros(offsets[-1], np.int64),
        offsets,
        np.zeros((p, blocks), np.uint64),
        np.zeros(p * blocks, np.int64),
        np.array([p, padded, classes, digits], np.int64),
    )
    table.ranks.reshape(p * p, padded)[:, n:] = np.iinfo(codes.dtype).max
    whole = Part(*(array[0] for array in new_parts(table, 1)))
    fill_table(table, whole, codes, orders, y, weights)
    return table, whole, values
