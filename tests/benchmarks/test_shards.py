"""Tests of benchmarks/shards.py, without its runs."""

from __future__ import annotations

import pandas as pd
import pytest

from benchmarks.shards import Run, makespan, points, ratios


def test_each_shard_goes_to_the_worker_that_is_free_first() -> None:
    assert makespan([3, 1, 1, 1], 1) == 6
    assert makespan([3, 1, 1, 1], 2) == 3
    assert makespan([1, 1, 1, 3], 2) == 4
    assert makespan([5], 2) == 5


def test_the_ratios_of_two_runs() -> None:
    one = Run(1, whole=12.0, task=10.0, shards=(4.0, 4.0), cpu=8.0, answer=("t", "0", "0"))
    two = Run(2, whole=8.0, task=6.0, shards=(5.0, 5.0), cpu=8.0, answer=("t", "0", "0"))
    assert one.implied == one.free == 8
    assert two.implied == 5
    assert two.free == 4  # a fifth of its seconds went to others
    assert ratios(one, two) == pytest.approx([1.5, 10 / 6, 1.6, 2.0])
    assert len(two.cells()) == 8


def test_the_points_are_the_same_each_time() -> None:
    table = points(100)
    pd.testing.assert_frame_equal(table, points(100))
    assert list(table) == ["x", "y", "class"]
    assert len(table[["x", "y"]].drop_duplicates()) == 100
    assert table["class"].value_counts().min() > 30
