"""CART: what its own contract adds to that of every solver."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from solver import InputError, Limits, Problem, solve
from solver.trees.cost_complexity_pruning import prunings
from solver.verify.scorer import score
from tests.helpers.strategies import random_table


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


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("outputs", [1, 2])
def test_on_numbers_it_is_the_tree_of_scikit_learn(seed: int, outputs: int) -> None:
    rng = np.random.RandomState(seed)
    X = rng.normal(size=(90, 3)).round(1)
    y = 1e6 + 10 * (X[:, :outputs] > 0) + rng.normal(size=(90, outputs))
    weights = rng.randint(1, 4, 90)
    names = [f"y{i}" for i in range(outputs)]
    frame = pd.DataFrame(X, columns=list("abc")).join(pd.DataFrame(y, columns=names))
    problem = Problem.from_table(frame, names, "continuous", task="regression", weights=weights)
    limits = Limits(depth=4, min_leaf_size=6)
    solution = solve(problem, "0.5", "cart", limits)
    model = DecisionTreeRegressor(
        max_depth=4,
        min_weight_fraction_leaf=6 / weights.sum(),
        ccp_alpha=0.5 / outputs,
        random_state=0,
    )
    model.fit(X, y, sample_weight=weights)
    assert solution.splits == model.get_n_leaves() - 1 > 0
    wrong = ((model.predict(X).reshape(y.shape) - y) ** 2).sum(axis=1) @ weights
    assert float(solution.errors) == pytest.approx(wrong, rel=1e-9)
    assert solution.errors == score(problem, solution.tree, solution.lam).errors
    # Its prunings are the best there are.
    full = solve(problem, 0, "cart", limits).tree
    for lam in (Fraction(1, 10), Fraction(1), Fraction(5)):
        best = min(errors / problem.total_weight + lam * k for errors, k, *_ in prunings(full))
        reached = solve(problem, lam, "cart", limits).objective
        assert float(reached) == pytest.approx(float(best), rel=1e-9)


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_classes_of_numbers(criterion: str) -> None:
    X, y = load_iris(return_X_y=True, as_frame=True)
    problem = Problem.from_table(X.assign(y=y), "y", "continuous")
    for depth in (1, 2, 3, None):
        solution = solve(problem, 0, "cart", Limits(depth=depth), criterion=criterion)
        model = DecisionTreeClassifier(criterion=criterion, max_depth=depth, random_state=0)
        model.fit(X, y)
        assert float(solution.accuracy) == pytest.approx(model.score(X, y))
        assert (solution.tree.predict(X) == y).mean() == pytest.approx(model.score(X, y))


@pytest.mark.parametrize("scale", [1e-90, 1.0, 1e100])
def test_the_unit_of_the_target_does_not_matter(scale: float) -> None:
    codes, y = [[0], [1], [2], [3]], np.array([0.0, 0.0, 0.5, 1.0])
    problem = Problem.from_codes(codes, scale * y, task="regression", ordered=True)
    for name in ("cart", "tao"):
        solution = solve(problem, 0, name)
        assert (solution.errors, solution.splits) == (0, 2)


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


def test_more_splits_than_any_table_has() -> None:
    problem = Problem.from_codes([[0], [1], [2]], [0, 1, 0], ordered=True)
    assert solve(problem, 0, "cart", Limits(splits=2**60)).splits == 2
