"""Mode ``paper`` of the solver: the contract of all solvers up to depth 3, and its options."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from solver import InputError, Limits, Problem, Status, get_solver, regularization_path
from solver.quantbnb import QuantBnB
from solver.quantbnb.paper.state import BOUNDS
from solver.verify.scorer import score
from tests.helpers.solutions import check_against_oracle, check_solution
from tests.helpers.strategies import cost_scale, ordered_tables, structural_limits, tables

QUICK = settings(
    max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)


@pytest.fixture(scope="module")
def noisy() -> Problem:
    """Labels that depth 2 explains badly."""
    rng = np.random.default_rng(4)
    codes = rng.integers(0, 40, (150, 4))
    target = (codes[:, 0] // 10 + codes[:, 1] // 15 + rng.integers(0, 2, 150)) % 3
    return Problem.from_codes(codes, target, ordered=True)


def drawn_limits(data: st.DataObject) -> Limits:
    limits = data.draw(structural_limits())
    depth = 3 if limits.depth is None else limits.depth
    return replace(limits, depth=depth, splits=None)


@pytest.mark.parametrize("bound", BOUNDS)
@QUICK
@given(data=st.data())
def test_it_agrees_with_the_oracle(bound: str, data: st.DataObject) -> None:
    table = data.draw(st.one_of(ordered_tables(), tables(max_arity=2)))
    lam = data.draw(cost_scale(sum(table.weights)))
    pieces = data.draw(st.sampled_from([2, 3, 7]))
    options = {"mode": "paper", "bound": bound, "pieces": pieces}
    check_against_oracle(QuantBnB, options, table, lam, drawn_limits(data))


@QUICK
@given(data=st.data())
def test_it_is_anytime(data: st.DataObject) -> None:
    table = data.draw(ordered_tables())
    lam = data.draw(cost_scale(sum(table.weights)))
    nodes = data.draw(st.sampled_from([0, 1, 2, 5, 11, 40]))
    limits = replace(drawn_limits(data), nodes=nodes)
    problem = table.problem()
    solution = QuantBnB(mode="paper").solve(problem, lam, limits)
    check_solution(problem, solution, lam, limits)
    assert solution.nodes <= max(nodes, 1)
    best = table.optimum(lam, replace(limits, nodes=None))
    assert solution.lower_bound is not None
    assert solution.lower_bound <= best.objective <= solution.objective


def test_it_finds_what_mode_fast_finds(noisy: Problem) -> None:
    for depth in (1, 2, 3):
        for lam in (Fraction(0), Fraction(1, 50)):
            fast = QuantBnB().solve(noisy, lam, Limits(depth=depth))
            paper = QuantBnB(mode="paper").solve(noisy, lam, Limits(depth=depth))
            assert fast.status is paper.status is Status.OPTIMAL
            assert (paper.objective, paper.splits) == (fast.objective, fast.splits)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 2**32),
    rows=st.integers(2, 30),
    depth=st.integers(0, 3),
    outputs=st.integers(1, 2),
    bound=st.sampled_from(BOUNDS),
    lam=st.sampled_from(["0", "0.001", "0.03", "0.2"]),
)
def test_regression_is_that_of_mode_fast(
    seed: int, rows: int, depth: int, outputs: int, bound: str, lam: str
) -> None:
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 8, (rows, 3))
    problem = Problem.from_codes(
        codes,
        rng.normal(size=(rows, outputs)) + (codes[:, :1] > 3),
        weights=rng.integers(1, 4, rows),
        task="regression",
        ordered=True,
        target_name=[f"y{i}" for i in range(outputs)],
    )
    limits = Limits(depth=depth)
    fast = QuantBnB().solve(problem, Fraction(lam), limits)
    paper = QuantBnB(mode="paper", bound=bound).solve(problem, Fraction(lam), limits)
    assert fast.status is paper.status is Status.OPTIMAL
    assert abs(fast.objective - paper.objective) <= fast.tolerance + paper.tolerance
    assert paper.lower_bound is not None
    assert paper.lower_bound <= fast.objective
    points = score(problem, paper.tree, Fraction(lam))
    assert (points.errors, points.objective) == (paper.errors, paper.objective)


def test_a_path_has_the_same_breakpoints_as_in_mode_fast(noisy: Problem) -> None:
    limits = Limits(depth=2)
    fast, paper = (
        regularization_path(noisy, "0.001", solver="quantbnb", limits=limits, mode=mode)
        for mode in ("fast", "paper")
    )
    assert paper.status is Status.OPTIMAL
    assert (paper.lams, paper.losses, paper.splits) == (fast.lams, fast.losses, fast.splits)


def test_extra_tells_what_table_3_compares(noisy: Problem) -> None:
    limits, found = Limits(depth=2), {}
    for bound in BOUNDS:
        solution = QuantBnB(mode="paper", bound=bound).solve(noisy, Fraction(0), limits)
        found[bound] = json.loads(json.dumps(solution.extra))
        assert found[bound]["bound"] == bound
        assert found[bound]["boxes"] == solution.nodes
        assert found[bound]["alive"][0] == noisy.n_features
        assert 0 < found[bound]["stumps"] < found[bound]["rows"]
    assert found["l2"]["boxes"] <= found["w1"]["boxes"] <= found["w0"]["boxes"]
    assert found["l2"]["rows"] > found["w1"]["rows"]


@pytest.mark.usefixtures("counted_time")
def test_limits_of_time_and_memory_are_kept(noisy: Problem) -> None:
    solver = QuantBnB(mode="paper", bound="l2")
    late = solver.solve(noisy, Fraction(0), Limits(depth=3, seconds=0.02))
    assert late.status is Status.TIME_LIMIT
    assert late.seconds < 2
    assert late.lower_bound is not None
    assert late.lower_bound < late.objective
    small = solver.solve(noisy, Fraction(0), Limits(depth=3, bytes=40_000))
    assert small.status is Status.MEMORY_LIMIT


@pytest.mark.parametrize(
    "options, words",
    [
        ({"bound": "w2"}, "option bound = 'w2' of solver 'quantbnb' belongs to mode paper"),
        ({"mode": "paper", "bound": "w3"}, "w3"),
        ({"pieces": 4}, "option pieces = 4 of solver 'quantbnb' belongs to mode paper"),
        ({"mode": "paper", "pieces": 1}, "pieces = 1"),
    ],
)
def test_bounds_belong_to_mode_paper(options: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        get_solver("quantbnb")(**options)


def test_mode_paper_cannot_go_on_elsewhere() -> None:
    assert QuantBnB().resumes
    assert not QuantBnB(mode="paper").resumes
