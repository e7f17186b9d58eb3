"""The last splits of a tree, read from the rows themselves."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from solver.kernels.constants import Floats

Codes = NDArray[np.int32]


def leaf_of(sums: Floats) -> float:
    """Squared error of a leaf of rows with these sums, as :class:`Parts` has them."""
    total = sums.sum(axis=0)
    return max(0.0, float((total[-2] - (total[1:-2] ** 2).sum() / total[0]) + total[-1]))


def best_stump(codes: Codes, sums: Floats, least: float) -> tuple[float, int, int]:
    """The split of the least squared error.

    ``codes`` have the shape (rows, features), ``sums`` (rows, width); ``least`` is the smallest
    weight of a leaf. It returns the decrease of the squared error, the feature, and the largest
    code on the left: 0, −1, −1 if there is no split.
    """
    best, found, at = 0.0, -1, -1
    for g in range(codes.shape[1]):
        order = np.argsort(codes[:, g], kind="stable")
        gain, code = best_cut(codes[order, g], sums[order], least)
        if gain > best:
            best, found, at = gain, g, code
    return best, found, at


def best_cut(codes: Codes, sums: Floats, least: float) -> tuple[float, int]:
    """The cut of a feature of the least squared error: decrease and code; (0, −1) without one.

    ``codes``, (rows,), ascend; ``sums``, (rows, width), are in the same order.
    """
    ends = np.flatnonzero(codes[1:] != codes[:-1])
    if not len(ends):
        return 0.0, -1
    running = sums[:, :-2].cumsum(axis=0)
    total, left = running[-1], running[ends]
    weight, rest = left[:, 0], total[0] - left[:, 0]
    moment = left[:, 1:] * total[0] - total[1:] * weight[:, None]
    gains = (moment**2).sum(axis=1) / (weight * rest) / total[0]
    gains[(weight < least) | (rest < least)] = 0.0
    i = int(gains.argmax())
    return (float(gains[i]), int(codes[ends[i]])) if gains[i] > 0 else (0.0, -1)


def nearest_middle(codes: Codes, code: int) -> int:
    """The middle one of the cuts of a column that separate its rows as this one does.

    Some ``codes`` are at most ``code``, some above.
    """
    low = int(codes[codes <= code].max())
    high = int(codes[codes > code].min())
    return (low + high - 1) // 2
