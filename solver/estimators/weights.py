"""Sample weights as the whole numbers that searches count in."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import _check_sample_weight

from solver.errors import InputError
from solver.exact import integer_weights


def whole_weights(
    sample_weight: ArrayLike | None,
    frame: pd.DataFrame,
    lam: Fraction,
    min_leaf_size: float | None,
) -> tuple[NDArray[np.int64], int | None]:
    """Whole weights, and the least size of a leaf in their unit."""
    try:
        smallest = None if min_leaf_size is None else Fraction(str(min_leaf_size))
    except ValueError:
        raise InputError(f"min_leaf_size = {min_leaf_size!r} must be a number") from None
    if sample_weight is None:
        return np.ones(len(frame), dtype=np.int64), _ceil(smallest)
    given = _check_sample_weight(sample_weight, frame, dtype=np.float64, ensure_non_negative=True)
    total, grid = float(given.sum()), _finest_grid(lam, len(frame))
    try:
        whole = integer_weights(given)
        exact = whole.sum() <= grid or bool(np.all(given == np.floor(given)))
    except InputError:
        if not total > 0:
            raise
        exact = False
    if exact:
        heaviest = int(given.argmax())
        factor = int(whole[heaviest]) / Fraction(repr(float(given[heaviest])))
        return whole, _ceil(None if smallest is None else smallest * factor)
    whole = np.rint(given / total * grid).astype(np.int64)
    whole[(whole == 0) & (given > 0)] = 1
    if smallest is not None:
        # What rounding took from a leaf's rows must not forbid the leaf.
        smallest = smallest * grid / Fraction(repr(total)) - Fraction(len(frame), 2)
    return whole, _ceil(smallest)


def _ceil(value: Fraction | None) -> int | None:
    return None if value is None else math.ceil(value)


def _finest_grid(lam: Fraction, n_rows: int) -> int:
    """The largest sum of weights, up to 2³², whose costs fit into 64 bits at this λ."""
    affordable = n_rows if lam == 0 else min(n_rows, int(1 / lam))
    return min(2**32, 2**59 // ((affordable + 1) * (lam.denominator + 2 * lam.numerator)))
