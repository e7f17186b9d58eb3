"""From a dataset to the problem of a fold: the same for whoever solves it and whoever checks it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solver.encodings import fit_columns
from solver.problem.problem import Problem
from sweep.datasets import Dataset
from sweep.spec import folds


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
        See :func:`sweep.spec.folds.describe`.
    fold : Fold

    Returns
    -------
    problem : Problem
    test : array of bool, shape (rows,)
        The rows that are held out.
    """
    test = folds.test_rows(validation, fold, dataset)
    # How a column is read is settled on the whole table, so that all folds read it alike.
    features = dataset.features
    columns = fit_columns(encoding, features, dataset.columns)
    problem = Problem.from_table(
        features.assign(**{name: dataset.frame[name] for name in dataset.targets})[~test],
        dataset.targets,
        encoding,
        task=dataset.task,
        classes=dataset.classes,
        columns=columns,
        **options,
    )
    return problem, test


def n_features_encoded(problem: Problem) -> int:
    """The number of a problem's encoded features with constant and duplicate ones."""
    dropped = problem.preparation
    return problem.n_features + len(dropped.constant) + len(dropped.duplicate)
