"""Regression by the solver ``quantbnb``: objectives, λ-paths, limits, and states."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import solver
from solver import Limits, Problem, Status
from solver.monitor import Monitor, Snapshot
from solver.objective.exact_objective import objective
from solver.verify.scorer import score
from tests.naive import least_squares_cost


def problem_of(
    rng: np.random.Generator, n: int, p: int = 3, values: int = 6, outputs: int = 1
) -> Problem:
    codes = rng.integers(0, values, (n, p))
    y = rng.normal(size=(n, outputs)) + (codes[:, :1] > values // 2)
    return Problem.from_codes(
        codes,
        y,
        weights=rng.integers(1, 4, n),
        arities=[values] * p,
        task="regression",
        ordered=True,
        target_name=[f"y{i}" for i in range(outputs)],
    )


def plain(problem: Problem, lam: Fraction, depth: int) -> tuple[Fraction, int]:
    assert problem.values is not None
    cost, splits = least_squares_cost(
        problem.codes.tolist(),
        problem.values.tolist(),
        problem.counts[:, 0].tolist(),
        depth,
        lam * problem.total_weight,
    )
    return cost / problem.total_weight, splits


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    n=st.integers(2, 11),
    depth=st.integers(0, 3),
    outputs=st.integers(1, 2),
    lam=st.sampled_from(["0", "0.001", "0.03", "0.2", "3"]),
)
def test_objective_is_that_of_the_plain_search(
    seed: int, n: int, depth: int, outputs: int, lam: str
) -> None:
    problem = problem_of(np.random.default_rng(seed), n, outputs=outputs)
    limits = Limits(depth=depth)
    solution = solver.solve(problem, lam, solver="quantbnb", limits=limits)
    best, splits = plain(problem, Fraction(lam), depth)
    assert solution.status is Status.OPTIMAL
    assert solution.lower_bound is not None
    assert solution.lower_bound <= best
    assert best <= solution.objective <= best + solution.tolerance
    assert solution.splits <= splits
    assert solution.tree.depth <= depth
    points = score(problem, solution.tree, Fraction(lam))
    assert (points.errors, points.objective) == (solution.errors, solution.objective)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32), n=st.integers(4, 9), depth=st.integers(1, 3))
def test_path_is_the_least_at_every_price(seed: int, n: int, depth: int) -> None:
    problem = problem_of(np.random.default_rng(seed), n, p=2)
    path = solver.regularization_path(problem, 0, solver="quantbnb", limits=Limits(depth=depth))
    assert path.status is Status.OPTIMAL
    lams = [Fraction(lam) for lam in path.lams]
    between = [(a + b) / 2 for a, b in pairwise(lams)]
    for lam in [*lams, *between, lams[-1] + 1]:
        at = max(i for i, start in enumerate(lams) if start <= lam)
        tree = path.trees[at]
        reached = objective(tree.errors, tree.splits, problem.total_weight, lam)
        assert abs(reached - plain(problem, lam, depth)[0]) <= 2 * problem.tolerance


def hard_problem(n: int = 2000) -> Problem:
    return problem_of(np.random.default_rng(5), n, p=8, values=500)


@pytest.mark.usefixtures("counted_time")
def test_limits_end_it_with_a_tree_and_a_bound() -> None:
    problem = hard_problem()
    best = solver.solve(problem, 0, solver="quantbnb", limits=Limits(depth=2))
    assert best.status is Status.OPTIMAL
    for limits, status in (
        (Limits(depth=4, seconds=0.2), Status.TIME_LIMIT),
        (Limits(depth=4, nodes=40), Status.NODE_LIMIT),
        (Limits(depth=4, bytes=2**16), Status.MEMORY_LIMIT),
    ):
        solution = solver.solve(problem, 0, solver="quantbnb", limits=limits)
        assert solution.status is status
        assert solution.lower_bound is not None
        assert solution.lower_bound < solution.objective <= problem.grow(-1).errors
        assert status is not Status.NODE_LIMIT or solution.nodes == 40
        assert status is not Status.TIME_LIMIT or solution.seconds < 2


@pytest.mark.parametrize("lam", ["0", "0.0005"])
def test_a_solve_goes_on_from_a_snapshot(lam: str) -> None:
    problem, limits = hard_problem(600), Limits(depth=3)
    straight = solver.solve(problem, lam, solver="quantbnb", limits=limits)
    seen: list[Snapshot] = []
    short = Limits(depth=3, nodes=straight.nodes // 2)
    solver.solve(
        problem, lam, solver="quantbnb", limits=short, monitor=Monitor(snapshot=seen.append)
    )
    told = seen[-1].state
    assert told is not None
    state: dict[str, Any] = {name: array.copy() for name, array in told().items()}
    later = solver.solve(problem, lam, solver="quantbnb", limits=limits, state=state)
    assert later.status is Status.OPTIMAL
    assert later.tree.to_dict() == straight.tree.to_dict()
    assert (later.nodes, later.iterations) == (straight.nodes, straight.iterations)


def test_smallest_leaf() -> None:
    problem = hard_problem()
    limits = Limits(depth=2, min_leaf_size=300)
    solution = solver.solve(problem, 0, solver="quantbnb", limits=limits)
    assert solution.status is Status.OPTIMAL
    sizes = [sum(node.counts) for node in solution.tree.nodes if node.is_leaf]
    assert min(sizes) >= 300
    free = solver.solve(problem, 0, solver="quantbnb", limits=Limits(depth=2))
    assert free.objective <= solution.objective
