"""Supervised cuts by the minimum description length principle (MDLP).

U. M. Fayyad and K. B. Irani, "Multi-interval discretization of continuous-valued attributes for
classification learning", IJCAI 1993. A range of numbers is cut where the class entropy of the
parts is least. The parts are cut again while a cut pays for its description.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solver.encodings.thresholds import Distribution

_TOLERANCE = 1e-9
"""Below this, a difference of entropies is rounding, and cuts count as equally good."""


def mdlp_cuts(numbers: Distribution, options: Mapping[str, Any]) -> NDArray[np.int64]:
    """The cuts that MDLP accepts, ascending; the lowest of equally good ones."""
    totals = np.zeros((len(numbers.values) + 1, numbers.n_classes), dtype=np.int64)
    np.cumsum(numbers.class_counts, axis=0, out=totals[1:])
    cuts: list[int] = []
    pending = [(0, len(numbers.values))]
    while pending:
        start, end = pending.pop()
        cut = _best_cut(totals[start : end + 1] - totals[start], numbers.weight_scale)
        if cut is not None:
            cuts.append(start + cut)
            pending += [(start, start + cut + 1), (start + cut + 1, end)]
    return np.array(sorted(cuts), dtype=np.int64)


def _best_cut(totals: NDArray[np.int64], scale: Fraction) -> int | None:
    """The position of the best cut of a range, or None if no cut pays.

    ``totals``, of shape (m + 1, classes), is the weight of each class among the first 0, 1, …, m
    distinct numbers, and ``scale`` the factor of these weights. The price of a cut depends on the
    number of rows, which is the sum of the given weights.
    """
    if len(totals) < 3:
        return None
    whole, left = totals[-1], totals[1:-1]
    right = whole - left
    information = _information(left) + _information(right)
    cut = int(np.flatnonzero(information <= information.min() + _TOLERANCE * whole.sum())[0])
    weight = float(whole.sum())
    parts = [whole, left[cut], right[cut]]
    bits = [float(_information(part)) for part in parts]
    entropies = [b / float(part.sum()) for b, part in zip(bits, parts, strict=True)]
    classes = [int(np.count_nonzero(part)) for part in parts]
    n_rows = float(int(whole.sum()) / scale)
    gain = (bits[0] - bits[1] - bits[2]) / weight
    terms = [k * entropy for k, entropy in zip(classes, entropies, strict=True)]
    # log2(3^k − 2), without the overflow at many classes.
    choices = classes[0] * np.log2(3.0) + np.log2(1.0 - 2.0 * 3.0 ** -classes[0])
    # Rows of small weights may be fewer than two together, and still there is one cut or more.
    cost = np.log2(max(n_rows - 1, 1.0)) + choices - (terms[0] - terms[1] - terms[2])
    return cut if gain > cost / n_rows + _TOLERANCE else None


def _information(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Entropy in bits times weight, over the last axis."""
    weight = counts.sum(axis=-1)
    return np.asarray(_xlog2(weight) - _xlog2(counts).sum(axis=-1))


def _xlog2(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.asarray(counts * np.log2(np.maximum(counts, 1)))
