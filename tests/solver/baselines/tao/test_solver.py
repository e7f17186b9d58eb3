"""TAO: what its own contract adds to that of every solver."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from solver import Limits, Problem, regularization_path, solve
from solver.monitor import Monitor
from solver.solution import Status
from solver.trees.cost_complexity_pruning import prunings
from solver.verify.scorer import score
from tests.helpers.strategies import random_table


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("limits", [Limits(), Limits(depth=3), Limits(depth=3, min_leaf_size=4)])
def test_it_is_never_above_any_pruning_of_cart(seed: int, limits: Limits) -> None:
    table = random_table(seed, max_rows=80, max_features=6, max_arity=2, max_classes=3)
    problem = table.problem()
    full = solve(problem, 0, "cart", limits).tree
    for lam in (Fraction(0), Fraction(1, 100), Fraction(1, 15)):
        found = solve(problem, lam, "tao", limits)
        pruned = (
            Fraction(errors, problem.total_weight) + lam * splits
            for errors, splits, *_ in prunings(full)
        )
        assert found.objective <= min(pruned)
        assert found.objective <= solve(problem, lam, "cart", limits).objective
        assert found.objective >= solve(problem, lam, "branches", limits).objective


def test_it_may_be_better_than_cart_and_is_never_proven() -> None:
    better = 0
    for seed in range(16):
        table = random_table(seed, max_rows=80, max_features=6, max_arity=2, max_classes=3)
        cart, tao = (solve(table.problem(), 0, name, Limits(depth=3)) for name in ("cart", "tao"))
        better += tao.errors < cart.errors
        assert tao.lower_bound is None
    assert better >= 1


def numbers(seed: int, is_regression: bool) -> Problem:
    rng = np.random.RandomState(seed)
    X = rng.normal(size=(120, 3)).round(1)
    noise = rng.normal(size=120)
    y = X[:, 0] * X[:, 1] + 0.3 * noise + 100
    frame = pd.DataFrame(X, columns=list("abc"))
    if is_regression:
        both = frame.assign(y=y, z=noise)
        return Problem.from_table(both, ["y", "z"], "continuous", task="regression")
    return Problem.from_table(frame.assign(y=np.digitize(y, [99, 101])), "y", "continuous")


@pytest.mark.parametrize("is_regression", [False, True], ids=["classes", "numbers"])
def test_on_numbers_it_is_at_times_better_than_cart(is_regression: bool) -> None:
    better = 0
    for seed in range(10):
        problem = numbers(seed, is_regression)
        for lam, limits in [(0, Limits(depth=2)), ("0.02", Limits(depth=3, min_leaf_size=9))]:
            cart, tao = (solve(problem, lam, name, limits) for name in ("cart", "tao"))
            slack = problem.tolerance
            assert tao.objective <= cart.objective + slack
            better += tao.objective < cart.objective - slack
            points = score(problem, tao.tree, tao.lam)
            assert (points.errors, points.objective) == (tao.errors, tao.objective)
            assert tao.depth <= (limits.depth or 0)
            sizes = [sum(node.counts) for node in tao.tree.nodes if node.is_leaf]
            assert min(sizes) >= (limits.min_leaf_size or 0)
            assert tao.tolerance == slack
    assert better >= 3


@pytest.mark.parametrize("limits", [Limits(), Limits(depth=2)])
def test_the_equivalent_conversion_gives_trees_as_good(limits: Limits) -> None:
    """A cut is a feature of the encoding ``thresholds``; ties may be broken in another way."""
    X, y = load_iris(return_X_y=True, as_frame=True)
    frame = X.assign(y=y)
    for name in ("cart", "tao"):
        cuts, features = (
            solve(Problem.from_table(frame, "y", encoding), 0, name, limits)
            for encoding in ("continuous", "thresholds")
        )
        assert cuts.errors == features.errors


def test_a_start_may_be_better_than_cart() -> None:
    table = random_table(3, max_rows=60, max_features=6, max_arity=2, max_classes=3)
    problem, limits = table.problem(), Limits(depth=2)
    best = solve(problem, "0.01", "branches", limits)
    assert solve(problem, "0.01", "tao", limits, initial_tree=best.tree).objective == best.objective
    deep = solve(problem, 0, "branches").tree
    assert deep.depth > 2
    assert solve(problem, 0, "tao", limits, initial_tree=deep).depth <= 2


def test_a_stopped_one_has_pruned() -> None:
    rng = np.random.RandomState(0)
    problem = Problem.from_codes(rng.randint(0, 2, (300, 12)), rng.randint(0, 2, 300))
    stopped = solve(problem, "0.05", "tao", monitor=Monitor(stop=lambda: True))
    leaf = Fraction(problem.leaf_errors, problem.total_weight)
    assert stopped.objective <= leaf
    assert stopped.iterations == 1


def test_a_chain_of_many_splits() -> None:
    """One-hot features of a column with a value a row: deeper than Python may recurse."""
    size = 1200
    problem = Problem.from_codes(np.eye(size, dtype=int), np.arange(size) % 2)
    solution = solve(problem, 0, "tao", Limits(seconds=0))
    assert (solution.errors, solution.objective) == (0, 0)
    assert solution.depth > 500


def test_rounding_never_goes_on_without_end() -> None:
    """Weights so unequal that a float has no digit left for the lightest row."""
    table = pd.DataFrame(
        {
            "c": ["b", "c", "a", "b", "b"],
            "y": [-3e9, 1e9, 1e9, 1e9, 1e9],
            "z": [1e9, -3e9, 1e9, 1e9, -3e9],
        }
    )
    weights = [1e-3, 1e7, 1, 1e-9, 1e3]
    problem = Problem.from_table(table, ["y", "z"], "onehot", task="regression", weights=weights)
    asked = iter(range(10_000))  # far more than it asks, and it says where it has no end

    def stop() -> bool:
        next(asked)
        return False

    cart = solve(problem, "0.1", "cart")
    tao = solve(problem, "0.1", "tao", monitor=Monitor(stop=stop))
    assert tao.objective <= cart.objective
    path = regularization_path(problem, "0.1", "tao", monitor=Monitor(stop=stop))
    assert all(before.splits > after.splits for before, after in pairwise(path.trees))


def test_what_a_limit_or_a_stop_has_cut_says_so() -> None:
    """Else a sweep would take it for what the whole run gives."""
    problem = numbers(1, is_regression=False)
    whole = solve(problem, "0.002", "tao")
    assert whole.status is Status.HEURISTIC
    assert solve(problem, "0.002", "tao", Limits(seconds=0)).status is Status.TIME_LIMIT
    stopped = solve(problem, "0.002", "tao", monitor=Monitor(stop=lambda: True))
    assert stopped.status is Status.STOPPED
    assert stopped.objective > whole.objective
    assert stopped.lower_bound is None


def test_a_path_of_which_a_part_was_cut_says_so() -> None:
    problem = numbers(1, is_regression=False)
    assert regularization_path(problem, "0.002", "tao").status is Status.HEURISTIC
    late = regularization_path(problem, "0.002", "tao", Limits(seconds=0))
    assert late.status is Status.TIME_LIMIT
    assert not any(step.proven for step in late.steps)
    stop = Monitor(stop=lambda: True)
    assert regularization_path(problem, "0.002", "tao", monitor=stop).status is Status.STOPPED
    # A stop after the last λ has cut nothing.
    alone = Problem.from_codes([[0], [1]], [0, 0])
    assert regularization_path(alone, "0.1", "cart", monitor=stop).status is Status.HEURISTIC
