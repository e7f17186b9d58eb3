"""The cost of a prediction for each row, and the best prediction for some rows."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.int64]


class Losses(Protocol):
    """Costs of rows, in the unit of ``tree.errors``."""

    tolerance: float
    """By how much a sum of costs must be smaller to be smaller."""

    @property
    def weights(self) -> NDArray[np.int64]:
        """Weight of every row."""

    def fit(self, rows: Rows) -> tuple[Any, Any]:
        """The best prediction for some rows, and its cost."""

    def costs(self, rows: Rows, prediction: Any) -> NDArray[Any]:
        """The cost of a prediction for each of these rows."""

    def total(self, costs: NDArray[Any]) -> Any:
        """The sum of costs, as a number of Python."""


class Misclassified:
    """The weight of the rows of other classes, in exact integers; ``counts`` are (rows,
    classes)."""

    tolerance = 0.0

    def __init__(self, counts: NDArray[np.int64]) -> None:
        self._counts = counts
        self.weights: NDArray[np.int64] = counts.sum(axis=1)

    def fit(self, rows: Rows) -> tuple[int, int]:
        """The first of the most frequent classes, and the weight of the others."""
        counts = self._counts[rows].sum(axis=0)
        best = int(counts.argmax())
        return best, int(counts.sum() - counts[best])

    def costs(self, rows: Rows, prediction: int) -> NDArray[np.int64]:
        """The weight of each row's other classes."""
        return np.asarray(self.weights[rows] - self._counts[rows, prediction])

    def total(self, costs: NDArray[np.int64]) -> int:
        """The sum."""
        return int(costs.sum())


class SquaredErrors:
    """The weighted squared distance of the outputs, in float64; ``values`` are (rows, outputs).

    Notes
    -----
    Targets must be scaled by :func:`solver.objective.exact_squared_error.in_unit_range`. A sum of
    n terms of one sign has a relative error of at most n units in the last place. The tolerance is
    well above that, so few moves are useless. Means of very unequal weights may be less accurate;
    the solver counts exactly whether a pass has improved the tree.
    """

    def __init__(self, values: NDArray[np.float64], weights: NDArray[np.int64]) -> None:
        self.weights = weights
        self._values = values
        spread = self.fit(np.arange(len(values)))[1]
        self.tolerance = max(1e-12, 1e-15 * len(values)) * spread

    def fit(self, rows: Rows) -> tuple[NDArray[np.float64], float]:
        """The weighted mean, and the squared distances from it."""
        mean = np.average(self._values[rows], axis=0, weights=self.weights[rows])
        return mean, self.total(self.costs(rows, mean))

    def costs(self, rows: Rows, prediction: NDArray[np.float64]) -> NDArray[np.float64]:
        """Each row's squared distance times its weight."""
        distances = self._values[rows] - prediction
        return np.asarray((distances**2).sum(axis=1) * self.weights[rows])

    def total(self, costs: NDArray[np.float64]) -> float:
        """The sum."""
        return float(costs.sum())
