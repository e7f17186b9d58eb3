"""The arrays of the paper's search: rows, parameters, boxes of trees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from solver.kernels.pass_by_reference import by_reference

Ints = NDArray[np.int32]
Costs = NDArray[np.float64]
Counts = NDArray[np.int64]
Flags = NDArray[np.bool_]

BOUNDS = ("w0", "w1", "w2", "l2")
"""The lower bounds of Section 3.2, from the cheapest to the tightest (Lemma 3.2)."""
W0, W1, W2, L2 = range(4)

ITERATIONS, BOXES, STUMPS, ROWS, EFFORT = range(5)
"""What is counted: cuts and terms weighed, boxes taken up, ``L1(I, f)`` computed and the rows read
for them; and the effort, which is limited in a slice: all rows that were looked at."""


@by_reference
class Table(NamedTuple):
    """The rows of a problem, by feature.

    Parameters
    ----------
    codes : array of shape (features, rows)
        Rank of the row's value among the distinct values of the feature.
    labels : array of shape (rows,)
        Class of a row; 0 in regression.
    weights : array of shape (rows,)
    values : array of shape (rows, outputs)
        In regression, centred; no outputs in classification.
    """

    codes: Ints
    labels: Ints
    weights: Costs
    values: Costs


@by_reference
class Params(NamedTuple):
    """The parameters of the search.

    Parameters
    ----------
    error, split : float
        Cost of a unit of loss and of a split; whole numbers in classification.
    min_leaf : float
        Smallest weight of a leaf.
    pieces : int
        The paper's ``s``: parts of a divided interval.
    bound : int
        Which lower bound, an index into :data:`BOUNDS`.
    """

    error: float
    split: float
    min_leaf: float
    pieces: int
    bound: int


@by_reference
class Boxes(NamedTuple):
    """Sets of trees of depth 2, ``(f0, [a, b], F1, F2)`` in the paper.

    A cut ``c`` of a feature sends the rows of codes up to ``c`` to the left.

    Parameters
    ----------
    feature, low, high : arrays of shape (boxes,)
        The root splits on this feature at a cut from ``low`` to ``high``, both included.
    left, right : arrays of shape (boxes, features)
        Whether the child may split on a feature. It may also be a leaf.
    bound : array of shape (boxes,)
        Proven: no tree of the box costs less.
    """

    feature: Ints
    low: Ints
    high: Ints
    left: Flags
    right: Flags
    bound: Costs

    @property
    def size(self) -> int:
        """Number of boxes."""
        return len(self.feature)

    @property
    def nbytes(self) -> int:
        """Memory of all arrays."""
        return sum(array.nbytes for array in self)

    def take(self, which: slice | NDArray[Any]) -> Boxes:
        """Some of the boxes."""
        return Boxes(
            self.feature[which],
            self.low[which],
            self.high[which],
            self.left[which],
            self.right[which],
            self.bound[which],
        )


@by_reference
class Answers(NamedTuple):
    """What is known about boxes on some rows.

    Parameters
    ----------
    value : array of shape (boxes,)
        The upper bound ``V_s``: the cost of the best tree seen, exact for a box of at most ``s +
        1`` cuts.
    tree : array of shape (boxes, 5)
        That tree: cut of the root, then feature (−1: a leaf) and cut of both children.
    left, right : arrays of shape (boxes, pieces, features)
        For each part of the interval and each feature of a child, a lower bound on the trees in
        which that child splits on it (or is a leaf): the minimum over the other child in (14)
        and (15). A box of at most ``s + 1`` cuts has one part.
    """

    value: Costs
    tree: Ints
    left: Costs
    right: Costs

    @property
    def nbytes(self) -> int:
        """Memory of all arrays."""
        return sum(array.nbytes for array in self)


@by_reference
class Scratch(NamedTuple):
    """Room for the box that is worked on."""

    ids: Ints  # (rows,) rows of one side of a cut
    kept: Costs  # (rows,) weight that the best class of the rows so far keeps
    counts: Costs  # (classes,)
    sums: Costs  # (outputs,)
    totals: Costs  # (outputs,)
    below: Costs  # (pieces + 1, features) L1 of the rows up to a cut
    above: Costs  # (pieces + 1, features) L1 of the rows beyond it
    inner_below: Costs  # (features,) of the rows between two cuts
    inner_above: Costs  # (features,)
    middle: Ints  # (features, rows) rows between two cuts, sorted by feature
    middle_size: NDArray[np.int64]  # (1,)


def tabulate_classes(codes: NDArray[np.int32], counts: NDArray[np.int64]) -> Table:
    """A table for classification: one row for each class of a row that has weight.

    ``codes`` have the shape (rows, features), ``counts`` (rows, classes).
    """
    rows, labels = np.nonzero(counts)
    return Table(
        np.ascontiguousarray(codes[rows].T, np.int32),
        labels.astype(np.int32),
        counts[rows, labels].astype(np.float64),
        np.zeros((len(rows), 0)),
    )


def tabulate_squares(
    codes: NDArray[np.int32], weights: NDArray[np.int64], values: NDArray[np.float64]
) -> Table:
    """A table for regression; the values are centred to keep their squares small.

    ``codes`` have the shape (rows, features), ``values`` (rows, outputs).
    """
    mean = np.average(values, axis=0, weights=weights) if len(values) else 0.0
    return Table(
        np.ascontiguousarray(codes.T, np.int32),
        np.zeros(len(values), np.int32),
        weights.astype(np.float64),
        np.ascontiguousarray(values - mean),
    )


def new_scratch(table: Table, pieces: int) -> Scratch:
    """Room for one box."""
    features, rows = table.codes.shape
    classes, outputs = int(table.labels.max(initial=0)) + 1, table.values.shape[1]
    return Scratch(
        ids=np.zeros(rows, np.int32),
        kept=np.zeros(rows),
        counts=np.zeros(classes),
        sums=np.zeros(outputs),
        totals=np.zeros(outputs),
        below=np.zeros((pieces + 1, features)),
        above=np.zeros((pieces + 1, features)),
        inner_below=np.zeros(features),
        inner_above=np.zeros(features),
        middle=np.zeros((features, rows), np.int32),
        middle_size=np.zeros(1, np.int64),
    )


def new_answers(boxes: int, features: int, pieces: int) -> Answers:
    """Answers to be filled in."""
    return Answers(
        value=np.full(boxes, np.inf),
        tree=np.full((boxes, 5), -1, np.int32),
        left=np.full((boxes, pieces, features), np.inf),
        right=np.full((boxes, pieces, features), np.inf),
    )


def all_boxes(arities: NDArray[np.int64]) -> Boxes:
    """All trees of depth 2, one box for each feature that has a cut (17)."""
    features = np.flatnonzero(arities >= 2).astype(np.int32)
    splittable = np.tile(arities >= 2, (len(features), 1))
    return Boxes(
        feature=features,
        low=np.zeros(len(features), np.int32),
        high=(arities[features] - 2).astype(np.int32),
        left=splittable,
        right=splittable.copy(),
        bound=np.zeros(len(features)),
    )


def joined(parts: Sequence[Boxes], features: int) -> Boxes:
    """Boxes one after the other."""
    if not parts:
        return all_boxes(np.zeros(features, np.int64))
    return Boxes(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


def spaced(low: NDArray[np.int32], high: NDArray[np.int32], pieces: int) -> NDArray[np.int64]:
    """Almost equi-spaced cuts: ``t_j = a + floor(j·(b − a)/s)``, of shape (intervals, s + 1)."""
    width = (high - low).astype(np.int64)[:, None]
    return low[:, None] + np.arange(pieces + 1) * width // pieces
