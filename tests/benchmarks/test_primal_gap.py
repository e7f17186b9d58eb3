"""The mean primal gap of a trace."""

from __future__ import annotations

import pytest

from benchmarks.primal_gap import mean_gap


def test_the_gap_is_whole_before_there_is_a_tree_and_falls_with_each() -> None:
    # Gap 1 for 1 s, 1/2 for 2 s, then 0.
    assert mean_gap([(1.0, 10), (3.0, 5)], 5, 10.0) == pytest.approx(0.2)
    assert mean_gap([], 5, 10.0) == 1.0
    assert mean_gap([(20.0, 5)], 5, 10.0) == 1.0
    assert mean_gap([(0.0, 0)], 0, 10.0) == 0.0


def test_a_worse_tree_is_not_taken() -> None:
    assert mean_gap([(0.0, 8), (5.0, 16)], 8, 10.0) == 0.0
