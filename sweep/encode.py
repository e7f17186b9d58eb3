"""From a dataset to the problem of a fold: the same for whoever solves it and whoever checks it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solver.encodings import fit_columns
from solver.labels import read_labels
from solver.problem import Problem
from sweep import folds
from sweep.datasets import Dataset


def encode(
    dataset: Dataset,
    encoding: str,
    options: Mapping[str, Any],
    validation: dict[str, Any] | None,
    fold: folds.Fold,
) -> tuple[Problem, NDArray[np.bool_]]:
    """Encode the training rows of a fold.

    Parameters
    ----------
    dataset : Dataset
    encoding : str
    options : mapping
        Of the encoding.
    validation : dict or None
        See :func:`sweep.folds.describe`.
    fold : Fold

    Returns
    -------
    problem : Problem
    test : array of bool, shape (rows,)
        The rows that are held out.
    """
    frame, target = dataset.frame, dataset.target
    classes, codes = read_labels(frame[target])
    test = folds.held_out(validation, fold, codes)
    # How a column is read is settled on the whole table, so that all folds read it alike.
    columns = fit_columns(encoding, frame.drop(columns=[target]), dataset.columns)
    problem = Problem.from_table(
        frame[~test], target, encoding, classes=classes, columns=columns, **options
    )
    return problem, test
