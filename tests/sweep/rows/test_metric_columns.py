"""Tests of sweep/rows/metric_columns.py: the quality of predictions on test rows."""

from __future__ import annotations

import numpy as np
import pytest

from solver.solution import BELOW_ONE
from sweep.rows.metric_columns import held_out_quality


def test_r2_is_1_only_if_nothing_remains() -> None:
    truth = np.array([[0.0], [0.5], [1e9]])
    assert held_out_quality(truth, truth, "regression") == {"test_rmse": 0, "test_r2": 1}
    close = held_out_quality(truth + 0.25, truth, "regression")
    assert close == {"test_rmse": 0.25, "test_r2": BELOW_ONE}


@pytest.mark.parametrize("target", [0.1, 0.7, 100.1, 1 / 3])
@pytest.mark.parametrize("n_rows", [1, 3, 7, 10])
def test_rows_of_one_target_have_no_r2(target: float, n_rows: int) -> None:
    # The mean of such rows, as floats have it, is often not their target.
    truth = np.full((n_rows, 2), [target, 3 * target])
    assert held_out_quality(truth, truth, "regression") == {"test_rmse": 0, "test_r2": None}
    found = held_out_quality(truth + 0.5, truth, "regression")
    assert found == {"test_rmse": pytest.approx(0.5), "test_r2": None}


def test_targets_that_differ_in_the_last_digit_have_an_r2() -> None:
    truth = np.array([[0.1], [np.nextafter(0.1, 1)]])
    mean = np.full_like(truth, 0.1)
    assert held_out_quality(mean, truth, "regression")["test_r2"] == -1
