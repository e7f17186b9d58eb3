"""Tests of sweep/rows/metric_columns.py: the quality of predictions on test rows."""

from __future__ import annotations

import numpy as np

from solver.solution import BELOW_ONE
from sweep.rows.metric_columns import held_out_quality


def test_r2_is_1_only_if_nothing_remains() -> None:
    truth = np.array([[0.0], [0.5], [1e9]])
    assert held_out_quality(truth, truth, "regression") == {"test_rmse": 0, "test_r2": 1}
    close = held_out_quality(truth + 0.25, truth, "regression")
    assert close == {"test_rmse": 0.25, "test_r2": BELOW_ONE}
