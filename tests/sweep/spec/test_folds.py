"""Tests of sweep/spec/folds.py."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from solver.errors import InputError
from sweep.spec.folds import Fold, Holdout, KFold, NoValidation, describe, held_out, list_folds

TARGET = np.array([0] * 50 + [1] * 30 + [2] * 7)


def masks(validation: KFold | Holdout, target: Any = TARGET, seed: int = 0) -> list[Any]:
    described = describe(validation, seed)
    return [held_out(described, fold, target) for fold in list_folds(validation, len(target))]


@given(st.integers(2, 8), st.integers(1, 3), st.booleans(), st.integers(0, 5))
def test_each_row_is_held_out_once_a_repetition(
    folds: int, repeats: int, stratify: bool, seed: int
) -> None:
    found = masks(KFold(kind="kfold", folds=folds, repeats=repeats, stratify=stratify), seed=seed)
    assert len(found) == folds * repeats
    for r in range(repeats):
        part = np.array(found[r * folds : (r + 1) * folds])
        assert (part.sum(axis=0) == 1).all()
        sizes = part.sum(axis=1)
        assert sizes.max() - sizes.min() <= 1
        for label in range(3) if stratify else ():
            shares = part[:, label == TARGET].sum(axis=1)
            assert shares.max() - shares.min() <= 1


@given(st.floats(0.01, 0.99), st.booleans())
def test_a_holdout_has_its_share(test: float, stratify: bool) -> None:
    (mask,) = masks(Holdout(kind="holdout", test=test, stratify=stratify))
    assert mask.sum() == min(max(round(len(TARGET) * test), 1), len(TARGET) - 1)
    for label in range(3) if stratify else ():
        count = int((label == TARGET).sum())
        assert abs(mask[label == TARGET].sum() - mask.sum() * count / len(TARGET)) <= 1


def test_rows_are_the_same_on_every_machine() -> None:
    (mask,) = masks(Holdout(kind="holdout", test=0.1, seed=5), np.zeros(40, dtype=int))
    assert np.flatnonzero(mask).tolist() == [0, 9, 26, 33]


def test_seeds_and_repetitions_differ_and_more_repetitions_change_nothing() -> None:
    one = masks(KFold(kind="kfold", folds=2, repeats=1))
    three = masks(KFold(kind="kfold", folds=2, repeats=3))
    assert all((a == b).all() for a, b in zip(one, three, strict=False))
    assert (three[0] != three[2]).any()
    assert (masks(KFold(kind="kfold", folds=2), seed=1)[0] != one[0]).any()
    own = KFold(kind="kfold", folds=2, seed=0)
    assert (masks(own, seed=1)[0] == one[0]).all()
    assert describe(KFold(kind="kfold", repeats=1), 0) == describe(
        KFold(kind="kfold", repeats=3), 0
    )


def test_without_validation_no_row_is_held_out() -> None:
    none = NoValidation(kind="none")
    assert list_folds(none, 3) == [Fold(None, None)]
    assert describe(none, 0) is None
    assert not held_out(None, Fold(None, None), TARGET).any()


def test_repetitions_without_validation_leave_the_first_as_it_is() -> None:
    thrice = NoValidation(kind="none", repeats=3)
    assert list_folds(thrice, 3) == [Fold(None, None), Fold(1, None), Fold(2, None)]
    assert describe(thrice, 0) is None


def test_too_few_rows_are_refused() -> None:
    with pytest.raises(InputError, match="4 rows are too few for validation kfold: it needs 5"):
        list_folds(KFold(kind="kfold"), 4)
    with pytest.raises(InputError, match="it needs 2"):
        list_folds(Holdout(kind="holdout"), 1)
