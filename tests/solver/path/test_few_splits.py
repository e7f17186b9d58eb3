"""The fewest errors of trees of few splits, against all trees."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings

from solver import Limits
from solver.path import few_splits
from solver.path.few_splits import fewest_errors, most_counted
from solver.problem.problem import Problem
from tests.helpers.random_examples import examples
from tests.helpers.strategies import Table, tables


@settings(max_examples=examples(150), deadline=None)
@given(table=tables(max_classes=5))
def test_no_tree_of_so_many_splits_has_fewer_errors(table: Table) -> None:
    problem = table.problem()
    fewest = fewest_errors(problem)
    assert len(fewest) == most_counted(problem)
    assert fewest[0] == problem.leaf_errors
    for splits, errors in enumerate(fewest):
        best = table.optimum(Fraction(0), Limits(splits=splits)).objective * problem.total_weight
        assert errors <= best
        if splits <= 1:
            assert errors == best


def test_classes_and_features_are_counted() -> None:
    problem = Problem.from_codes([[0], [0], [0], [1], [1], [1]], [0, 0, 1, 2, 3, 3])
    assert fewest_errors(problem) == [4, 2, 1]


def test_many_rows_are_counted_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(1)
    codes, labels = generator.integers(0, 3, (200, 5)), generator.integers(0, 3, 200)
    problem = Problem.from_codes(codes, labels)
    known = fewest_errors(problem)
    monkeypatch.setattr(few_splits, "_AT_A_TIME", 64)
    assert fewest_errors(problem) == known


@pytest.mark.parametrize("limit", ["_MOST_COUNTED", "_MOST_CODES"])
def test_of_too_many_rows_or_codes_only_classes_are_counted(
    limit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = Problem.from_codes([[0], [0], [0], [1], [1], [1]], [0, 0, 1, 2, 3, 3])
    monkeypatch.setattr(few_splits, limit, 1)
    assert fewest_errors(problem) == [4, 2, 1]
    problem = Problem.from_codes([[0], [0], [1]], [0, 1, 1])
    assert fewest_errors(problem) == [1]


def test_without_a_feature_only_the_leaf_is_left() -> None:
    assert fewest_errors(Problem.from_codes([[0], [0], [0]], [0, 0, 1])) == [1, 1]
