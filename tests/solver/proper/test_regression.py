"""Regression by the search: bounds, limits, shards, slices, and another solver's optima."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import solver
from solver import Limits, Problem, Status
from solver.engine import driver
from solver.objective.exact_objective import as_lambda
from solver.proper.solver import Proper
from solver.search_shards import FOUND, Shard, merge
from solver.verify.scorer import score
from tests.helpers.point_problems import Case, cases
from tests.helpers.shard_party import solve_together
from tests.naive_geometry import best_cost

TWO, THREE = Limits(splits=2), Limits(splits=3)


def problem_of(
    n: int, d: int, values: int = 30, outputs: int = 1, seed: int = 0, weighted: bool = False
) -> Problem:
    random = np.random.default_rng(seed)
    codes = random.integers(0, values, (n, d))
    wave = np.sin(codes[:, :1] * 6 / values) + (codes[:, -1:] > values // 2)
    y = wave + random.normal(size=(n, outputs)) / 2
    weights = random.integers(1, 5, n) if weighted else None
    names = [f"y{i}" for i in range(outputs)]
    return Problem.from_codes(
        codes, y, weights=weights, task="regression", ordered=True, target_name=names
    )


def numbers_of(case: Case) -> Problem:
    return Problem.from_codes(
        case.points, [0.3 * y for y in case.target], weights=case.weights, task="regression",
        ordered=True,
    )  # fmt: skip


def limits_of(case: Case, **more: Any) -> Limits:
    return Limits(depth=case.depth, splits=case.splits, min_leaf_size=case.min_leaf, **more)


@settings(max_examples=150, deadline=None)
@given(case=cases(rows=7), nodes=st.integers(0, 25))
def test_no_bound_is_above_the_optimum(case: Case, nodes: int) -> None:
    total = sum(case.weights)
    naive = best_cost(
        case.points, [[w] for w in case.weights], case.lam * total, case.splits, case.depth,
        case.min_leaf, case.family, values=[Fraction(0.3 * y) for y in case.target],
    )  # fmt: skip
    optimum = Fraction(naive.cost) / total
    problem = numbers_of(case)
    own = Proper(rules=case.family)
    found = own.solve(problem, case.lam, limits_of(case, nodes=nodes))
    assert found.lower_bound is not None
    assert found.lower_bound <= optimum <= found.objective
    assert found.nodes <= max(nodes, 1)
    if found.status is Status.OPTIMAL:
        assert found.objective - optimum <= problem.tolerance
    assert [point.lower_bound for point in found.trace] == sorted(
        point.lower_bound for point in found.trace
    )


@settings(max_examples=200, deadline=None)
@given(
    case=cases(rows=7, families=("axis", "hyperplane")),
    seed=st.integers(0, 2**32),
    size=st.sampled_from([1.0, 1e-90, 1e90]),
    again=st.booleans(),
)
def test_uneven_weights(case: Case, seed: int, size: float, again: bool) -> None:
    random, rows = np.random.default_rng(seed), len(case.points)
    values = random.normal(size=rows) * size
    weights = [math.ceil(weight) for weight in 10 ** random.uniform(0, 14, rows)]
    total, limits = sum(weights), replace(limits_of(case), min_leaf_size=None)
    problem = Problem.from_codes(
        case.points, values, weights=weights, task="regression", ordered=True
    )
    lam = case.lam * as_lambda(float(problem.leaf_errors / total))
    naive = best_cost(
        case.points, [[w] for w in weights], lam * total, case.splits, case.depth, 1, case.family,
        values=[Fraction(value) for value in values],
    )  # fmt: skip
    optimum, own = Fraction(naive.cost) / total, Proper(rules=case.family)
    initial = own.solve(problem, 2 * lam, limits).tree if again else None
    found = own.solve(problem, lam, limits, initial_tree=initial)
    assert found.status is Status.OPTIMAL
    assert found.lower_bound is not None
    assert found.lower_bound <= optimum <= found.objective <= optimum + problem.tolerance
    assert found.objective - found.lower_bound <= problem.tolerance


UNEVEN = (
    1.3907072103650063e-05, 1.1512107354413306e-08, 140453590.27748522, 10824.425624516902,
    9.385796068189801e-07, 421066.85298982955, 0.7842083160873363,
)  # fmt: skip


@pytest.mark.parametrize("columns", [[0] * 7, range(7)])
@pytest.mark.parametrize("lam", ["0", "0.01092", "3"])
@pytest.mark.parametrize("limits", [TWO, replace(TWO, depth=0), replace(TWO, splits=0)])
def test_weights_of_sixteen_orders_of_magnitude(
    columns: Sequence[int], lam: str, limits: Limits
) -> None:
    codes, targets = [[value] for value in columns], [-6.98, -8.27, -28.9, -4.93, 1.6, -15.9, -4.89]
    problem = Problem.from_codes(codes, targets, weights=UNEVEN, task="regression", ordered=True)
    found = solver.solve(problem, lam, "proper", limits)
    other = solver.solve(problem, lam, "proper", limits, mode="paper")
    assert found.status is other.status is Status.OPTIMAL
    assert abs(found.objective - other.objective) <= problem.tolerance
    assert found.lower_bound is not None
    assert found.objective - found.lower_bound <= problem.tolerance
    path = solver.regularization_path(problem, "0.01092", "proper", limits)
    assert path.status is Status.OPTIMAL


@settings(max_examples=60, deadline=None)
@given(case=cases(rows=7), number=st.integers(2, 4), together=st.booleans())
def test_parts_give_an_equally_good_tree(case: Case, number: int, together: bool) -> None:
    problem, own = numbers_of(case), Proper(rules=case.family)
    limits = limits_of(case)
    whole = own.solve(problem, case.lam, limits)
    if together:
        parts = solve_together(own, problem, case.lam, limits, number, in_turns=False)
    else:
        shards = [Shard(index, number) for index in range(number)]
        parts = [own.part(shard).solve(problem, case.lam, limits) for shard in shards]
    merged = merge(parts)
    assert merged.status is whole.status is Status.OPTIMAL
    assert abs(merged.objective - whole.objective) <= problem.tolerance
    assert merged.splits == whole.splits
    assert merged.lower_bound is not None
    assert merged.lower_bound <= whole.objective
    assert FOUND not in whole.extra


@settings(max_examples=40, deadline=None)
@given(case=cases(rows=7), memo=st.booleans())
def test_slices_change_neither_tree_nor_counts(case: Case, memo: bool) -> None:
    problem, own = numbers_of(case), Proper(rules=case.family, memo=memo)
    whole = own.solve(problem, case.lam, limits_of(case))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(driver.Search, "_iterations_of_slice", lambda search, iterations: 1)
        slow = own.solve(problem, case.lam, limits_of(case))
    assert (slow.tree, slow.nodes, slow.extra) == (whole.tree, whole.nodes, whole.extra)


@pytest.mark.parametrize("depth, splits", [(1, 1), (2, 3)])
@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("least", [None, 12])
def test_cuts_of_a_depth_agree_with_quantbnb(
    depth: int, splits: int, outputs: int, least: int | None
) -> None:
    limits = Limits(depth=depth, min_leaf_size=least)
    for seed in range(3):
        problem = problem_of(200, 3, outputs=outputs, seed=seed, weighted=True)
        for lam in ("0", "0.01", "0.3"):
            other = solver.solve(problem, lam, "quantbnb", limits)
            found = solver.solve(problem, lam, "proper", replace(limits, splits=splits))
            assert found.status is other.status is Status.OPTIMAL
            assert abs(found.objective - other.objective) <= problem.tolerance
            assert found.splits == other.splits
            assert found.lower_bound is not None
            assert found.lower_bound <= other.objective


def test_a_depth_of_three_agrees_with_quantbnb() -> None:
    problem = problem_of(60, 2, values=12)
    other = solver.solve(problem, "0.003", "quantbnb", Limits(depth=3))
    found = solver.solve(problem, "0.003", "proper", Limits(depth=3, splits=7))
    assert found.status is other.status is Status.OPTIMAL
    assert abs(found.objective - other.objective) <= problem.tolerance
    assert found.splits == other.splits > 3


def test_the_path_is_that_of_quantbnb() -> None:
    problem, limits = problem_of(40, 2, values=9), Limits(depth=2)
    other = solver.regularization_path(problem, "0.001", "quantbnb", limits)
    path = solver.regularization_path(problem, "0.001", "proper", replace(limits, splits=3))
    assert path.status is other.status is Status.OPTIMAL
    assert path.splits == other.splits
    assert [float(loss) for loss in path.losses] == pytest.approx([*map(float, other.losses)])


@pytest.mark.parametrize("rules", ["axis", "hyperplane"])
def test_a_richer_family_and_more_splits_are_never_worse(rules: str) -> None:
    problem, losses = problem_of(16, 2), []
    for splits in range(5):
        found = solver.solve(problem, 0, "proper", Limits(splits=splits), rules=rules)
        assert found.status is Status.OPTIMAL
        assert score(problem, found.tree, Fraction(0)).errors == found.errors
        losses.append(found.objective)
    assert losses == sorted(losses, reverse=True)
    assert losses[4] < losses[0] / 2
    cuts = solver.solve(problem, 0, "proper", Limits(splits=2))
    assert losses[2] <= cuts.objective + problem.tolerance


@pytest.mark.parametrize("nodes", [1, 5, 40])
def test_a_limit_of_nodes_stops_at_the_same_tree(nodes: int) -> None:
    problem, limits = problem_of(300, 3), replace(THREE, nodes=nodes)
    optimum = solver.solve(problem, 0, "proper", THREE)
    found, again = (solver.solve(problem, 0, "proper", limits) for _ in range(2))
    assert found.status is Status.NODE_LIMIT
    assert found.nodes == nodes
    assert found.tree == again.tree
    assert found.lower_bound is not None
    assert 0 < found.lower_bound < optimum.objective <= found.objective


@pytest.mark.usefixtures("counted_time")
def test_a_limit_of_seconds_leaves_a_tree_and_a_bound() -> None:
    limits = Limits(splits=6, seconds=0.5)
    found = solver.solve(problem_of(2000, 6, values=500), 0, "proper", limits)
    assert found.status is Status.TIME_LIMIT
    assert found.seconds < 1.5
    assert found.lower_bound is not None
    assert 0 <= found.lower_bound < found.objective


def test_no_memory_for_the_rules() -> None:
    limits = replace(TWO, bytes=60_000)
    found = solver.solve(problem_of(900, 3, values=400), 0, "proper", limits)
    assert found.status is Status.MEMORY_LIMIT
    assert found.splits > 0  # CART's tree
    assert found.peak_bytes <= 60_000


def test_an_initial_tree_is_kept_only_if_it_is_better() -> None:
    problem = problem_of(120, 2)
    best = solver.solve(problem, "0.01", "proper", TWO)
    again = solver.solve(problem, "0.01", "proper", TWO, initial_tree=best.tree)
    assert (again.tree, again.status) == (best.tree, Status.OPTIMAL)
    assert again.nodes <= best.nodes
    stopped = solver.solve(problem, "0.01", "proper", replace(TWO, nodes=1), initial_tree=best.tree)
    assert stopped.objective == best.objective


def test_constant_targets_and_few_rows_need_no_search() -> None:
    for codes, targets in (([[0], [1]], [2.0, 2.0]), ([[0], [0]], [1.0, 2.0]), ([[3]], [4.0])):
        problem = Problem.from_codes(codes, targets, task="regression", ordered=True)
        found = solver.solve(problem, 0, "proper", TWO)
        assert (found.status, found.splits, found.nodes) == (Status.OPTIMAL, 0, 0)
        assert found.objective == problem.leaf_errors / Fraction(problem.total_weight)


def test_equal_rows_with_other_targets_stay_together() -> None:
    codes, targets = [[0], [0], [1], [1], [2]], [0.0, 1.0, 5.0, 6.0, 30.0]
    problem = Problem.from_codes(codes, targets, task="regression", ordered=True)
    found = solver.solve(problem, 0, "proper", TWO)
    assert (found.errors, found.splits) == (1, 2)
    assert 0 <= found.errors - problem.unavoidable_errors <= problem.tolerance * 5
