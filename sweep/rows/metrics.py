"""How good a tree is, in the words of its task: the columns of rows that say so."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solver.solution import Solution

Floats = NDArray[np.float64]


def train_quality(solution: Solution) -> dict[str, Any]:
    """Of a solution, on its training rows."""
    common = {"loss": float(solution.loss), "tolerance": float(solution.tolerance)}
    if isinstance(solution.errors, int):
        return common | {
            "errors": solution.errors,
            "train_accuracy": float(solution.accuracy),
        }
    return common | {"train_r2": solution.r2, "train_rmse": solution.rmse}


def held_out_quality(predicted: NDArray[Any], truth: NDArray[Any], task: str) -> dict[str, Any]:
    """Of predictions on test rows.

    Parameters
    ----------
    predicted, truth : array
        Labels, shape (rows,); of regression numbers, shape (rows, outputs).
    """
    if task == "classification":
        wrong = int((predicted != truth).sum())
        return {"test_errors": wrong, "test_accuracy": 1 - wrong / len(truth)}
    loss = squared_loss(predicted, truth)
    spread = squared_loss(np.broadcast_to(truth.mean(axis=0), truth.shape), truth)
    return {
        "test_rmse": rmse(loss, truth.shape[1]),
        "test_r2": None if spread == 0 else 1 - loss / spread,
    }


def squared_loss(predicted: Floats, truth: Floats) -> float:
    """The mean over the rows of the squared errors, summed over the outputs."""
    return float(math.fsum(((predicted - truth) ** 2).ravel()) / len(truth))


def rmse(loss: float | Fraction, outputs: int) -> float:
    """The root mean squared error of a target."""
    return math.sqrt(loss / outputs)
