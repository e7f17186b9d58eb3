"""The cost of a tree of cuts on the rows it was found on."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from solver.quantbnb.paper.state import Table
from solver.trees.tree import Shape


class Priced(NamedTuple):
    """A tree without empty leaves, its loss and its splits."""

    shape: Shape
    loss: float
    splits: int


def priced(table: Table, first_cut: NDArray[np.int64], shape: Shape) -> Priced:
    """The loss of a tree; splits that leave all rows together are taken out."""
    return _priced(table, first_cut, shape, np.arange(len(table.weights)))


def _priced(
    table: Table, first_cut: NDArray[np.int64], shape: Shape, rows: NDArray[np.int64]
) -> Priced:
    if isinstance(shape, int):
        return Priced(-1, _leaf_loss(table, rows), 0)
    number, (left, right) = shape
    assert isinstance(number, int)  # no test on several columns
    feature = int(np.searchsorted(first_cut, number, side="right")) - 1
    below = table.codes[feature, rows] <= number - first_cut[feature]
    if below.all():
        return _priced(table, first_cut, left, rows)
    if not below.any():
        return _priced(table, first_cut, right, rows)
    one = _priced(table, first_cut, left, rows[below])
    two = _priced(table, first_cut, right, rows[~below])
    kept = (number, (one.shape, two.shape))
    return Priced(kept, one.loss + two.loss, 1 + one.splits + two.splits)


def _leaf_loss(table: Table, rows: NDArray[np.int64]) -> float:
    """Misclassified weight, or the squared error around the mean."""
    weights = table.weights[rows]
    if not len(rows):
        return 0.0
    if table.values.shape[1] == 0:
        counts = np.bincount(table.labels[rows], weights=weights)
        return float(weights.sum() - counts.max())
    values = table.values[rows]
    around = values - np.average(values, axis=0, weights=weights)
    return float((weights[:, None] * around * around).sum())
