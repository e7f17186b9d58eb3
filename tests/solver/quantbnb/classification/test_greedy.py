"""The quick first tree on numbers."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from solver.engine.tree_constraints import TreeConstraints
from solver.limits import Limits
from solver.objective.exact_objective import CostScale
from solver.problem.problem import Problem
from solver.quantbnb.classification import greedy
from solver.quantbnb.classification.greedy import greedy_tree
from solver.trees.tree import Tree


def problem(rows: int = 300, spread: int = 1) -> Problem:
    rng = np.random.default_rng(4)
    codes = rng.integers(0, 40, (rows, 3))
    target = (codes[:, 0] > 20).astype(int) + (codes[:, 1] > 30)
    target[rng.random(rows) < 0.1] = 2
    weights = rng.integers(1, 4, rows)
    arities = [40 * spread] * 3
    return Problem.from_codes(
        codes * spread, target, weights=weights, arities=arities, ordered=True
    )


def grown(
    given: Problem, limits: Limits, lam: Fraction, late: Callable[[], bool] = lambda: False
) -> Tree:
    cost_scale = CostScale.build(
        lam, given.total_weight, int(given.leaf_errors), len(given.codes) - 1
    )
    return given.grow(greedy_tree(given, cost_scale, TreeConstraints.of(given, lam, limits), late))


@pytest.mark.parametrize("limits", [Limits(depth=1), Limits(depth=4), Limits(min_leaf_size=50)])
def test_keeps_the_limits(limits: Limits) -> None:
    limits = Limits(depth=limits.depth or 4, min_leaf_size=limits.min_leaf_size)
    tree = grown(problem(), limits, Fraction(1, 1000))
    assert 1 <= tree.depth <= (limits.depth or 0)
    sizes = [sum(node.counts) for node in tree.nodes if node.is_leaf]
    assert min(sizes) >= (limits.min_leaf_size or 1)


def least_errors(tree: Tree, splits: int, at: int = 0) -> int:
    """Of all prunings of a subtree with at most so many splits."""
    node = tree.nodes[at]
    leaf = sum(node.counts) - max(node.counts)
    if node.is_leaf or splits == 0:
        return leaf
    left, right = node.children
    shares = [
        least_errors(tree, some, left) + least_errors(tree, splits - 1 - some, right)
        for some in range(splits)
    ]
    return min(leaf, *shares)


@pytest.mark.parametrize("splits", range(1, 5))
def test_of_too_many_splits_the_best_are_left(splits: int) -> None:
    given, lam = problem(), Fraction(1, 10**6)
    every = grown(given, Limits(depth=4), lam)
    few = grown(given, Limits(depth=4, splits=splits), lam)
    assert few.splits <= splits < every.splits
    assert few.errors == least_errors(every, splits)


def test_finds_what_gini_finds() -> None:
    given = problem()
    tree = grown(given, Limits(depth=2), Fraction(0))
    assert tree.nodes[0].feature == 20  # x0 <= 20.5
    assert tree.errors < 0.15 * given.total_weight


def test_splits_that_do_not_pay_are_left_out() -> None:
    given = problem()
    trees = [grown(given, Limits(depth=4), Fraction(1, k)) for k in (1, 10, 100, 10_000)]
    assert trees[0].splits == 0
    assert [tree.splits for tree in trees] == sorted(tree.splits for tree in trees)


def test_codes_that_no_row_has_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    dense = grown(problem(), Limits(depth=3), Fraction(1, 100))
    sparse: list[Any] = [grown(problem(spread=500), Limits(depth=3), Fraction(1, 100))]
    monkeypatch.setattr(greedy, "_SPARSE", 10**9)
    sparse.append(grown(problem(spread=500), Limits(depth=3), Fraction(1, 100)))
    assert sparse[0] == sparse[1]
    assert [node.counts for node in sparse[0].nodes] == [node.counts for node in dense.nodes]


def test_out_of_time_it_is_a_leaf() -> None:
    assert grown(problem(), Limits(depth=3), Fraction(0), lambda: True).splits == 0
