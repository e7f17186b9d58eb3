"""A solution: derived figures and its plain form."""

from __future__ import annotations

import json
import pickle
from fractions import Fraction

import pytest

from solver import Limits, Problem, Solution, Status, solve
from solver.solution import BELOW_ONE, share_without


@pytest.fixture
def proven() -> Solution:
    problem = Problem.from_codes([[0], [0], [1], [1]], [0, 1, 1, 1], weights=[3, 1, 2, 2])
    return solve(problem, "0.1")


def test_derived_figures(proven: Solution) -> None:
    assert (proven.objective, proven.lower_bound, proven.gap) == (
        Fraction(9, 40),
        Fraction(9, 40),
        0,
    )
    assert (proven.errors, proven.total_weight) == (1, 8)
    assert (proven.loss, proven.accuracy) == (Fraction(1, 8), Fraction(7, 8))
    assert (proven.splits, proven.leaves, proven.depth) == (1, 2, 1)


def test_plain_form_survives_json(proven: Solution) -> None:
    data = json.loads(json.dumps(proven.to_dict()))
    assert data["objective_exact"] == data["lower_bound_exact"] == "9/40"
    assert data["gap_exact"] == "0"
    assert (data["lam"], data["lam_exact"]) == (0.1, "1/10")
    assert data["status"] == "optimal"
    assert (data["errors"], data["splits"], data["leaves"], data["depth"]) == (1, 1, 2, 1)
    assert data["tree"]["format"] == "treesweep-tree"


def test_heuristics_claim_nothing() -> None:
    solution = solve(Problem.from_codes([[0], [1]], [0, 1]), "0.1", "cart")
    assert solution.status is Status.HEURISTIC
    data = solution.to_dict()
    assert [data[name] for name in ("lower_bound", "lower_bound_exact", "gap", "gap_exact")] == [
        None
    ] * 4


def test_a_solution_can_be_sent_to_another_process(proven: Solution) -> None:
    assert pickle.loads(pickle.dumps(proven)) == proven


def test_statuses() -> None:
    limits = {status for status in Status if status.is_limit}
    assert limits == {Status.TIME_LIMIT, Status.MEMORY_LIMIT, Status.NODE_LIMIT}
    assert {status for status in Status if not status.has_tree} == {Status.ERROR, Status.KILLED}


def test_r2_is_1_only_where_nothing_remains() -> None:
    codes = [[0], [0], [1]]
    for close, whole in ((1e-9, False), (0.0, True)):
        problem = Problem.from_codes(codes, [0.0, close, 1e3], task="regression", ordered=True)
        solution = solve(problem, 0, "cart", Limits(depth=1))
        assert solution.splits == 1
        assert (solution.r2 == 1) == whole


def test_a_share_is_1_only_without_the_part() -> None:
    assert share_without(Fraction(1), 10**20) == share_without(1e-9, 1e20) == BELOW_ONE < 1
    assert share_without(0, 10**20) == share_without(0.0, 3.0) == 1
    assert (share_without(1, 4), share_without(6.0, 4.0)) == (0.75, -0.5)
