"""Tests of benchmarks/shards.py, without its sweeps."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pandas as pd
import pytest

import solver
from benchmarks import shards
from benchmarks.shards import points, schedule


def test_each_shard_begins_when_a_worker_is_free_with_the_best_tree_by_then() -> None:
    problem = solver.Problem.from_codes([[0], [1]], [0, 1])
    plain = solver.solve(problem, "0.1", "cart")
    goals, seconds = [5, 3, 4, 1], [3.0, 1.0, 1.0, 1.0]
    given: list[Any] = []

    def solve(index: int, start: Any) -> tuple[Any, float]:
        given.append(start)
        tree = problem.grow(-1)
        return replace(plain, tree=tree, objective=Fraction(goals[index])), seconds[index]

    solutions, took, end = schedule(solve, 4, 1)
    first, second = solutions[0].tree, solutions[1].tree
    assert (took, end) == (seconds, 6)
    assert [id(tree) for tree in given] == [id(t) for t in (None, first, second, second)]
    given.clear()
    solutions, _, end = schedule(solve, 4, 2)
    assert end == 3  # the long one beside the three short ones
    second = solutions[1].tree
    assert [id(tree) for tree in given] == [id(t) for t in (None, None, second, second)]


def test_shards_give_the_answer_of_the_whole(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["--points", "12", "--splits", "2", "--shards", "2", "3", "--rounds", "1"]
    assert shards.main([*asked, "--free-only"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[1] for line in lines if line.startswith("| ")] == ["shards", "2", "3"]


def test_the_points_are_the_same_each_time() -> None:
    table = points(100)
    pd.testing.assert_frame_equal(table, points(100))
    assert list(table) == ["x", "y", "class"]
    assert len(table[["x", "y"]].drop_duplicates()) == 100
    assert table["class"].value_counts().min() > 30
