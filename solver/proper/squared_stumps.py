"""Squared errors of the regions of a rule, in whole numbers; the twin of ``stumps``.

Sums over rows are exact, so those of a rule are made from those of the rule before it and the rows
that the two send to different sides: for cuts of a column, one value's rows. How costs are rounded
is told in :mod:`solver.proper.squared_costs`.
"""

from __future__ import annotations

import numpy as np

from solver.kernels.constants import Ints, Words
from solver.kernels.jit import helper, trailing_zeros
from solver.objective.exact_objective import INFINITE
from solver.proper.state import (
    EXACT,
    FAR,
    FIRST,
    HEAVY,
    RELAXED,
    RULES,
    SQUARED,
    Levels,
    Params,
    Scratch,
    Squares,
)


@helper
def _saved(rows: Squares, inside: Ints) -> int:
    """|Σ w·Y|² / w: what w·|Y|² exceeds the squared error by; rounded down."""
    squares = 0.0
    for column in range(FIRST, len(inside)):
        total = np.float64(inside[column])
        squares += total * total
    return int(squares * rows.unit / np.float64(inside[HEAVY]))


@helper
def _saved_by_rest(rows: Squares, whole: Ints, inside: Ints) -> int:
    """As :func:`_saved`, of the rows of a whole that are not in a part of it."""
    squares = 0.0
    for column in range(FIRST, len(inside)):
        total = np.float64(whole[column] - inside[column])
        squares += total * total
    return int(squares * rows.unit / np.float64(whole[HEAVY] - inside[HEAVY]))


@helper
def squared_error(rows: Squares, inside: Ints) -> int:
    """The squared error of a leaf, from the sums of its rows; rounded up, so not negative."""
    return int(inside[SQUARED]) - _saved(rows, inside)


@helper
def weight_of(rows: Squares, inside: Ints) -> int:
    return int(inside[HEAVY])


@helper
def far_of(rows: Squares, inside: Ints) -> int:
    return int(inside[FAR])


@helper
def price_of_far(params: Params, rows: Squares, far: int) -> int:
    """What other predictions for rows of this ``FAR`` cost at most."""
    return int(min(far, INFINITE >> rows.shift) << rows.shift)


@helper
def _add_row(rows: Squares, row: int, sign: int, into: Ints) -> None:
    for column in range(len(into)):
        into[column] += sign * rows.sums[row, column]


@helper
def _add_word(rows: Squares, change: np.uint64, mask: np.uint64, w: int, into: Ints) -> None:
    """Add the changed rows of a word that are in a mask, and take the others away."""
    while change != 0:
        bit = trailing_zeros(change)
        sign = 1 if (mask >> np.uint64(bit)) & np.uint64(1) != 0 else -1
        _add_row(rows, 64 * w + bit, sign, into)
        change &= change - np.uint64(1)


@helper
def sum_rows(rows: Squares, region: Words, into: Ints) -> None:
    """The sums of a region's rows."""
    for column in range(len(into)):
        into[column] = 0
    for w in range(len(region)):
        _add_word(rows, region[w], region[w], w, into)


@helper
def sum_next(rows: Squares, levels: Levels, at: int, number: int, mask: Words) -> None:
    """The sums of the rows in a mask, from those of the rule before the given number."""
    if number == 0:
        sum_rows(rows, mask, levels.inside[at, 0])
        return
    into = levels.inside[at, number]
    for column in range(len(into)):
        into[column] = levels.inside[at, number - 1, column]
    for w in range(len(mask)):
        _add_word(rows, mask[w] ^ levels.masks[at, number - 1, w], mask[w], w, into)


@helper
def far_between(rows: Squares, one: Words, other: Words) -> int:
    """``FAR`` of the rows that are in one of two masks."""
    far = 0
    for w in range(len(one)):
        change = one[w] ^ other[w]
        while change != 0:
            far += rows.sums[64 * w + trailing_zeros(change), FAR]
            change &= change - np.uint64(1)
    return far


@helper
def squared_error_of_stump(rows: Squares, scratch: Scratch, inside: Ints) -> int:
    """Squared error of a split into these rows and the others of ``scratch.whole``."""
    whole = scratch.whole
    saved = _saved(rows, inside) + _saved_by_rest(rows, whole, inside)
    return int(whole[SQUARED]) - saved


@helper
def begin_sweep(rows: Squares, levels: Levels, scratch: Scratch, at: int, chosen: int) -> None:
    """Sums of the sides of a rule; the rows of its mask are the current side."""
    mask, side = levels.masks[at, chosen], scratch.side[0]
    sum_rows(rows, levels.region[at], scratch.whole)
    for column in range(len(scratch.whole)):
        scratch.counts[column] = 0
        scratch.above[column] = levels.inside[at, chosen, column]
        scratch.below[column] = scratch.whole[column] - scratch.above[column]
    for w in range(len(mask)):
        side[w] = mask[w]


@helper
def sum_shared(rows: Squares, levels: Levels, scratch: Scratch, at: int, q: int) -> None:
    """Make ``scratch.counts`` of rule q, from that of the rule before it."""
    masks, side = levels.masks[at], scratch.side[0]
    for w in range(len(side)):
        before = masks[q - 1, w] if q > 0 else np.uint64(0)
        change = (masks[q, w] ^ before) & side[w]
        _add_word(rows, change, masks[q, w], w, scratch.counts)
    levels.shared[q] = scratch.counts[FAR]


@helper
def sweep_squares(
    params: Params, rows: Squares, levels: Levels, scratch: Scratch, at: int, chosen: int
) -> None:
    """As :func:`solver.proper.stumps.sweep_stumps`."""
    begin_sweep(rows, levels, scratch, at, chosen)
    counts, other, stump = scratch.counts, scratch.other, scratch.stump
    above, below, inside = scratch.above, scratch.below, levels.inside[at]
    frame = levels.frame[at]
    least = params.min_leaf if frame[EXACT] and not frame[RELAXED] else 1
    best_above, best_below = -1, -1
    stump[1], stump[3] = -1, -1
    for q in range(frame[RULES]):
        sum_shared(rows, levels, scratch, at, q)
        if counts[HEAVY] >= least and above[HEAVY] - counts[HEAVY] >= least:
            saved = _saved(rows, counts) + _saved_by_rest(rows, above, counts)
            if saved > best_above:
                best_above = saved
                stump[1] = q
        for column in range(len(other)):
            other[column] = inside[q, column] - counts[column]
        if other[HEAVY] >= least and below[HEAVY] - other[HEAVY] >= least:
            saved = _saved(rows, other) + _saved_by_rest(rows, below, other)
            if saved > best_below:
                best_below = saved
                stump[3] = q
    stump[0] = params.split + above[SQUARED] - best_above if stump[1] >= 0 else INFINITE
    stump[2] = params.split + below[SQUARED] - best_below if stump[3] >= 0 else INFINITE
