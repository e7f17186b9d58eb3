"""TAO: what its own contract adds to that of every solver."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from solver import Limits, Problem, solve
from solver.base import Watch
from solver.pruning import prunings
from tests.strategies import random_table


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
            for errors, splits, _ in prunings(full)
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


def test_a_start_may_be_better_than_cart() -> None:
    table = random_table(3, max_rows=60, max_features=6, max_arity=2, max_classes=3)
    problem, limits = table.problem(), Limits(depth=2)
    best = solve(problem, "0.01", "branches", limits)
    assert solve(problem, "0.01", "tao", limits, start=best.tree).objective == best.objective
    deep = solve(problem, 0, "branches").tree
    assert deep.depth > 2
    assert solve(problem, 0, "tao", limits, start=deep).depth <= 2


def test_a_stopped_one_has_pruned() -> None:
    rng = np.random.RandomState(0)
    problem = Problem.from_codes(rng.randint(0, 2, (300, 12)), rng.randint(0, 2, 300))
    stopped = solve(problem, "0.05", "tao", watch=Watch(stop=lambda: True))
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
