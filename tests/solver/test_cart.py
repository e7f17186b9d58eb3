"""CART: what its own contract adds to that of every solver."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from solver import InputError, Limits, Problem, solve
from tests.strategies import random_table


@pytest.mark.parametrize("seed", range(5))
def test_it_is_the_tree_of_scikit_learn(seed: int) -> None:
    table = random_table(seed, max_rows=60, max_features=5, max_arity=2, max_classes=3)
    problem = table.problem()
    solution = solve(problem, "0.01", "cart", criterion="entropy", seed=3)
    model = DecisionTreeClassifier(criterion="entropy", ccp_alpha=0.01, random_state=3)
    rows, classes = np.nonzero(problem.counts)
    weights = problem.counts[rows, classes]
    model.fit(problem.codes[rows], classes, sample_weight=weights)
    assert solution.leaves == model.get_n_leaves()
    assert solution.depth == model.get_depth()
    wrong = model.predict(problem.codes[rows]) != classes
    assert solution.errors == weights[wrong].sum()


def test_no_split_where_leaves_cannot_be_so_heavy() -> None:
    problem = Problem.from_codes([[0], [1]], [0, 1], weights=[5, 5])
    assert solve(problem, 0, "cart", Limits(min_leaf_size=5)).splits == 1
    assert solve(problem, 0, "cart", Limits(min_leaf_size=6)).splits == 0


def test_a_chain_of_a_thousand_splits() -> None:
    """One-hot features of a column with a value a row: deeper than Python may recurse."""
    size = 1200
    problem = Problem.from_codes(np.eye(size, dtype=int), np.arange(size) % 2)
    solution = solve(problem, 0, "cart")
    assert solution.errors == 0
    assert solution.depth > 500
    assert solution.objective == Fraction(0)


def test_seed_must_be_a_seed() -> None:
    problem = Problem.from_codes([[0], [1]], [0, 1])
    for seed in (-1, "a", True, 1.5):
        with pytest.raises(InputError, match=r"option seed = .* a whole number from 0"):
            solve(problem, 0, "cart", seed=seed)
