"""Features of one column of numbers as one ordered feature."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from solver import Limits, Problem, solve
from solver.features.node_tests import ThresholdTest
from solver.monitor import Monitor, Snapshot
from solver.quantbnb.merge_threshold_features import Columns
from solver.verify.scorer import score


@pytest.fixture
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({name: rng.integers(0, 30, 60) / 7 for name in "ab"})
    frame.loc[::9, "a"] = np.nan
    return frame.assign(c=rng.choice(["x", "y", "z"], 60), target=rng.integers(0, 2, 60))


@pytest.mark.parametrize("encoding", ["thresholds", "quantiles", "mdlp", "continuous"])
def test_every_cut_is_its_test(frame: pd.DataFrame, encoding: str) -> None:
    problem = Problem.from_table(frame, "target", encoding)
    columns = Columns.of(problem)
    merged = columns.problem
    assert sorted(columns.tests) == list(range(len(problem.tests)))
    for cut, test in enumerate(columns.tests):
        assert merged.tests[cut] == problem.tests[test]
        assert (merged.branch_codes(cut) == problem.branch_codes(test)).all()
        tree = merged.grow((cut, (-1, -1)))
        assert columns.outwards(tree) == problem.grow((test, (-1, -1)))
        assert columns.inwards(columns.outwards(tree)) == tree
    if encoding == "thresholds":
        named = {test.column for test in problem.tests if isinstance(test, ThresholdTest)}
        others = sum(not isinstance(test, ThresholdTest) for test in problem.tests)
        assert merged.n_features == len(named) + others


def test_thresholds_that_are_not_nested_stay_apart() -> None:
    tests = [ThresholdTest("x", 1.0), ThresholdTest("x", 2.0)]
    problem = Problem.from_codes([[0, 1], [1, 0], [1, 1]], [0, 1, 1], tests=tests)
    columns = Columns.of(problem)
    assert columns.problem.arities.tolist() == [2, 2]
    assert columns.problem.codes.tolist() == problem.codes.tolist()


def test_no_features() -> None:
    problem = Problem.from_codes(np.zeros((2, 0), int), [0, 1])
    assert Columns.of(problem).problem.codes.shape == (1, 0)


@pytest.mark.parametrize("encoding", ["thresholds", "quantiles"])
def test_the_answer_is_in_the_problems_own_tests(frame: pd.DataFrame, encoding: str) -> None:
    problem = Problem.from_table(frame, "target", encoding)
    seen: list[Snapshot] = []
    monitor = Monitor(snapshot=seen.append, interval=0.0)
    lam, limits = Fraction(1, 200), Limits(depth=3)
    first = solve(problem, lam, "quantbnb", limits, monitor=monitor)
    again = solve(problem, lam, "quantbnb", limits, initial_tree=first.tree)
    assert first.tree == again.tree
    for tree in [first.tree, *(snapshot.tree for snapshot in seen)]:
        assert score(problem, tree, lam).errors == tree.errors
    best = solve(problem, lam, "branches", limits)
    assert (first.objective, first.status) == (best.objective, best.status)
