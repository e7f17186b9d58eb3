"""Sort the rows of a problem once by every feature."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from solver.kernels.constants import Ints
from solver.kernels.jit import helper, kernel
from solver.quantbnb.classification.simd import BLOCK
from solver.quantbnb.classification.state import Part, Table, padded_length

_LARGEST_SHORT = 2**15 - 2


@helper
def rank(table: Table, at: int) -> int:
    """The rank at a place of :attr:`Table.short_ranks` or :attr:`Table.long_ranks`."""
    if len(table.long_ranks) > 0:
        return int(table.long_ranks[at])
    return int(table.short_ranks[at])


@helper
def _set_rank(table: Table, at: int, code: int) -> None:
    """Write what :func:`rank` reads."""
    if len(table.long_ranks) > 0:
        table.long_ranks[at] = code
    else:
        table.short_ranks[at] = code


@helper
def _fill_feature(
    table: Table,
    part: Part,
    codes: NDArray[np.int32],
    order: NDArray[np.int32],
    y: Ints,
    w: Ints,
    g: int,
) -> None:
    """As :func:`fill`, of one feature ``g``."""
    p, padded, classes, digits = table.sizes
    n, blocks, first = len(y), padded // BLOCK, table.offsets[g]
    bit = np.uint64(1)
    # Rows by code, and within a code by number.
    for row in range(n):
        table.starts[first + codes[g, row] + 1] += 1
    for at in range(first, table.offsets[g + 1] - 1):
        table.starts[at + 1] += table.starts[at]
    for row in range(n):
        at = first + codes[g, row]
        order[table.starts[at]] = row
        table.starts[at] += 1
    for at in range(table.offsets[g + 1] - 1, first, -1):
        table.starts[at] = table.starts[at - 1]
    table.starts[first] = 0
    for f in range(p):
        at = (f * p + g) * padded
        for i in range(n):
            _set_rank(table, at + i, codes[f, order[i]])
        for i in range(n, padded):
            _set_rank(table, at + i, table.offsets[f + 1] - table.offsets[f] - 1)
    own = (g * p + g) * padded
    for i in range(n):
        row, block = order[i], i // BLOCK
        here = bit << np.uint64(i % BLOCK)
        k, weight = y[row], w[row]
        table.weights[g, i] = weight
        if i + 1 == n or rank(table, own + i) != rank(table, own + i + 1):
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


@kernel
def fill(
    table: Table,
    part: Part,
    codes: NDArray[np.int32],
    order: NDArray[np.int32],
    y: Ints,
    w: Ints,
    begin: int,
    end: int,
) -> None:
    """Gather all that the table holds in the orders of some features; ``part`` gets all rows.

    ``codes`` is (features, rows), ``order`` (rows,) is scratch, ``y`` and ``w`` are class and
    weight. Feature 0 comes first.
    """
    for g in range(begin, end):
        _fill_feature(table, part, codes, order, y, w, g)


def rank_type(arities: Sequence[int]) -> type[np.int16] | type[np.int32]:
    """The smallest type that holds all codes and one that is larger."""
    return np.int16 if max(arities, default=0) <= _LARGEST_SHORT else np.int32


def sizes_of(arities: Sequence[int], y: Ints, weights: Ints) -> list[int]:
    """What :attr:`Table.sizes` says."""
    digits = int(weights.max()).bit_length()
    return [len(arities), padded_length(len(y)), int(y.max()) + 1, digits]


def table_bytes(arities: Sequence[int], sizes: Sequence[int]) -> int:
    """Memory of a table, to be known before it is made."""
    p, padded, *_ = sizes
    ranks = p * p * padded * np.dtype(rank_type(arities)).itemsize
    return ranks + 8 * (p * padded + sum(arities) + p + 2 * p * (padded // BLOCK) + p + 1 + 4)


def new_table(arities: Sequence[int], sizes: Sequence[int]) -> Table:
    """A table without rows, for :func:`fill`."""
    p, padded, *_ = sizes
    blocks = padded // BLOCK
    offsets = np.cumsum([0, *(arity + 1 for arity in arities)])
    cells, short = p * p * padded, rank_type(arities) is np.int16
    return Table(
        np.empty(cells if short else 0, np.int16),  # what is not touched here costs no time
        np.empty(0 if short else cells, np.int32),
        np.zeros((p, padded), np.int64),
        np.zeros(offsets[-1], np.int64),
        offsets,
        np.zeros((p, blocks), np.uint64),
        np.zeros(p * blocks, np.int64),
        np.array(sizes, np.int64),
    )
