"""The quality of a tree, as columns of rows."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solver.solution import Solution, share_without

Floats = NDArray[np.float64]


def train_quality(solution: Solution) -> dict[str, Any]:
    """The quality of a solution on its training rows."""
    common = {"loss": float(solution.loss), "tolerance": float(solution.tolerance)}
    if isinstance(solution.errors, int):
        return common | {
            "errors": solution.errors,
            "train_accuracy": float(solution.accuracy),
        }
    return common | {"train_r2": solution.r2, "train_rmse": solution.rmse}


def held_out_quality(predicted: NDArray[Any], truth: NDArray[Any], task: str) -> dict[str, Any]:
    """The quality of predictions on test rows.

    Parameters
    ----------
    predicted, truth : array
        Labels, shape (rows,); for regression numbers, shape (rows, outputs).
    """
    if task == "classification":
        wrong = int((predicted != truth).sum())
        return {"test_errors": wrong, "test_accuracy": 1 - wrong / len(truth)}
    loss = squared_loss(predicted, truth)
    spread = spread_of(truth)
    return {
        "test_rmse": rmse(loss, truth.shape[1]),
        "test_r2": None if spread == 0 else share_without(loss, spread),
    }


def squared_loss(predicted: Floats, truth: Floats) -> float:
    """The squared errors, summed over outputs, averaged over rows."""
    return float(math.fsum(((predicted - truth) ** 2).ravel()) / len(truth))


def spread_of(truth: Floats) -> float:
    """The mean squared distance of targets from their mean, summed over outputs; 0 if and only if
    all rows have the same targets."""
    # The mean of 0.1, 0.1 and 0.1 is another float than 0.1; that of zeros is 0.
    distances = truth - truth[0]
    return squared_loss(np.broadcast_to(distances.mean(axis=0), truth.shape), distances)


def rmse(loss: float | Fraction, outputs: int) -> float:
    """The root mean squared error of one output."""
    return math.sqrt(loss / outputs)
