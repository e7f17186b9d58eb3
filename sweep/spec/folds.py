"""How rows are held out for testing: the models of ``validation``, and the rows of each fold.

The rows are seeded, and the same for every machine and version of numpy.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from solver.errors import InputError
from solver.features.number_format import count
from sweep.datasets import Dataset
from sweep.spec.yaml_reader import Strict


class NoValidation(Strict):
    """Train and score on the whole table; repeat it to see how the time varies."""

    kind: Literal["none"]
    repeats: int = Field(default=1, ge=1, le=1000)  #: runs of each task, to see how times vary


class Holdout(Strict):
    """Hold out a share of the rows for testing."""

    kind: Literal["holdout"]
    test: float = Field(default=0.25, gt=0, lt=1)  #: share of the rows
    stratify: bool = False  #: keep the shares of the classes in each part
    seed: int | None = Field(default=None, ge=0, lt=2**32)  #: by default the sweep's


class KFold(Strict):
    """Hold out each row once per repetition."""

    kind: Literal["kfold"]
    folds: int = Field(default=5, ge=2, le=1000)  #: parts of the rows
    repeats: int = Field(default=1, ge=1, le=1000)  #: number of times the rows are partitioned anew
    stratify: bool = False  #: keep the shares of the classes in each part
    seed: int | None = Field(default=None, ge=0, lt=2**32)  #: by default the sweep's


class Given(Strict):
    """Hold out the test rows that each dataset names (``test: {split: test}``)."""

    kind: Literal["given"]


Validation: TypeAlias = NoValidation | Holdout | KFold | Given


class Fold(NamedTuple):
    """Repetition and number of a fold, from 0. Without test rows ``number`` is None.

    Then ``repeat`` of the first repetition is None too: it is the same task as an unrepeated one.
    """

    repeat: int | None
    number: int | None


def describe(validation: Validation, seed: int) -> dict[str, Any] | None:
    """What determines the rows of each fold, as plain data; None without validation.

    The number of repetitions is left out, since it does not change the first ones. ``seed`` is the
    sweep's; the validation may have its own.
    """
    if isinstance(validation, NoValidation):
        return None
    if isinstance(validation, Given):
        return {"kind": validation.kind, "seed": None}
    own = seed if validation.seed is None else validation.seed
    common = {"kind": validation.kind, "seed": own, "stratify": validation.stratify}
    if isinstance(validation, Holdout):
        return {**common, "test": validation.test}
    return {**common, "folds": validation.folds}


def list_folds(validation: Validation, n_rows: int) -> list[Fold]:
    """The folds of a validation. Raises InputError if the table has too few rows for them."""
    if isinstance(validation, NoValidation):
        return [Fold(r or None, None) for r in range(validation.repeats)]
    needed = validation.folds if isinstance(validation, KFold) else 2
    if n_rows < needed:
        raise InputError(
            f"{count(n_rows, 'row')} {'is' if n_rows == 1 else 'are'} too few for validation "
            f"{validation.kind}: it needs {needed}"
        )
    if isinstance(validation, Holdout | Given):
        return [Fold(0, 0)]
    return [Fold(r, f) for r in range(validation.repeats) for f in range(validation.folds)]


def test_rows(
    described: Mapping[str, Any] | None, fold: Fold, dataset: Dataset
) -> NDArray[np.bool_]:
    """The test rows of a fold, see :func:`held_out`.

    Raises InputError for stratified regression, or if the dataset does not name its test rows.
    """
    if described is not None and described["kind"] == "given":
        if dataset.test_rows is None:
            raise InputError(
                f"dataset {dataset.name!r} does not say which of its rows are test rows; name a "
                "column and its value there: test: {split: test}"
            )
        return dataset.test_rows
    if described is not None and described["stratify"] and dataset.task == "regression":
        raise InputError(f"dataset {dataset.name!r} has no classes to stratify by: regression")
    return held_out(described, fold, dataset.labels[1])


def held_out(
    described: Mapping[str, Any] | None, fold: Fold, target: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """The test rows of a fold.

    ``described`` is from :func:`describe`, ``target`` the class of each row for stratified folds.
    """
    n = len(target)
    test = np.zeros(n, dtype=bool)
    if described is None:
        return test
    # Raw draws are the same in all versions of numpy; shuffles are not.
    entropy = np.random.SeedSequence([described["seed"], fold.repeat or 0])
    order = np.argsort(np.random.PCG64(entropy).random_raw(n), kind="stable")
    if described["stratify"]:
        order = order[np.argsort(target[order], kind="stable")]
    position = np.arange(n, dtype=np.int64)
    if described["kind"] == "kfold":
        test[order[position % described["folds"] == fold.number]] = True
    else:
        # Every (n / count)-th row, so that a stratified test set has its share of each class.
        count = min(max(round(n * described["test"]), 1), n - 1)
        test[order[(position + 1) * count // n > position * count // n]] = True
    return test
