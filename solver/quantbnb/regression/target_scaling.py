"""Targets as whole numbers, so that their sums are exact; and what that costs in accuracy.

Squared errors do not change when a constant is subtracted from an output, so the outputs are
centred. Then they are multiplied by a power of two, 2^k, and rounded to whole numbers Y, with the
largest k that Σ w·|Y| ≤ 2⁵² allows. Then all sums of w and w·Y are whole numbers below 2⁵³, which
float64 adds exactly in any order. Each w·|Y|² is kept as two numbers. The first are multiples of a
grid of which their sum has at most 2⁵², so they add exactly too; the second are the rests, less
than one step of the grid each. Only if weights are so large that this is less accurate are the sums
rounded, and not Y.

Notes
-----
How far the computed cost of any tree may be off, in terms of Q, the squared error of the tree
without a split, u = 2⁻⁵³, W the total weight, w₀ the least weight of a row, m outputs and n rows:

*   The root of a tree's squared error is the distance of the targets from a subspace, so it
    changes by at most as much as the targets: by d with d² = Σ w·|Y − 2^k·y|². The squared error
    changes by at most 2·√Q·d + d².
*   A leaf is Σ w|Y|² − |Σ wY|² / w: the latter is at most the former, and rounded m + 3 times. The
    gain of a stump is |sW − Sw|² / (w(W − w)W), where sW and Sw are rounded: by the inequality of
    Cauchy and Schwarz the error is at most (8·√(W/w₀) + m + 8)·u times the squared error of the
    stump's rows, and the squared errors of all parts together are at most Q.
*   If sums are rounded, a running sum is off by at most n·u·Σ w|Y| ≤ n·u·√(Q·W). That counts with
    a mean of at most max |Y|, twice, for two sums: 4·n·u·√(Q·W)·max |Y|; and the sum of w·|Y|² is
    off by n·u·Q.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from solver.kernels.constants import Floats

_EXACT_BITS = 52
_UNIT = 2.0**-53
_SPLITTER = 2.0**27 + 1


class Targets(NamedTuple):
    """Targets in the units of the search.

    Parameters
    ----------
    sums : (rows, outputs + 3)
        w, w·Y of every output, and w·|Y|² in two parts.
    exponent : int
        k: a squared error of the search is one in the user's units times 4^k.
    error : float
        How far a computed cost may be off, in units of the search.
    """

    sums: Floats
    exponent: int
    error: float


def new_targets(values: Floats, weights: NDArray[np.int64]) -> Targets:
    """Centre and scale the outputs.

    ``values``, (rows, outputs), are at most 1e100; ``weights``, (rows,), whole numbers from 1 with
    a sum of at most 2^53.
    """
    n, m = values.shape
    w = weights.astype(np.float64)
    total = float(int(weights.sum()))
    centre = np.array([float((w * column).sum()) / total for column in values.T])
    y = values - np.clip(centre, values.min(axis=0), values.max(axis=0))
    largest = float(np.abs(y).max())
    if largest == 0.0:
        return Targets(np.column_stack((w, np.zeros((n, m + 2)))), 0, 0.0)
    # From here on the largest is between 1/2 and 1, so that squares do not vanish.
    shift = math.frexp(largest)[1]
    y = np.ldexp(y, -shift)
    squared_error = float((w[:, None] * y * y).sum())
    k = _EXACT_BITS - math.frexp(float((w[:, None] * np.abs(y)).sum(axis=0).max()))[1]
    targets = _scaled(y, w, k, 0.0)
    # What the sums of numbers that are not rounded would be off by.
    furthest = math.sqrt(squared_error * total)
    summed = n * _UNIT * (4 * furthest + squared_error)
    if targets.error > math.ldexp(2 * summed, 2 * k):
        targets = _scaled(y, w, _EXACT_BITS, summed)
    return targets._replace(exponent=targets.exponent - shift)


def _scaled(y: Floats, w: Floats, k: int, summed: float) -> Targets:
    """Targets times 2^k, where costs are off by ``summed`` for sums, in the units of ``y``."""
    m = y.shape[1]
    scaled = np.ldexp(y, k)
    whole = np.rint(scaled)
    first, second = _weighted_squares(whole, w)
    squared_error = float(first.sum())
    # Centring has rounded as well, by half a unit in the last place of the difference.
    moved = math.sqrt(float((w[:, None] * (whole - scaled) ** 2).sum()))
    moved += _UNIT * math.sqrt(squared_error)
    rounded = (8 * math.sqrt(w.sum() / w.min()) + 2 * m + 16) * _UNIT * squared_error
    error = 2 * math.sqrt(squared_error) * moved + moved * moved + rounded
    sums = np.column_stack((w, w[:, None] * whole, first, second))
    return Targets(sums, k, 1.0001 * (error + math.ldexp(summed, 2 * k)))


def _weighted_squares(whole: Floats, w: Floats) -> tuple[Floats, Floats]:
    """w·|Y|² as multiples of a grid on which they add exactly, and the rests."""
    parts = []
    for column in whole.T:
        square, error = _product(column, column)
        product, rest = _product(square, w)
        parts.append((product, rest + error * w))
    most = sum(float(product.sum()) for product, _ in parts)
    grid = math.frexp(most)[1] - _EXACT_BITS + 1
    first, second = np.zeros(len(w)), np.zeros(len(w))
    for product, rest in parts:
        on_grid = np.ldexp(np.rint(np.ldexp(product, -grid)), grid)
        first += on_grid
        second += (product - on_grid) + rest
    return first, second


def _product(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """The product of floats and its rounding error, exactly (Dekker 1971)."""
    high_a, high_b = (_SPLITTER * x - (_SPLITTER * x - x) for x in (a, b))
    low_a, low_b = a - high_a, b - high_b
    product = a * b
    error = low_a * low_b - (((product - high_a * high_b) - low_a * high_b) - high_a * low_b)
    return product, error
